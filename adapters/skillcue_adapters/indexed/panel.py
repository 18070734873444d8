"""Candidates of one query and skills that stand for all the others: what is scored together.

Where the sample is the whole library, all of it are candidates, and a ranking is the one that the
library would have in memory.

Means and deviations over the whole library are those of a stratified sample: the candidates count
once each, the sampled skills that are no candidates for all the rest together. The candidates are
the extremes, which a plain sample would mostly miss; and where the sample is the whole library, the
numbers are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from skillcue_adapters.bm25 import head_text
from skillcue_adapters.index.vectors import Rows
from skillcue_adapters.indexed.facts import IndexFacts
from skillcue_adapters.indexed.naming import lengths_of
from skillcue_adapters.indexed.occurrences import Occurrences
from skillcue_adapters.indexed.sample import SampleField
from skillcue_adapters.lazy import cached_property
from skillcue_adapters.normalization import spread
from skillcue_adapters.similarity import dots
from skillcue_hooks.contracts import Skill
from skillcue_hooks.skill_index import Legs

__all__ = ["Panel", "weighted_spread"]

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class Panel:
    """The candidates and the sampled skills that are none, as rows.

    Those that may be hits come first, by id.

    Args:
        facts: About all skills.
        legs: The candidates.

    Attributes:
        facts: As given.
        skills: Those that may be hits: the candidates, or all where all are known.
        size: Number of all rows.
        whole: The rows are the whole library.
        sampled: Row of each skill of the sample.
    """

    def __init__(self, facts: IndexFacts, legs: Legs) -> None:
        self.facts = facts
        sample = facts.sample
        self._own = legs.candidates
        self._rest: Mask = np.ones(len(sample), dtype=np.bool_)
        own_row: dict[int, int] = {}
        for row, candidate in enumerate(self._own):
            place = sample.places.get(candidate.skill.id)
            if place is not None:
                self._rest[place] = False
                own_row[place] = row
        rest = np.flatnonzero(self._rest).tolist()
        self.size = len(self._own) + len(rest)
        self.whole = len(sample) >= facts.statistics.skills
        others = [sample.skills[place] for place in rest]
        every: list[Skill] = [*(candidate.skill for candidate in self._own), *others]
        order = list(range(self.size))
        if self.whole:
            order.sort(key=lambda row: every[row].id)
        self._order: Positions = np.array(order, dtype=np.int64)
        self._row: Positions = np.argsort(self._order)  # of each candidate, then of the others
        self.skills = tuple(
            every[row] for row in (order if self.whole else order[: len(self._own)])
        )
        self.sampled: Positions = np.empty(len(sample), dtype=np.int64)
        self.sampled[self._rest] = self._row[len(self._own) :]
        for place, row in own_row.items():
            self.sampled[place] = self._row[row]
        left = max(facts.statistics.skills - len(self._own), 0)
        self._weight = left / len(rest) if rest else 1.0  # of each of the others

    def products(self, vector: Rows) -> Floats:
        """Inner product of the vector of each row with one, shape ``(size,)``."""
        return self.rows(dots(self.candidate_vectors, vector), dots(self._sampled, vector))

    def vectors(self, rows: Positions) -> Rows:
        """Vectors of some rows, shape ``(len(rows), dim)``.

        There is no array of all: to copy the sample for each query took longer than to rank it.
        """
        own = self.candidate_vectors
        places = self._order[rows]
        others = places >= len(own)
        found: Rows = np.empty((len(rows), own.shape[1]), dtype=np.float32)
        found[~others] = own[places[~others]]
        found[others] = self._sampled[np.flatnonzero(self._rest)[places[others] - len(own)]]
        return found

    @cached_property
    def names(self) -> list[str]:
        """Terms of each name; see `IndexedSkill.name`."""
        own = [candidate.name for candidate in self._own]
        sampled = self.facts.sample.names
        every = [*own, *(sampled[place] for place in np.flatnonzero(self._rest).tolist())]
        return [every[row] for row in self._order.tolist()]

    @cached_property
    def name_lengths(self) -> frozenset[int]:
        """Numbers of terms that names have."""
        return self.facts.sample.name_lengths | lengths_of(c.name for c in self._own)

    @cached_property
    def head_lengths(self) -> Positions:
        """Terms of each head, repeats included."""
        return self._lengths((c.head_length for c in self._own), self.facts.sample.head)

    @cached_property
    def body_lengths(self) -> Positions:
        """Terms of each body, likewise."""
        return self._lengths((c.body_length for c in self._own), self.facts.sample.body)

    def head(self, numbers: Mapping[str, int]) -> Occurrences:
        """Where terms occur in heads.

        Args:
            numbers: Numbers of the terms, ascending; the candidates must have been asked for them.
        """
        own = Occurrences.of_counts([candidate.head for candidate in self._own], numbers)
        return self._occurrences(own, self.facts.sample.head, numbers)

    def body(self, numbers: Mapping[str, int]) -> Occurrences:
        """Where terms occur in bodies; see `head`."""
        own = Occurrences.of_counts([candidate.body for candidate in self._own], numbers)
        return self._occurrences(own, self.facts.sample.body, numbers)

    @cached_property
    def candidate_vectors(self) -> Rows:
        """Those of the candidates, in their order."""
        own = [candidate.vector for candidate in self._own]
        return np.array(own, dtype=np.float32).reshape(-1, self._sampled.shape[1])

    @property
    def _sampled(self) -> Rows:
        return self.facts.sample.vectors

    @property
    def candidate_heads(self) -> list[str]:
        """Text of the head of each candidate."""
        return [head_text(candidate.skill) for candidate in self._own]

    def rows(self, own: npt.NDArray[Any], sampled: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """One item a row.

        Args:
            own: One a candidate, in their order.
            sampled: One a skill of the sample.
        """
        return np.asarray(np.concatenate([own, sampled[self._rest]])[self._order])

    def spread(self, values: Floats) -> tuple[float, float]:
        """Mean and deviation over the whole library of one number a row."""
        if self._weight == 1.0:
            return spread(values)
        weights = np.full(self.size, self._weight)
        weights[self._row[: len(self._own)]] = 1.0
        return weighted_spread(values, weights)

    def _occurrences(
        self, own: Occurrences, sampled: SampleField, numbers: Mapping[str, int]
    ) -> Occurrences:
        found = own.then(sampled.occurrences(numbers), self._rest)
        return found.renumbered(self._row) if self.whole else found

    def _lengths(self, own: Iterable[int], sampled: SampleField) -> Positions:
        return self.rows(np.array([*own], dtype=np.int64), sampled.lengths)


def weighted_spread(values: Floats, weights: Floats) -> tuple[float, float]:
    """`skillcue_adapters.normalization.spread` of numbers that occur `weights` times each."""
    if values.min() == values.max():
        return float(values[0]), 0.0
    mean = float(np.average(values, weights=weights))
    return mean, float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))
