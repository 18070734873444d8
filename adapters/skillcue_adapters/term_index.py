"""One text field of a library as a sparse matrix of BM25 weights.

`SmoothedBM25` is the definition of the score and `TermIndex` the engine: every weight in the
definition's sum is known once the field is indexed, so a query is a sum of matrix columns instead
of a walk over all documents. The two are held together by tests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from rank_bm25 import BM25Okapi
from scipy import sparse

from skillcue_adapters.analyzer import ANALYZER

__all__ = [
    "GENERIC_WEIGHT",
    "SMALL_LIBRARY",
    "SmoothedBM25",
    "TermCounts",
    "TermIndex",
    "TermQuery",
    "count_terms",
    "evidence_weights",
    "generic_terms",
    "otsu_threshold",
    "selected_counts",
    "smooth_idf",
]

SMALL_LIBRARY = 30
"""Documents below which no term is generic: the idf distribution has no valley there."""

GENERIC_WEIGHT = 0.5
"""Share of its evidence that a generic term keeps; dropping them altogether costs recall."""

Floats = npt.NDArray[np.float64]


class SmoothedBM25(BM25Okapi):  # type: ignore[misc]  # rank_bm25 ships no types
    """rank_bm25's Okapi with an idf that is positive for every term of the corpus.

    ``idf(t) = log(1 + (N - df + 0.5) / (df + 0.5))``. The inherited one is zero or negative for
    terms in half of the documents or more, so that in small libraries true matches score nothing.
    """

    avgdl: float

    @staticmethod
    def idf_of(documents: int, frequency: int) -> float:
        """idf of a term that occurs in `frequency` of `documents` documents; above 0."""
        return math.log(1.0 + (documents - frequency + 0.5) / (frequency + 0.5))

    def _calc_idf(self, nd: Mapping[str, int]) -> None:
        self.avgdl = self.avgdl or 1.0  # only empty documents: nothing to divide by
        for term, frequency in nd.items():
            self.idf[term] = self.idf_of(self.corpus_size, frequency)


@dataclass(frozen=True, slots=True)
class TermCounts:
    """How often each term occurs in each document.

    Attributes:
        texts: The documents; what `count_terms` recognises unchanged ones by.
        vocabulary: Term to column. Every column occurs in some document.
        matrix: CSR, int32, shape ``(len(texts), len(vocabulary))``.
    """

    texts: tuple[str, ...]
    vocabulary: Mapping[str, int]
    matrix: Any


def count_terms(texts: Sequence[str], previous: TermCounts | None = None) -> TermCounts:
    """Analyse `texts`, reusing the rows of `previous` for texts it holds already.

    The columns depend on the history, scores do not: queries are summed in the order of terms.
    """
    known = {} if previous is None else {text: row for row, text in enumerate(previous.texts)}
    vocabulary = {} if previous is None else dict(previous.vocabulary)
    fresh_texts = [text for text in dict.fromkeys(texts) if text not in known]
    offset = 0 if previous is None else len(previous.texts)
    rows = known | {text: offset + i for i, text in enumerate(fresh_texts)}
    matrix = _count_matrix(fresh_texts, vocabulary)
    if previous is not None:
        old = previous.matrix.copy()
        old.resize(offset, len(vocabulary))
        matrix = sparse.vstack([old, matrix], format="csr")
    wanted = matrix[[rows[text] for text in texts]]
    return _without_dead_columns(tuple(texts), vocabulary, wanted)


def selected_counts(counts: TermCounts, documents: npt.NDArray[np.int64]) -> TermCounts:
    """Counts of some of the documents, in the order of `documents`."""
    if np.array_equal(documents, np.arange(len(counts.texts))):
        return counts
    texts = tuple(counts.texts[n] for n in documents.tolist())
    return _without_dead_columns(texts, counts.vocabulary, counts.matrix[documents])


def _count_matrix(texts: Sequence[str], vocabulary: dict[str, int]) -> Any:
    """Counts of `texts` as CSR; terms that are new get the next columns of `vocabulary`."""
    columns: list[int] = []
    counts: list[int] = []
    starts = [0]
    for text in texts:
        found = ANALYZER.counts(text)
        columns.extend(vocabulary.setdefault(term, len(vocabulary)) for term in found)
        counts.extend(found.values())
        starts.append(len(columns))
    arrays = (np.array(a, dtype=np.int32) for a in (counts, columns, starts))
    return sparse.csr_matrix(tuple(arrays), shape=(len(texts), len(vocabulary)))


def _without_dead_columns(
    texts: tuple[str, ...], vocabulary: Mapping[str, int], matrix: Any
) -> TermCounts:
    alive = np.bincount(matrix.indices, minlength=len(vocabulary)) > 0
    if not alive.all():
        kept = [term for term, column in vocabulary.items() if alive[column]]
        vocabulary = {term: column for column, term in enumerate(kept)}
        columns = (np.cumsum(alive, dtype=np.int32) - 1)[matrix.indices]
        matrix = sparse.csr_matrix(
            (matrix.data, columns, matrix.indptr), shape=(len(texts), len(vocabulary))
        )
    return TermCounts(texts, vocabulary, matrix)


@dataclass(frozen=True, slots=True)
class TermQuery:
    """A query in the columns of one index, ordered by term so that sums never depend on history.

    Attributes:
        columns: Columns of the query's terms that the index knows, int64.
        weights: How often each counts, float64, same length.
    """

    columns: npt.NDArray[np.int64]
    weights: Floats


class TermIndex:
    """BM25 over one field.

    Args:
        counts: Term counts of the field.
        k1: Saturation of the term frequency, 0 or more.
        b: Length normalisation, 0 to 1.

    Attributes:
        counts: As given; the next generation is built from it.
        weights: CSC, float32, documents by terms: what each term adds to the score of each
            document. Okapi BM25 (Robertson et al., TREC-3) with the idf of `SmoothedBM25`.
        evidence: What each term is worth as evidence, float64, shape ``(terms,)``; see
            `evidence_weights`.
    """

    def __init__(self, counts: TermCounts, k1: float, b: float) -> None:
        self.counts = counts
        frequencies = counts.matrix.tocsc()
        frequencies.sort_indices()
        documents = len(counts.texts)
        document_frequency = np.diff(frequencies.indptr)
        self.evidence = evidence_weights(document_frequency, documents)
        self.weights = _bm25_weights(
            frequencies, _idf(document_frequency, documents), _lengths(counts), k1, b
        )

    def encode(self, terms: Mapping[str, float]) -> TermQuery:
        """`terms` (term to weight) in the columns of this index; unknown terms are left out."""
        vocabulary = self.counts.vocabulary
        known = [(vocabulary[term], terms[term]) for term in sorted(terms) if term in vocabulary]
        return TermQuery(
            np.array([column for column, _ in known], dtype=np.int64),
            np.array([weight for _, weight in known], dtype=np.float64),
        )

    def scores(self, query: TermQuery) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Score of every document, and which documents share a term with the query."""
        documents = len(self.counts.texts)
        if not len(query.columns):
            return np.zeros(documents), np.zeros(documents, dtype=np.bool_)
        columns = self.weights[:, query.columns]
        matched = np.zeros(documents, dtype=np.bool_)
        matched[columns.indices] = True
        return columns @ query.weights, matched

    def evidence_for(self, query: TermQuery, document: int) -> tuple[float, int]:
        """Evidence mass and number of distinct query terms that `document` contains."""
        start, end = self.counts.matrix.indptr[document : document + 2]
        terms = set(self.counts.matrix.indices[start:end].tolist())
        shared = [column for column in query.columns.tolist() if column in terms]
        return float(sum(self.evidence[shared].tolist())), len(shared)


def evidence_weights(document_frequency: npt.NDArray[Any], documents: int) -> Floats:
    """What a matched term is worth on an absolute scale: 1.0 = it occurs nowhere else.

    ``(log((N + 1) / (df + 1)) + 1) * (1 - (df - 1) / N)``, generic terms times
    `GENERIC_WEIGHT`, divided by the value at df = 1. Unlike a score that is normalised within a
    candidate list it stays small when a query and the library share one accidental word.
    """
    idf = smooth_idf(document_frequency, documents)
    largest = math.log((documents + 1) / 2) + 1.0
    weights = idf * (1.0 - (document_frequency - 1) / max(documents, 1)) / largest
    generic = generic_terms(document_frequency, documents)
    return np.where(generic, weights * GENERIC_WEIGHT, weights)


def smooth_idf(document_frequency: npt.NDArray[Any], documents: int) -> Floats:
    """``log((N + 1) / (df + 1)) + 1``: 1 for a term that occurs everywhere, never less."""
    return np.log((documents + 1) / (document_frequency + 1)) + 1.0


def generic_terms(document_frequency: npt.NDArray[Any], documents: int) -> npt.NDArray[np.bool_]:
    """Which terms any skill might use: those whose idf lies below Otsu's threshold.

    The threshold is that of the terms that occur in two documents or more; the many that occur
    once would make a class of their own. Of fewer than `SMALL_LIBRARY` documents no term is
    generic.
    """
    idf = smooth_idf(document_frequency, documents)
    if documents < SMALL_LIBRARY:
        return np.zeros(len(idf), dtype=np.bool_)
    return np.asarray(idf < otsu_threshold(idf[document_frequency >= 2]))


def otsu_threshold(values: Floats) -> float:
    """The cut that maximises the variance between the two classes it makes (Otsu 1979).

    Exact over the values themselves, without a histogram. With fewer than two distinct values
    there is nothing to cut and the answer is minus infinity.
    """
    ordered = np.sort(values)
    if not len(ordered) or ordered[0] == ordered[-1]:
        return -math.inf
    sums = np.cumsum(ordered)
    below = np.arange(1, len(ordered))
    above = len(ordered) - below
    gap = sums[:-1] / below - (sums[-1] - sums[:-1]) / above
    between = below * above * gap**2
    cut = int(np.argmax(between))
    return float((ordered[cut] + ordered[cut + 1]) / 2)


def _idf(document_frequency: npt.NDArray[Any], documents: int) -> Floats:
    # Few distinct frequencies, many terms: the definition is asked once for each of the former.
    distinct, position = np.unique(document_frequency, return_inverse=True)
    idf = [SmoothedBM25.idf_of(documents, frequency) for frequency in distinct.tolist()]
    return np.array(idf, dtype=np.float64)[position]


def _lengths(counts: TermCounts) -> Floats:
    return np.asarray(counts.matrix.sum(axis=1), dtype=np.float64).ravel()


def _bm25_weights(frequencies: Any, idf: Floats, lengths: Floats, k1: float, b: float) -> Any:
    average = (float(lengths.mean()) if len(lengths) else 0.0) or 1.0
    norm = k1 * (1.0 - b + b * lengths / average)
    tf = frequencies.data.astype(np.float64)
    weights = np.repeat(idf, np.diff(frequencies.indptr)) * tf * (k1 + 1.0)
    weights /= tf + norm[frequencies.indices]
    return sparse.csc_matrix(
        (weights.astype(np.float32), frequencies.indices, frequencies.indptr),
        shape=frequencies.shape,
    )
