"""Mode ``refine``: a sub-agent of a language model composes one to three skills for a task."""
