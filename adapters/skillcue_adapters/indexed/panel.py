"""Candidates of one query and skills that stand for all the others: what is scored together.

Means and deviations over the whole library are those of a stratified sample: the candidates count
once each, the sampled skills that are no candidates for all the rest together. The candidates are
the extremes, which a plain sample would mostly miss; and where the sample is the whole library, the
numbers are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt

from skillcue_adapters.bm25 import head_text
from skillcue_adapters.index.keys import content_keys
from skillcue_adapters.index.vectors import Rows
from skillcue_adapters.indexed.facts import IndexFacts
from skillcue_adapters.indexed.occurrences import Occurrences
from skillcue_adapters.indexed.sample import SampleField
from skillcue_adapters.normalization import spread
from skillcue_hooks.skill_index import Legs

__all__ = ["Panel", "weighted_spread"]

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class Panel:
    """The candidates, and behind them the sampled skills that are none.

    Args:
        facts: About all skills.
        legs: The candidates.

    Attributes:
        facts: As given.
        skills: Of the candidates.
        candidates: Number of candidates.
        size: Number of all rows.
        sampled: Row of each skill of the sample.
    """

    def __init__(self, facts: IndexFacts, legs: Legs) -> None:
        self.facts = facts
        self.skills = tuple(candidate.skill for candidate in legs.candidates)
        self.candidates = len(legs.candidates)
        self._legs = legs
        sample = facts.sample
        self._rest: Mask = np.ones(len(sample), dtype=np.bool_)
        self.sampled: Positions = np.empty(len(sample), dtype=np.int64)
        for row, skill in enumerate(self.skills):
            place = sample.places.get(skill.id)
            if place is not None:
                self._rest[place] = False
                self.sampled[place] = row
        rest = int(np.count_nonzero(self._rest))
        self.sampled[self._rest] = self.candidates + np.arange(rest)
        self.size = self.candidates + rest
        others = max(facts.statistics.skills - self.candidates, 0)
        self._weight = others / rest if rest else 1.0  # of each of the rest

    @cached_property
    def vectors(self) -> Rows:
        """Of the heads, shape ``(size, dim)``."""
        rest = self.facts.sample.vectors[self._rest]
        own = [candidate.vector for candidate in self._legs.candidates]
        if not own:
            return rest
        return np.concatenate([np.array(own, dtype=np.float32), rest])

    @cached_property
    def names(self) -> list[str]:
        """Terms of each name; see `IndexedSkill.name`."""
        rest = np.flatnonzero(self._rest).tolist()
        names = self.facts.sample.names
        return [*(c.name for c in self._legs.candidates), *(names[place] for place in rest)]

    @cached_property
    def head_lengths(self) -> Positions:
        """Terms of each head, repeats included."""
        own = [candidate.head_length for candidate in self._legs.candidates]
        return self._lengths(own, self.facts.sample.head)

    @cached_property
    def body_lengths(self) -> Positions:
        """Terms of each body, likewise."""
        own = [candidate.body_length for candidate in self._legs.candidates]
        return self._lengths(own, self.facts.sample.body)

    def head(self, numbers: Mapping[str, int]) -> Occurrences:
        """Where terms occur in heads.

        Args:
            numbers: Numbers of the terms, ascending; the candidates must have been asked for them.
        """
        own = [candidate.head for candidate in self._legs.candidates]
        found = Occurrences.of_counts(own, numbers)
        return found.then(self.facts.sample.head.occurrences(numbers), self._rest)

    def body(self, numbers: Mapping[str, int]) -> Occurrences:
        """Where terms occur in bodies; see `head`."""
        own = [candidate.body for candidate in self._legs.candidates]
        found = Occurrences.of_counts(own, numbers)
        return found.then(self.facts.sample.body.occurrences(numbers), self._rest)

    def keys(self, encoder: str) -> list[bytes]:
        """Key of each candidate; see `IndexedSkill.key`.

        Args:
            encoder: Fingerprint of the encoder of the vectors.
        """
        return [key.tobytes() for key in content_keys(encoder, map(head_text, self.skills))]

    def of_sample(self, values: Floats) -> Floats:
        """Those of the sample's numbers that belong to the rows behind the candidates."""
        return np.asarray(values[self._rest])

    def spread(self, values: Floats) -> tuple[float, float]:
        """Mean and deviation over the whole library of one number a row."""
        if self._weight == 1.0 or self.size == self.candidates:
            return spread(values)
        weights = np.ones(self.size)
        weights[self.candidates :] = self._weight
        return weighted_spread(values, weights)

    def _lengths(self, own: list[int], sampled: SampleField) -> Positions:
        return np.concatenate([np.array(own, dtype=np.int64), sampled.lengths[self._rest]])


def weighted_spread(values: Floats, weights: Floats) -> tuple[float, float]:
    """`skillcue_adapters.normalization.spread` of numbers that occur `weights` times each."""
    if values.min() == values.max():
        return float(values[0]), 0.0
    mean = float(np.average(values, weights=weights))
    return mean, float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))
