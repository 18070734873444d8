"""The echo rate: how much of a query is said in the words of the skills that answer it."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from skillcue_hooks.contracts import Skill

__all__ = ["echo_of", "echo_rate", "indexed_stems"]


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
    return echo_of(text, indexed_stems(gold, heads=heads))


def indexed_stems(skills: Iterable[Skill], *, heads: bool = False) -> frozenset[str]:
    """All stems of what is indexed of `skills`; for `echo_of`, where many queries have one gold.

    Args:
        skills: The skills.
        heads: Look at names, descriptions and tags alone, not at bodies.
    """
    from skillcue_adapters.analyzer import ANALYZER

    known: set[str] = set()
    for skill in skills:
        parts = [skill.name, skill.description, *skill.tags, *([] if heads else [skill.body])]
        known |= ANALYZER.counts("\n".join(parts)).keys()
    return frozenset(known)


def echo_of(text: str, known: AbstractSet[str]) -> float | None:
    """Share of the content stems of `text` that are among `known`; None when it has none."""
    from skillcue_adapters.analyzer import ANALYZER

    stems = set(ANALYZER.terms(text))
    return len(stems & known) / len(stems) if stems else None
