"""Pair scorers for tests, and skills whose first-stage scores are known."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from skillcue_adapters.scoring import says_something
from skillcue_adapters.selection import SkillMasks
from skillcue_hooks.contracts import Hit, Library, Query, Ranking
from skillcue_hooks.testing import make_skill

__all__ = ["FixedStage", "SlowScorer", "TableScorer", "numbered"]


def numbered(count: int) -> Library:
    """Skills ``s00``, ``s01``, ... with bodies."""
    skills = (
        make_skill(f"s{n:02}", f"Skill number {n}.", f"Body of {n}.", tags=("even",) * (n % 2 == 0))
        for n in range(count)
    )
    return Library(f"numbered-{count}", tuple(skills))


class FixedStage:
    """A first stage with given scores, by name of the skill; others do not match."""

    def __init__(
        self, library: Library, scores: Mapping[str, float], degraded: str | None = None
    ) -> None:
        self.fingerprint = "fixed"
        self.generation = library.generation
        self.asked: list[Query] = []
        self._degraded = degraded
        self._skills = library.skills
        self._masks = SkillMasks(library.skills)
        self._scores = scores

    def search(self, query: Query) -> Ranking:
        self.asked.append(query)
        mask = self._masks.of(query)
        found = [
            Hit(skill, self._scores[skill.name], 0, {"z": self._scores[skill.name]})
            for n, skill in enumerate(self._skills)
            if skill.name in self._scores and (mask is None or mask[n])
        ]
        found.sort(key=lambda hit: (-hit.score, hit.skill.id))
        hits = [replace(hit, rank=rank) for rank, hit in enumerate(found, start=1)]
        if not says_something(query.text):
            hits = []
        page = tuple(hits[query.offset : query.offset + query.k])
        return Ranking(page, "fixed", degraded=self._degraded, total=len(hits))


class TableScorer:
    """A pair scorer with given scores, by the name that a text begins with; 0.0 for others."""

    def __init__(self, scores: Mapping[str, float] | None = None) -> None:
        self.fingerprint = "table"
        self.asked: list[tuple[str, list[str]]] = []
        self._scores = scores or {}

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.asked.append((query, list(texts)))
        return [self._scores.get(text.partition(":")[0], 0.0) for text in texts]


class SlowScorer(TableScorer):
    """The same; the call with that number, from 1, takes `seconds`."""

    def __init__(self, scores: Mapping[str, float], slow_call: int, seconds: float) -> None:
        super().__init__(scores)
        self._slow_call = slow_call
        self._seconds = seconds

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        found = super().score(query, texts)
        if len(self.asked) == self._slow_call:
            time.sleep(self._seconds)
        return found
