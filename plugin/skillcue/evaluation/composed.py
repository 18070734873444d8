"""Skills that a mode composed, as the skills of the library that they are made of."""

from __future__ import annotations

from collections.abc import Iterable

from skillcue_hooks.contracts import Hit

__all__ = ["judged_ids"]


def judged_ids(hits: Iterable[Hit]) -> list[str]:
    """Ids that judgments may name, best first: in the place of a composed skill its parents.

    Args:
        hits: Best first. A parent that stands before already is not repeated.
    """
    found: list[str] = []
    for hit in hits:
        parents = [name for name in hit.skill.derived_from if name not in found]
        found += parents if hit.skill.derived_from else [hit.skill.id]
    return found
