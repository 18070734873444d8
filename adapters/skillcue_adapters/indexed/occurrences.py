"""Which of some skills hold which terms of a query: sums of BM25 and of evidence over those."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skillcue_adapters.term_index import bm25_weights

__all__ = ["Occurrences"]

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Occurrences:
    """One field of some skills, as far as a query's terms occur in it.

    Attributes:
        rows: Position of a skill, one an occurrence; ordered by term.
        terms: Number of the query's term, same length.
        counts: How often it occurs there, same length.
        size: Number of skills.
    """

    rows: Positions
    terms: Positions
    counts: Positions
    size: int

    @classmethod
    def of_counts(
        cls, texts: Sequence[Mapping[str, int]], numbers: Mapping[str, int]
    ) -> Occurrences:
        """Those of some texts, given as the counts of their terms.

        Args:
            texts: One a skill.
            numbers: Numbers of the query's terms.
        """
        found = [
            (numbers[term], row, count)
            for row, text in enumerate(texts)
            for term, count in text.items()
            if term in numbers
        ]
        found.sort()
        columns = np.array(found, dtype=np.int64).reshape(-1, 3)
        return cls(columns[:, 1], columns[:, 0], columns[:, 2], len(texts))

    def then(self, other: Occurrences, kept: Mask) -> Occurrences:
        """These skills, and behind them those of `other` that are `kept`."""
        places = self.size + np.cumsum(kept) - 1
        inside = kept[other.rows]
        rows = np.concatenate([self.rows, places[other.rows[inside]]])
        terms = np.concatenate([self.terms, other.terms[inside]])
        counts = np.concatenate([self.counts, other.counts[inside]])
        order = np.argsort(terms, kind="stable")
        size = self.size + int(np.count_nonzero(kept))
        return Occurrences(rows[order], terms[order], counts[order], size)

    def renumbered(self, rows: Positions) -> Occurrences:
        """With ``rows[row]`` in place of each row."""
        return Occurrences(rows[self.rows], self.terms, self.counts, self.size)

    def plus(self, other: Occurrences) -> Occurrences:
        """Two fields of the same skills as one."""
        terms = np.concatenate([self.terms, other.terms])
        places = terms * max(self.size, 1) + np.concatenate([self.rows, other.rows])
        distinct, inverse = np.unique(places, return_inverse=True)
        counts = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(counts, inverse, np.concatenate([self.counts, other.counts]))
        return Occurrences(
            distinct % max(self.size, 1), distinct // max(self.size, 1), counts, self.size
        )

    def scores(self, idf: Floats, weights: Floats, norms: Floats, k1: float) -> Floats:
        """BM25 of each skill; see `skillcue_adapters.term_index.TermIndex.scores`.

        Args:
            idf: Of each of the query's terms.
            weights: How often each counts.
            norms: See `skillcue_adapters.term_index.length_norms`, of each skill.
            k1: Saturation of the term frequency.
        """
        found = bm25_weights(self.counts, norms[self.rows], idf[self.terms], k1)
        return self._summed(weights[self.terms] * found)

    def sums(self, values: Floats) -> Floats:
        """For each skill the sum of `values`, one a term, over the terms it holds."""
        return self._summed(values[self.terms])

    def matched(self) -> Mask:
        """Which skills hold a term."""
        found = np.zeros(self.size, dtype=np.bool_)
        found[self.rows] = True
        return found

    def terms_of(self, row: int) -> Positions:
        """Terms that one skill holds, ascending."""
        return np.asarray(self.terms[self.rows == row])

    def _summed(self, each: Floats) -> Floats:
        # In the order of the terms, as over a library in memory: the same bits.
        return np.bincount(self.rows, weights=each, minlength=self.size).astype(np.float64)
