"""The searchable skills of some tenants as arrays, and the legs over them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from skillcue_adapters.indexed.pruning import rarest
from skillcue_adapters.lazy import cached_property
from skillcue_adapters.selection import FILTER_FIELDS, top_k
from skillcue_adapters.similarity import dots
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.skill_index import (
    Candidate,
    IndexedSkill,
    IndexQuery,
    IndexStatistics,
    Legs,
    TermFrequency,
    View,
)

__all__ = ["SearchArrays"]

K1 = 1.5
"""Saturation of the term frequency in the lexical leg."""

B = 0.75
"""Length normalisation in the lexical leg."""

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Postings:
    """One field by term: positions of the skills that hold it, and how often each does."""

    positions: Mapping[str, Positions]
    counts: Mapping[str, Floats]
    norms: Floats

    @classmethod
    def of(cls, texts: Sequence[Mapping[str, int]]) -> _Postings:
        positions: dict[str, list[int]] = {}
        counts: dict[str, list[int]] = {}
        for position, text in enumerate(texts):
            for term, count in text.items():
                positions.setdefault(term, []).append(position)
                counts.setdefault(term, []).append(count)
        lengths = np.array([sum(text.values()) for text in texts], dtype=np.float64)
        average = float(lengths.mean()) or 1.0 if len(lengths) else 1.0
        return cls(
            {term: np.array(found, dtype=np.int64) for term, found in positions.items()},
            {term: np.array(found, dtype=np.float64) for term, found in counts.items()},
            K1 * (1.0 - B + B * lengths / average),
        )

    def frequency(self, term: str) -> int:
        return len(self.positions.get(term, ()))

    def add(self, scores: Floats, weights: Mapping[str, float]) -> None:
        """Add what each term is worth to the scores of the skills that hold it."""
        for term in sorted(weights):
            found = self.positions.get(term)
            if found is not None:
                counts = self.counts[term]
                saturated = counts * (K1 + 1.0) / (counts + self.norms[found])
                scores[found] += weights[term] * saturated


class SearchArrays:
    """One state of the searchable skills of some tenants. Immutable.

    Args:
        skills: The skills, by id.
        revision: Of which revision they are.
    """

    def __init__(self, skills: Sequence[IndexedSkill], revision: str) -> None:
        self.skills = skills
        self.revision = revision

    def legs(self, query: IndexQuery) -> Legs:
        """See `SkillIndex.candidates`.

        Raises:
            ConfigurationError: A filter names a field that cannot be filtered by.
        """
        allowed = self._allowed(query.filters)
        dense = [self._dense(view, allowed, query.depth) for view in query.views]
        lexical = [self._lexical(view, allowed, query) for view in query.views]
        called = [self._called(view, allowed) for view in query.views]
        chosen = np.unique(np.concatenate([*dense, *lexical, *called]))
        asked = {term for view in query.views for term in (*view.head, *view.body)}
        return Legs(
            tuple(self._candidate(n, asked) for n in chosen.tolist()),
            tuple(tuple(np.searchsorted(chosen, leg).tolist()) for leg in dense),
            tuple(tuple(np.searchsorted(chosen, leg).tolist()) for leg in lexical),
            self.revision,
        )

    @cached_property
    def statistics(self) -> IndexStatistics:
        """See `SkillIndex.statistics`."""
        head, body = self._head, self._body
        return IndexStatistics(
            skills=len(self.skills),
            bodies=sum(1 for item in self.skills if item.skill.body),
            head_terms=sum(sum(item.head.values()) for item in self.skills),
            body_terms=sum(sum(item.body.values()) for item in self.skills),
            head_frequencies=Counter(len(found) for found in head.positions.values()),
            body_frequencies=Counter(len(found) for found in body.positions.values()),
            revision=self.revision,
        )

    def frequencies(self, terms: Sequence[str]) -> dict[str, TermFrequency]:
        """See `SkillIndex.frequencies`."""
        found = {}
        for term in terms:
            head, body = self._head.frequency(term), self._body.frequency(term)
            if head or body:
                found[term] = TermFrequency(head, body, len(self._holding([term])))
        return found

    def sample(self, count: int) -> tuple[IndexedSkill, ...]:
        """See `SkillIndex.sample`."""
        smallest = sorted(self.skills, key=lambda item: (item.key, item.skill.id))[:count]
        return tuple(replace(item, text="", files={}) for item in smallest)

    @cached_property
    def _head(self) -> _Postings:
        return _Postings.of([item.head for item in self.skills])

    @cached_property
    def _body(self) -> _Postings:
        return _Postings.of([item.body for item in self.skills])

    @cached_property
    def _vectors(self) -> npt.NDArray[np.float32]:
        return np.array([item.vector for item in self.skills], dtype=np.float32)

    @cached_property
    def _names(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for position, item in enumerate(self.skills):
            if item.name:
                found.setdefault(item.name, []).append(position)
        return found

    def _allowed(self, filters: Sequence[tuple[str, str]]) -> Mask:
        allowed = np.ones(len(self.skills), dtype=np.bool_)
        for field, value in filters:
            if field not in FILTER_FIELDS:
                raise ConfigurationError(
                    f"Skills cannot be filtered by {field!r}.",
                    f"Fields: {', '.join(sorted(FILTER_FIELDS))}.",
                )
            fits = FILTER_FIELDS[field]
            allowed &= np.array([fits(item.skill, value) for item in self.skills], dtype=np.bool_)
        return allowed

    def _dense(self, view: View, allowed: Mask, depth: int) -> Positions:
        if view.vector is None or not len(self.skills):
            return np.zeros(0, dtype=np.int64)
        return top_k(dots(self._vectors, np.asarray(view.vector, np.float32)), allowed, depth)

    def _lexical(self, view: View, allowed: Mask, query: IndexQuery) -> Positions:
        terms = sorted({*view.head, *view.body})
        frequency = {term: len(self._holding([term])) for term in terms}
        looked_at = self._holding(rarest(frequency, query.postings))
        scores = np.zeros(len(self.skills))
        self._head.add(scores, view.head)
        self._body.add(scores, view.body)
        holds = np.zeros(len(self.skills), dtype=np.bool_)
        holds[looked_at] = True
        return top_k(scores, holds & allowed, query.depth)

    def _called(self, view: View, allowed: Mask) -> Positions:
        found = [n for name in view.names for n in self._names.get(name, ())]
        return np.array([n for n in found if allowed[n]], dtype=np.int64)

    def _holding(self, terms: Sequence[str]) -> Positions:
        """Positions of the skills that hold one of `terms`."""
        nobody = np.zeros(0, dtype=np.int64)
        found = [
            field.positions.get(term, nobody)
            for term in terms
            for field in (self._head, self._body)
        ]
        return np.unique(np.concatenate([nobody, *found]))

    def _candidate(self, position: int, asked: set[str]) -> Candidate:
        item = self.skills[position]
        return Candidate(
            skill=replace(item.skill, body=""),
            vector=item.vector,
            head={term: count for term, count in item.head.items() if term in asked},
            body={term: count for term, count in item.body.items() if term in asked},
            head_length=sum(item.head.values()),
            body_length=sum(item.body.values()),
            name=item.name,
        )
