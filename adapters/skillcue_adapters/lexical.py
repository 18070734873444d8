"""The lexical side of mode ``skillsight``: absolute evidence, and the whole text as one field."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skillcue_adapters.analyzer import ANALYZER
from skillcue_adapters.bm25 import Bm25Retriever, LexicalView
from skillcue_adapters.field_terms import FieldTerms, follow_terms
from skillcue_adapters.index.keys import Positions, content_keys, keys_of, match_keys
from skillcue_adapters.lazy import cached_property
from skillcue_adapters.term_index import (
    GENERIC_WEIGHT,
    SmoothedBM25,
    TermIndex,
    TermQuery,
    generic_terms,
    smooth_idf,
)

__all__ = [
    "LexicalSide",
    "TextEvidence",
    "absolute_evidence",
    "coverage",
    "coverage_weights",
    "evidence_masses",
    "joined_fields",
]

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
        previous: That of the generation before.
        origin: See `ScoringRetriever.origin`; needed with `previous`.

    Attributes:
        bm25: As given.
        body_share: Share of the skills that have a body, 0 to 1.
    """

    def __init__(
        self,
        bm25: Bm25Retriever,
        previous: LexicalSide | None = None,
        origin: Positions | None = None,
    ) -> None:
        self.bm25 = bm25
        self.body_share = _body_share(bm25.body.field)
        self._document: TermIndex | None = None
        if self.body_share:
            field = self._joined(previous, origin)
            self._document = TermIndex(field, bm25.settings.k1, bm25.settings.b)

    def read(self, text: str) -> TextEvidence:
        """`text` against every skill."""
        view = self.bm25.view(text)
        mass = evidence_masses(self.bm25.head, view.head_query)
        evidence = absolute_evidence(mass, view.head, len(self.bm25.skills))
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

    def _joined(self, previous: LexicalSide | None, origin: Positions | None) -> FieldTerms:
        head, body = self.bm25.head.field, self.bm25.body.field
        if previous is None or previous._document is None:
            return joined_fields(head, body)
        field = previous._document.field
        if field.vocabulary is not head.vocabulary or field.is_worn:
            return joined_fields(head, body)
        return joined_fields(head, body, field, origin)

    @cached_property
    def _generic(self) -> npt.NDArray[np.bool_]:
        frequency = self.bm25.head.field.frequency
        generic = np.zeros(len(frequency), dtype=np.bool_)
        alive = np.flatnonzero(frequency)
        generic[alive] = generic_terms(frequency[alive], len(self.bm25.skills))
        return generic


def _body_share(bodies: FieldTerms) -> float:
    empty = match_keys(bodies.keys, content_keys(ANALYZER.fingerprint, [""]))
    return 1.0 - np.count_nonzero(bodies.slots == empty[0]) / bodies.documents


def evidence_masses(index: TermIndex, query: TermQuery) -> Floats:
    """Evidence mass of every document: the sum of `TermIndex.evidence` over shared terms.

    In units of one term that occurs nowhere else.
    """
    return index.sums(query, index.evidence)


def coverage(index: TermIndex, query: TermQuery, generic: npt.NDArray[np.bool_]) -> Floats:
    """Share of the query's weight that each document covers, 0 to 1 (SkillSight).

    ``sum over shared terms of w / sum over the query's terms of w`` with ``w = idf * (1 - df /
    N)``; generic terms, and those the index does not know, are left out.

    Args:
        index: The documents.
        query: The query.
        generic: Which of the index's terms are generic.
    """
    weights = coverage_weights(index.field.frequency, index.documents, generic)
    whole = float(weights[query.columns].sum())
    return index.sums(query, weights) / whole if whole > 0.0 else np.zeros(index.documents)


def coverage_weights(
    document_frequency: npt.NDArray[np.int64], documents: int, generic: npt.NDArray[np.bool_]
) -> Floats:
    """What each term counts in `coverage`."""
    rare = 1.0 - document_frequency / documents
    return np.where(generic, 0.0, smooth_idf(document_frequency, documents) * rare)


def absolute_evidence(mass: Floats, head: Floats, documents: int) -> Floats:
    """See `TextEvidence.evidence`.

    Args:
        mass: Evidence mass of each head.
        head: BM25 of each head.
        documents: Skills of the whole library.
    """
    return np.sqrt(mass * head / SmoothedBM25.idf_of(documents, 1))


def joined_fields(
    first: FieldTerms,
    second: FieldTerms,
    previous: FieldTerms | None = None,
    origin: Positions | None = None,
) -> FieldTerms:
    """Terms of documents that have two texts, as if each pair were one text.

    Args:
        first: One text of each document.
        second: The other; in the numbers of the same vocabulary.
        previous: The joined field of the generation before, in the same numbers.
        origin: See `follow_terms`; None for no document of the generation before.
    """
    if origin is None:
        origin = np.full(first.documents, -1, dtype=np.int64)
    new = np.flatnonzero(origin < 0)
    one, other = first.slots[new], second.slots[new]
    pairs = zip(first.keys[one], second.keys[other], strict=True)
    keys = keys_of([hashlib.sha256(a.tobytes() + b.tobytes()).digest() for a, b in pairs])
    return follow_terms(
        previous,
        origin,
        keys,
        lambda wanted: first.rows(one[wanted]).plus(second.rows(other[wanted])),
        first.vocabulary,
    )
