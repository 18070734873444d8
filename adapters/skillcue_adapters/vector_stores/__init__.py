"""Vector stores that the user already has, as the semantic list of modes ``dense`` and ``hybrid``."""
