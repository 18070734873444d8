"""The echo rate: how much of a query is said in the words of the skills that answer it."""

from __future__ import annotations

from collections.abc import Iterable

from skillcue_hooks.contracts import Skill

__all__ = ["echo_rate"]


def echo_rate(text: str, gold: Iterable[Skill], *, heads: bool = False) -> float | None:
    """Share of the content stems of `text` that occur in what is indexed of its gold skills.

    Near 1 the query repeats the skills' own words, so that counting words finds them; scores on
    such queries say little about people who never saw the skills.

    Args:
        text: The query.
        gold: Skills that answer it.
        heads: Look at names, descriptions and tags alone, not at bodies.

    Returns:
        0 to 1; None when the query has no content stem.
    """
    from skillcue_adapters.analyzer import ANALYZER

    stems = set(ANALYZER.terms(text))
    if not stems:
        return None
    known: set[str] = set()
    for skill in gold:
        parts = [skill.name, skill.description, *skill.tags, *([] if heads else [skill.body])]
        known |= ANALYZER.counts("\n".join(parts)).keys()
    return len(stems & known) / len(stems)
