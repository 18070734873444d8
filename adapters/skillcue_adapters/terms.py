"""Terms of texts as arrays: a vocabulary, and how often each of its terms occurs in each text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skillcue_adapters.analyzer import ANALYZER
from skillcue_adapters.index.keys import Positions
from skillcue_adapters.locks import ForkSafeLock

__all__ = ["TermRows", "Vocabulary", "analysed", "ranges"]

Ints = npt.NDArray[np.int32]


class Vocabulary:
    """Numbers of terms. Terms are only added; safe to share by threads, fields and generations."""

    def __init__(self, terms: Iterable[str] = ()) -> None:
        self._numbers: dict[str, int] = {}
        self._terms: list[str] = []
        self._lock = ForkSafeLock()
        self.add(terms)

    def __len__(self) -> int:
        return len(self._terms)

    def get(self, term: str) -> int | None:
        """Number of `term`, None for one that has none."""
        return self._numbers.get(term)

    def add(self, terms: Iterable[str]) -> list[int]:
        """Numbers of `terms`; new ones get the next."""
        numbers, every = self._numbers, self._terms
        found = []
        with self._lock:
            for term in terms:
                number = numbers.get(term)
                if number is None:
                    number = len(every)
                    every.append(term)  # first: whoever knows the number finds the term
                    numbers[term] = number
                found.append(number)
        return found

    def term(self, number: int) -> str:
        """The term that has a number."""
        return self._terms[number]

    def terms(self) -> list[str]:
        """All terms, in the order of their numbers."""
        return list(self._terms)


@dataclass(frozen=True, slots=True)
class TermRows:
    """How often each term occurs in each of some texts, one text a row.

    Attributes:
        starts: Where each row begins in the other two, int64; one number more than rows.
        columns: Numbers of terms, each once a row.
        counts: How often each occurs, same length.
    """

    starts: Positions
    columns: Ints
    counts: Ints

    def __len__(self) -> int:
        return len(self.starts) - 1

    def take(self, rows: Positions) -> TermRows:
        """Some of the rows, in the order of `rows`."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        places = ranges(self.starts[rows], lengths)
        starts = np.cumsum(np.concatenate([[0], lengths]), dtype=np.int64)
        return TermRows(starts, self.columns[places], self.counts[places])

    def lengths(self) -> Positions:
        """Number of terms of each row, repeats included."""
        sums = np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])
        return np.asarray(sums[self.starts[1:]] - sums[self.starts[:-1]])

    def renumbered(self, numbers: npt.NDArray[np.int64]) -> TermRows:
        """With ``numbers[column]`` in place of each column."""
        return TermRows(self.starts, numbers.astype(np.int32)[self.columns], self.counts)

    def without(self, column: int) -> TermRows:
        """With one column left out."""
        kept = self.columns != column
        ends = np.concatenate([[0], np.cumsum(kept, dtype=np.int64)])
        return TermRows(ends[self.starts], self.columns[kept], self.counts[kept])

    def plus(self, other: TermRows) -> TermRows:
        """Row by row the sum of both, columns ascending; they must be equally many."""
        rows = np.concatenate([_row_numbers(self), _row_numbers(other)])
        columns = np.concatenate([self.columns, other.columns]).astype(np.int64)
        counts = np.concatenate([self.counts, other.counts]).astype(np.int64)
        width = int(columns.max(initial=0)) + 1
        places, inverse = np.unique(rows * width + columns, return_inverse=True)
        summed = np.zeros(len(places), dtype=np.int64)
        np.add.at(summed, inverse, counts)
        starts = np.searchsorted(places, np.arange(len(self) + 1) * width)
        return TermRows(
            starts.astype(np.int64), (places % width).astype(np.int32), summed.astype(np.int32)
        )

    @staticmethod
    def joined(parts: Sequence[TermRows]) -> TermRows:
        """All rows of all parts, one after the other."""
        ends = np.cumsum([0, *(len(part.columns) for part in parts)], dtype=np.int64)
        starts = [part.starts[:-1] + end for part, end in zip(parts, ends[:-1], strict=True)]
        return TermRows(
            np.concatenate([*starts, ends[-1:]]),
            np.concatenate([part.columns for part in parts] or [np.zeros(0, dtype=np.int32)]),
            np.concatenate([part.counts for part in parts] or [np.zeros(0, dtype=np.int32)]),
        )


def analysed(texts: Iterable[str], vocabulary: Vocabulary) -> TermRows:
    """Terms of `texts`; those that are new get the next numbers of `vocabulary`."""
    columns: list[int] = []
    counts: list[int] = []
    starts = [0]
    for text in texts:
        found = ANALYZER.counts(text)
        columns.extend(vocabulary.add(found))
        counts.extend(found.values())
        starts.append(len(columns))
    return TermRows(
        np.array(starts, dtype=np.int64),
        np.array(columns, dtype=np.int32),
        np.array(counts, dtype=np.int32),
    )


def ranges(starts: Positions, lengths: Positions) -> Positions:
    """The numbers from each start on, as many as `lengths` says, one range after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.arange(total) + np.repeat(starts - (ends - lengths), lengths))


def _row_numbers(rows: TermRows) -> Positions:
    return np.repeat(np.arange(len(rows)), np.diff(rows.starts))
