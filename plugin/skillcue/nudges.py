"""Two short instructions for agents that have the pull tools and no push.

Models forget to search. One instruction in the system prompt makes about half of them look first,
one in the first user message as well makes nearly all of them. Both are constant, so that they
cost nothing after the first request of a cached prompt.
"""

from __future__ import annotations

__all__ = ["system_nudge", "user_nudge"]


def system_nudge(lookup: str, load: str) -> str:
    """The instruction at the end of the system prompt.

    Args:
        lookup: Name of the lookup tool.
        load: Name of the load tool.
    """
    return (
        f"You have a library of skills: tested instructions for particular kinds of task. Before "
        f"you start a task, call {lookup} with a short description of it, and read the best "
        f"match with {load}. Follow a skill that fits; go on without one if none does."
    )


def user_nudge(lookup: str, load: str) -> str:
    """The instruction at the end of the first user message."""
    return (
        f"(First step: call {lookup} with 5 to 15 words that describe this task, then {load} on "
        f"the best match, before any other tool.)"
    )
