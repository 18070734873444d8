"""The lexical side of mode ``skillsight``: absolute evidence, and the whole text as one field."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skillcue_adapters.bm25 import Bm25Retriever, LexicalView
from skillcue_adapters.index.protocol import Mask
from skillcue_adapters.term_index import (
    GENERIC_WEIGHT,
    SmoothedBM25,
    TermCounts,
    TermIndex,
    TermQuery,
    generic_terms,
    smooth_idf,
)

__all__ = ["LexicalSide", "TextEvidence", "coverage", "evidence_masses", "merged_counts"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TextEvidence:
    """What the words of one text say about every skill.

    Attributes:
        view: The text as mode ``bm25`` sees it.
        mass: Evidence mass of each head; see `evidence_masses`.
        evidence: Geometric mean of `mass` and of the head's BM25, the latter in units of the
            largest idf. Mass alone grows with the length of a description: a long one holds some
            word of any long query. BM25 alone values a generic term nearly as much as a rare one.
        document: BM25 of head and body as one text; None where no skill has a body.
    """

    view: LexicalView
    mass: Floats
    evidence: Floats
    document: Floats | None


class LexicalSide:
    """Reads texts against one library.

    Args:
        bm25: Its fields, and how texts are analysed; not over the empty library.

    Attributes:
        bm25: As given.
        body_share: Share of the skills that have a body, 0 to 1.
    """

    def __init__(self, bm25: Bm25Retriever) -> None:
        self.bm25 = bm25
        skills = bm25.skills
        self.body_share = sum(bool(skill.body) for skill in skills) / len(skills)
        self._largest_idf = SmoothedBM25.idf_of(len(skills), 1)
        self._document: TermIndex | None = None
        if self.body_share:
            counts = merged_counts(bm25.head.counts, bm25.body.counts)
            self._document = TermIndex(counts, bm25.settings.k1, bm25.settings.b)

    def read(self, text: str) -> TextEvidence:
        """`text` against every skill."""
        view = self.bm25.view(text)
        mass = evidence_masses(self.bm25.head, view.head_query)
        evidence = np.sqrt(mass * view.head / self._largest_idf)
        document = None
        if self._document is not None:
            document, _ = self._document.scores(self._document.encode(view.terms))
        return TextEvidence(view, mass, evidence, document)

    def damped(self, view: LexicalView) -> Floats:
        """BM25 of each head, generic terms counting half."""
        query = view.head_query
        generic = self._generic[query.columns]
        weights = np.where(generic, query.weights * GENERIC_WEIGHT, query.weights)
        scores, _ = self.bm25.head.scores(TermQuery(query.columns, weights))
        return scores

    def covered(self, view: LexicalView) -> Floats:
        """`coverage` of each head."""
        return coverage(self.bm25.head, view.head_query, self._generic)

    @cached_property
    def _generic(self) -> Mask:
        return generic_terms(_document_frequency(self.bm25.head), len(self.bm25.skills))


def evidence_masses(index: TermIndex, query: TermQuery) -> Floats:
    """Evidence mass of every document: the sum of `TermIndex.evidence` over shared terms.

    In units of one term that occurs nowhere else.
    """
    return _sums(index, query, index.evidence)


def coverage(index: TermIndex, query: TermQuery, generic: Mask) -> Floats:
    """Share of the query's weight that each document covers, 0 to 1 (SkillSight).

    ``sum over shared terms of w / sum over the query's terms of w`` with ``w = idf * (1 - df /
    N)``; generic terms, and those the index does not know, are left out.

    Args:
        index: The documents.
        query: The query.
        generic: Which of the index's terms are generic.
    """
    documents = len(index.counts.texts)
    frequency = _document_frequency(index)
    weights = smooth_idf(frequency, documents) * (1.0 - frequency / documents)
    weights = np.where(generic, 0.0, weights)
    whole = float(weights[query.columns].sum())
    return _sums(index, query, weights) / whole if whole > 0.0 else np.zeros(documents)


def merged_counts(first: TermCounts, second: TermCounts) -> TermCounts:
    """Counts of documents that have two texts, as if each pair were one text.

    Both must be over the same documents in the same order.
    """
    vocabulary = dict(first.vocabulary)
    columns = np.zeros(len(second.vocabulary), dtype=np.int32)
    for term, column in second.vocabulary.items():
        columns[column] = vocabulary.setdefault(term, len(vocabulary))
    shape = (len(first.texts), len(vocabulary))
    left = first.matrix.copy()
    left.resize(shape)
    other = second.matrix
    right = sparse.csr_matrix((other.data, columns[other.indices], other.indptr), shape=shape)
    # Joined texts would be a copy of the library, and nothing is recognised by them.
    return TermCounts(first.texts, vocabulary, (left + right).tocsr())


def _sums(index: TermIndex, query: TermQuery, weights: Floats) -> Floats:
    columns = index.weights[:, query.columns]
    each = np.repeat(weights[query.columns], np.diff(columns.indptr))
    documents = len(index.counts.texts)
    return np.asarray(np.bincount(columns.indices, weights=each, minlength=documents), np.float64)


def _document_frequency(index: TermIndex) -> npt.NDArray[np.int64]:
    return np.asarray(np.diff(index.weights.indptr), dtype=np.int64)
