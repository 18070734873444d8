"""Similarity of character trigrams: the share of the query's trigrams that a skill has.

Source: the overlap measure of R. C. Angell, G. E. Freund, P. Willett, "Automatic spelling
correction using a trigram similarity measure", Information Processing & Management 19 (1983).
"""

from __future__ import annotations

import time

from skillcue_hooks import Hit, Library, Query, Ranking, RetrieverContext, Skill
from skillcue_hooks.errors import UnknownSettingError
from skillcue_hooks.fingerprint import fingerprint

__all__ = ["TrigramRetriever", "build", "trigrams"]

MAX_QUERY_CHARS = 2_000
"""Longer queries are cut: similarity to a whole document says little about a short name."""


def trigrams(text: str) -> frozenset[str]:
    """The trigrams of each word of `text`, padded with blanks: ``" pd", "pdf", "df "``."""
    padded = (f" {word} " for word in text.casefold().split())
    return frozenset(word[i : i + 3] for word in padded for i in range(len(word) - 2))


class TrigramRetriever:
    """Ranks by the share of the query's trigrams found in name and description, 0 to 1.

    Args:
        library: The skills to rank.
    """

    fingerprint = fingerprint("trigram", 1)

    def __init__(self, library: Library) -> None:
        self.generation = library.generation
        self._skills = sorted(library.skills, key=lambda skill: skill.id)
        self._trigrams = [trigrams(f"{s.name} {s.description}") for s in self._skills]

    def search(self, query: Query) -> Ranking:
        """Rank the library; see `skillcue_hooks.Retriever`."""
        started = time.perf_counter()
        wanted = trigrams(query.text[:MAX_QUERY_CHARS])
        scored = sorted(
            (-len(wanted & have) / len(wanted), skill.id, skill)
            for skill, have in zip(self._skills, self._trigrams, strict=True)
            if wanted & have and _allowed(skill, query)
        )
        page = scored[query.offset : query.offset + query.k]
        hits = tuple(
            Hit(skill, -score, rank)
            for rank, (score, _, skill) in enumerate(page, query.offset + 1)
        )
        return Ranking(
            hits=hits,
            mode="trigram",
            fingerprint=fingerprint(self.fingerprint, self.generation),
            elapsed_s=time.perf_counter() - started,
            total=len(scored),
        )


def build(library: Library, context: RetrieverContext) -> TrigramRetriever:
    """The factory skillcue calls.

    Raises:
        UnknownSettingError: Any setting was given; this mode has none.
    """
    for setting in context.settings:
        raise UnknownSettingError(setting, ())
    return TrigramRetriever(library)


def _allowed(skill: Skill, query: Query) -> bool:
    if query.scope is not None and not query.scope.allows(skill):
        return False
    return all(_matches(skill, field, value) for field, value in query.filters)


def _matches(skill: Skill, field: str, value: str) -> bool:
    if field == "tag":
        return value in skill.tags
    if field == "category":
        return f"{skill.category}/".startswith(f"{value}/")
    return getattr(skill, field) == value
