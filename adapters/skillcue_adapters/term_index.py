"""BM25 over one text field of a library.

`SmoothedBM25` is the definition of the score and `TermIndex` the engine: a query is a sum over the
documents of its terms instead of a walk over all documents. The two are held together by tests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from rank_bm25 import BM25Okapi
from scipy import sparse

from skillcue_adapters.field_terms import FieldTerms, Postings

__all__ = [
    "GENERIC_WEIGHT",
    "SMALL_LIBRARY",
    "SmoothedBM25",
    "TermCounts",
    "TermIndex",
    "TermQuery",
    "bm25_idf",
    "bm25_weights",
    "evidence_weights",
    "generic_terms",
    "generic_threshold",
    "length_norms",
    "otsu_threshold",
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
    """How often each term occurs in each of some documents, whatever the history of the index.

    Attributes:
        terms: Those that occur, sorted: the columns.
        matrix: CSR, int32, shape ``(documents, len(terms))``.
    """

    terms: tuple[str, ...]
    matrix: Any


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

    What a term adds to the score of a document is computed when the term is first asked for:
    every number of documents and every length changes all weights, and few are needed.

    Args:
        field: Terms of the field.
        k1: Saturation of the term frequency, 0 or more.
        b: Length normalisation, 0 to 1.

    Attributes:
        field: As given; the next generation is built from it.
        evidence: What each term is worth as evidence, float64, by number; see
            `evidence_weights`. 0 for terms that do not occur.
    """

    def __init__(self, field: FieldTerms, k1: float, b: float) -> None:
        self.field = field
        frequency = field.frequency
        alive = np.flatnonzero(frequency)
        self.evidence = np.zeros(len(frequency))
        self.evidence[alive] = evidence_weights(frequency[alive], field.documents)
        self._k1 = k1
        total = float(field.lengths[field.slots].sum())
        self._norm = length_norms(field.lengths, total / field.documents, k1, b)
        self._known = np.zeros(len(frequency), dtype=np.bool_)
        self._weights = [np.zeros(len(part.slots), dtype=np.float32) for part in field.postings]

    @property
    def documents(self) -> int:
        """Number of documents."""
        return self.field.documents

    def encode(self, terms: Mapping[str, float]) -> TermQuery:
        """`terms` (term to weight) in the columns of this index; unknown terms are left out."""
        known = []
        for term in sorted(terms):
            column = self.field.vocabulary.get(term)
            if column is not None and self.frequency_of(column):
                known.append((column, terms[term]))
        return TermQuery(
            np.array([column for column, _ in known], dtype=np.int64),
            np.array([weight for _, weight in known], dtype=np.float64),
        )

    def frequency_of(self, column: int) -> int:
        """Documents in which the term with that number occurs."""
        # The vocabulary may have grown since.
        return int(self.field.frequency[column]) if column < len(self.field.frequency) else 0

    def scores(self, query: TermQuery) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Score of every document, and which documents share a term with the query.

        Okapi BM25 (Robertson et al., TREC-3) with the idf of `SmoothedBM25`; weights are rounded
        to float32.
        """
        self._weigh(query.columns)
        slots, lengths = self._occurrences(query.columns)
        weights = [
            array[start:end]
            for array, part in zip(self._weights, self.field.postings, strict=True)
            for start, end in _spans(part, query.columns)
        ]
        each = np.repeat(np.tile(query.weights, len(self.field.postings)), lengths)
        return self._summed(slots, each * _concatenated(weights, np.float32))

    def sums(self, query: TermQuery, values: Floats) -> Floats:
        """For every document the sum of `values`, by number of a term, over shared terms."""
        slots, lengths = self._occurrences(query.columns)
        each = np.repeat(np.tile(values[query.columns], len(self.field.postings)), lengths)
        return self._summed(slots, each)[0]

    def evidence_for(self, query: TermQuery, document: int) -> tuple[float, int]:
        """Evidence mass and number of distinct query terms that `document` contains."""
        rows = self.field.rows(self.field.slots[document : document + 1])
        terms = set(rows.columns.tolist())
        shared = [column for column in query.columns.tolist() if column in terms]
        return float(sum(self.evidence[shared].tolist())), len(shared)

    def counts_of(self, documents: npt.NDArray[np.int64], least: int = 1) -> TermCounts:
        """Terms of some documents, in the order of `documents`.

        Args:
            documents: Their positions.
            least: Terms that occur in fewer of them are left out.
        """
        rows = self.field.rows(self.field.slots[documents])
        frequency = np.bincount(rows.columns, minlength=1)
        present = np.flatnonzero(frequency >= least).tolist()
        used = sorted((self.field.vocabulary.term(column), column) for column in present)
        numbers = np.full(len(frequency), -1, dtype=np.int64)
        numbers[[column for _, column in used]] = np.arange(len(used))
        rows = rows.renumbered(numbers).without(-1)
        matrix = sparse.csr_matrix(
            (rows.counts, rows.columns, rows.starts), shape=(len(rows), len(used))
        )
        matrix.sort_indices()
        return TermCounts(tuple(term for term, _ in used), matrix)

    def _weigh(self, columns: npt.NDArray[np.int64]) -> None:
        """Compute the weights of terms that nobody has asked for yet."""
        fresh = columns[~self._known[columns]]
        if not len(fresh):
            return
        idf = bm25_idf(self.field.frequency[fresh], self.documents)
        for array, part in zip(self._weights, self.field.postings, strict=True):
            for factor, (start, end) in zip(idf.tolist(), _spans(part, fresh), strict=True):
                norm = self._norm[part.slots[start:end]]
                array[start:end] = bm25_weights(part.counts[start:end], norm, factor, self._k1)
        self._known[fresh] = True  # last: other threads compute the same rather than read zeros

    def _occurrences(
        self, columns: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Slots of all terms, term after term, part after part, and how many each has."""
        slots = []
        for part in self.field.postings:
            slots += [part.slots[start:end] for start, end in _spans(part, columns)]
        return _concatenated(slots, np.int32), np.array([len(s) for s in slots], dtype=np.int64)

    def _summed(
        self, slots: npt.NDArray[np.int32], each: Floats
    ) -> tuple[Floats, npt.NDArray[np.bool_]]:
        count = len(self.field.keys)
        matched = np.zeros(count, dtype=np.bool_)
        matched[slots] = True
        # One after the other in the order of the query's terms, so that bits depend on nothing
        # but the document.
        sums = np.bincount(slots, weights=each, minlength=count).astype(np.float64)
        return sums[self.field.slots], matched[self.field.slots]


def _spans(part: Postings, columns: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Where each term begins and ends in a part; the part may be older than the term."""
    inside = np.minimum(columns, len(part.starts) - 1)
    ends = np.minimum(columns + 1, len(part.starts) - 1)
    return list(zip(part.starts[inside].tolist(), part.starts[ends].tolist(), strict=True))


def _concatenated(parts: list[npt.NDArray[Any]], kind: type[np.generic]) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=kind)


def length_norms(lengths: npt.NDArray[Any], average: float, k1: float, b: float) -> Floats:
    """What lengths do to the saturation of BM25: ``k1 * (1 - b + b * length / average)``.

    Args:
        lengths: Terms of each text.
        average: Of all texts; 0 where all are empty.
        k1: Saturation of the term frequency, 0 or more.
        b: Length normalisation, 0 to 1.
    """
    return np.asarray(k1 * (1.0 - b + b * lengths / (average or 1.0)))


def bm25_weights(
    counts: npt.NDArray[Any], norms: Floats, idf: Floats | float, k1: float
) -> npt.NDArray[np.float32]:
    """What one occurrence of a term each adds to the score of a text, rounded to float32.

    Args:
        counts: How often the term occurs in the text.
        norms: See `length_norms`, of the text.
        idf: See `bm25_idf`, of the term.
        k1: Saturation of the term frequency, 0 or more.
    """
    tf = counts.astype(np.float64)
    return np.asarray(idf * tf * (k1 + 1.0) / (tf + norms), dtype=np.float32)


def evidence_weights(
    document_frequency: npt.NDArray[Any], documents: int, threshold: float | None = None
) -> Floats:
    """What a matched term is worth on an absolute scale: 1.0 = it occurs nowhere else.

    ``(log((N + 1) / (df + 1)) + 1) * (1 - (df - 1) / N)``, generic terms times
    `GENERIC_WEIGHT`, divided by the value at df = 1. Unlike a score that is normalised within a
    candidate list it stays small when a query and the library share one accidental word.

    Args:
        document_frequency: In how many documents each term occurs.
        documents: Number of documents.
        threshold: See `generic_threshold`; None where the terms are all there are.
    """
    idf = smooth_idf(document_frequency, documents)
    largest = math.log((documents + 1) / 2) + 1.0
    weights = idf * (1.0 - (document_frequency - 1) / max(documents, 1)) / largest
    generic = generic_terms(document_frequency, documents, threshold)
    return np.where(generic, weights * GENERIC_WEIGHT, weights)


def smooth_idf(document_frequency: npt.NDArray[Any], documents: int) -> Floats:
    """``log((N + 1) / (df + 1)) + 1``: 1 for a term that occurs everywhere, never less."""
    return np.log((documents + 1) / (document_frequency + 1)) + 1.0


def generic_terms(
    document_frequency: npt.NDArray[Any], documents: int, threshold: float | None = None
) -> npt.NDArray[np.bool_]:
    """Which terms any skill might use: those whose idf lies below a threshold.

    Args:
        document_frequency: In how many documents each term occurs.
        documents: Number of documents.
        threshold: See `generic_threshold`; None where the terms are all there are.
    """
    if threshold is None:
        threshold = generic_threshold(document_frequency, documents)
    return np.asarray(smooth_idf(document_frequency, documents) < threshold)


def generic_threshold(document_frequency: npt.NDArray[Any], documents: int) -> float:
    """The idf below which a term is generic: Otsu's threshold of all terms.

    It is that of the terms that occur in two documents or more; the many that occur once would
    make a class of their own. Of fewer than `SMALL_LIBRARY` documents no term is generic.
    """
    if documents < SMALL_LIBRARY:
        return -math.inf
    return otsu_threshold(smooth_idf(document_frequency[document_frequency >= 2], documents))


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


def bm25_idf(document_frequency: npt.NDArray[Any], documents: int) -> Floats:
    """`SmoothedBM25.idf_of` of each term."""
    # Few distinct frequencies, many terms: the definition is asked once for each of the former.
    distinct, position = np.unique(document_frequency, return_inverse=True)
    idf = [SmoothedBM25.idf_of(documents, frequency) for frequency in distinct.tolist()]
    return np.array(idf, dtype=np.float64)[position]
