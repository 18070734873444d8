"""Skills of an index that stand for all of them: those with the smallest keys, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skillcue_adapters.index.vectors import Rows
from skillcue_adapters.indexed.naming import lengths_of
from skillcue_adapters.indexed.occurrences import Occurrences
from skillcue_adapters.lazy import cached_property
from skillcue_adapters.term_index import TermCounts
from skillcue_hooks.skill_index import IndexedSkill

__all__ = ["Sample", "SampleField"]

Positions = npt.NDArray[np.int64]


class SampleField:
    """Terms of one field of the sample.

    Args:
        texts: Counts of its terms, one text a skill.
    """

    def __init__(self, texts: Sequence[Mapping[str, int]]) -> None:
        self.terms = sorted({term for text in texts for term in text})
        self._columns = {term: column for column, term in enumerate(self.terms)}
        entries = [
            (row, self._columns[term], count)
            for row, text in enumerate(texts)
            for term, count in text.items()
        ]
        rows, columns, counts = np.array(entries, dtype=np.int64).reshape(-1, 3).T
        shape = (len(texts), len(self.terms))
        self._by_text: Any = sparse.csr_matrix((counts.astype(np.int32), (rows, columns)), shape)
        self._by_term: Any = self._by_text.tocsc()
        self.lengths: Positions = np.asarray(self._by_text.sum(axis=1), dtype=np.int64).ravel()

    def occurrences(self, numbers: Mapping[str, int]) -> Occurrences:
        """Where the query's terms occur.

        Args:
            numbers: Numbers of the query's terms, ascending.
        """
        known = [(self._columns[t], number) for t, number in numbers.items() if t in self._columns]
        part = self._by_term[:, [column for column, _ in known]]
        terms = np.array([number for _, number in known], dtype=np.int64)
        return Occurrences(
            part.indices.astype(np.int64),
            np.repeat(terms, np.diff(part.indptr)),
            part.data.astype(np.int64),
            part.shape[0],
        )

    def counts_of(self, rows: Positions, least: int) -> TermCounts:
        """See `skillcue_adapters.term_index.TermIndex.counts_of`."""
        part = self._by_text[rows]
        frequency = np.bincount(part.indices, minlength=len(self.terms))
        used = np.flatnonzero(frequency >= least)
        matrix = part[:, used].tocsr()
        matrix.sort_indices()
        return TermCounts(tuple(self.terms[n] for n in used.tolist()), matrix)


class Sample:
    """A sample of an index, ascending by key, then id.

    Args:
        items: The skills.

    Attributes:
        places: Position of each id.
        keys: Of each skill.
        names: Terms of each name.
        name_lengths: Numbers of terms that names have.
        skills: The skills, without their bodies.
        vectors: Of each head, shape ``(n, dim)``.
        distinct: Positions of the first skill of each key.
    """

    def __init__(self, items: Sequence[IndexedSkill]) -> None:
        self.places = {item.skill.id: place for place, item in enumerate(items)}
        self.keys = [item.key for item in items]
        self.names = [item.name for item in items]
        self.name_lengths = lengths_of(self.names)
        self.skills = [replace(item.skill, body="") for item in items]
        self.vectors: Rows = np.array([item.vector for item in items], dtype=np.float32)
        first = {key: place for place, key in reversed(list(enumerate(self.keys)))}
        self.distinct: Positions = np.array(sorted(first.values()), dtype=np.int64)
        self._items = items

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def head(self) -> SampleField:
        """Terms of the heads."""
        return SampleField([item.head for item in self._items])

    @cached_property
    def body(self) -> SampleField:
        """Terms of the bodies."""
        return SampleField([item.body for item in self._items])
