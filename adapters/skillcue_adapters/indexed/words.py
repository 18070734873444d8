"""The lexical side of a query over a panel: what a text says about its rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skillcue_adapters.bm25 import Bm25Settings, combined_fields
from skillcue_adapters.indexed.facts import IndexFacts
from skillcue_adapters.indexed.occurrences import Occurrences
from skillcue_adapters.indexed.panel import Panel
from skillcue_adapters.lazy import cached_property
from skillcue_adapters.lexical import absolute_evidence, coverage_weights
from skillcue_adapters.term_index import (
    GENERIC_WEIGHT,
    bm25_idf,
    evidence_weights,
    generic_terms,
    length_norms,
)

__all__ = ["PanelWords", "QueryTerms"]

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class QueryTerms:
    """The terms of one text that occur anywhere, in order, with their frequencies.

    Args:
        text: What was analysed.
        terms: Its terms and what each counts; see `skillcue_adapters.bm25.query_terms`.
        facts: About all skills.

    Attributes:
        text: As given.
        numbers: Number of each term, ascending by term.
        weights: What each counts.
        in_heads: Heads that each occurs in.
        in_bodies: Bodies, likewise.
        in_either: Skills, likewise.
    """

    def __init__(self, text: str, terms: Mapping[str, float], facts: IndexFacts) -> None:
        self.text = text
        found = {t: f for t, f in facts.frequencies(sorted(terms)).items() if f.either}
        self.numbers = {term: number for number, term in enumerate(found)}
        self.weights: Floats = np.array([terms[term] for term in found], dtype=np.float64)
        self._documents = facts.statistics.skills
        self.in_heads = self._frequencies(f.head for f in found.values())
        self.in_bodies = self._frequencies(f.body for f in found.values())
        self.in_either = self._frequencies(f.either for f in found.values())

    def weighted(self, settings: Bm25Settings) -> tuple[dict[str, float], dict[str, float]]:
        """What each term is worth in a head and in a body; see `View.head`."""
        return (
            self._worth(self.in_heads, settings.head_weight),
            self._worth(self.in_bodies, settings.body_weight),
        )

    def _frequencies(self, found: Iterable[int]) -> Positions:
        # They may have been counted a moment later than the skills.
        return np.minimum(np.array([*found], dtype=np.int64), self._documents)

    def _worth(self, frequency: Positions, weight: float) -> dict[str, float]:
        if not weight:
            return {}
        worth = weight * self.weights * bm25_idf(frequency, self._documents)
        return {t: float(worth[n]) for t, n in self.numbers.items() if frequency[n]}


@dataclass(frozen=True)
class PanelWords:
    """One text against the rows of a panel.

    Attributes:
        panel: The rows.
        query: The text.
        settings: Of mode ``bm25``.
    """

    panel: Panel
    query: QueryTerms
    settings: Bm25Settings

    @cached_property
    def head(self) -> Floats:
        """BM25 of each head."""
        idf = bm25_idf(self.query.in_heads, self._documents)
        return self._bm25(self._heads, idf, self.query.weights, self._head_norms)

    @cached_property
    def body(self) -> Floats:
        """BM25 of each body."""
        terms = self.panel.facts.statistics.body_terms
        norms = self._norms(self.panel.body_lengths, terms)
        idf = bm25_idf(self.query.in_bodies, self._documents)
        return self._bm25(self._bodies, idf, self.query.weights, norms)

    @cached_property
    def document(self) -> Floats | None:
        """BM25 of head and body as one text; None where no skill has a body."""
        statistics = self.panel.facts.statistics
        if not statistics.bodies:
            return None
        terms = statistics.head_terms + statistics.body_terms
        norms = self._norms(self.panel.head_lengths + self.panel.body_lengths, terms)
        idf = bm25_idf(self.query.in_either, self._documents)
        return self._bm25(self._heads.plus(self._bodies), idf, self.query.weights, norms)

    @property
    def total(self) -> Floats:
        """Weighted sum of head and body."""
        return self._combined[0]

    @property
    def matched(self) -> Mask:
        """Which skills share a term with the text."""
        return self._combined[1]

    @cached_property
    def evidence(self) -> Floats:
        """See `skillcue_adapters.lexical.TextEvidence.evidence`."""
        mass = self._heads.sums(self._head_evidence)
        return absolute_evidence(mass, self.head, self._documents)

    def damped(self) -> Floats:
        """See `skillcue_adapters.lexical.LexicalSide.damped`."""
        weights = np.where(
            self._generic_heads, self.query.weights * GENERIC_WEIGHT, self.query.weights
        )
        idf = bm25_idf(self.query.in_heads, self._documents)
        return self._bm25(self._heads, idf, weights, self._head_norms)

    def covered(self) -> Floats:
        """See `skillcue_adapters.lexical.coverage`."""
        weights = coverage_weights(self.query.in_heads, self._documents, self._generic_heads)
        whole = float(weights[self.query.in_heads > 0].sum())
        return self._heads.sums(weights) / whole if whole > 0.0 else np.zeros(self.panel.size)

    def signals(self, row: int) -> dict[str, float]:
        """See `skillcue_adapters.bm25.Bm25Retriever.field_signals`."""
        shared = self._heads.terms_of(row)
        in_body = self._bodies.terms_of(row)
        return {
            "head": float(self.head[row]),
            "body": float(self.body[row]),
            "evidence": float(sum(self._head_evidence[shared].tolist())),
            "evidence_body": float(sum(self._body_evidence[in_body].tolist())),
            "matched": float(len(shared)),
        }

    @cached_property
    def _heads(self) -> Occurrences:
        return self.panel.head(self.query.numbers)

    @cached_property
    def _bodies(self) -> Occurrences:
        return self.panel.body(self.query.numbers)

    @cached_property
    def _combined(self) -> tuple[Floats, Mask]:
        in_head, in_body = self._heads.matched(), self._bodies.matched()
        return combined_fields(self.settings, self.head, in_head, self.body, in_body)

    @cached_property
    def _head_norms(self) -> Floats:
        return self._norms(self.panel.head_lengths, self.panel.facts.statistics.head_terms)

    @cached_property
    def _head_evidence(self) -> Floats:
        threshold = self.panel.facts.thresholds[0]
        return evidence_weights(self.query.in_heads, self._documents, threshold)

    @cached_property
    def _body_evidence(self) -> Floats:
        threshold = self.panel.facts.thresholds[1]
        return evidence_weights(self.query.in_bodies, self._documents, threshold)

    @cached_property
    def _generic_heads(self) -> Mask:
        threshold = self.panel.facts.thresholds[0]
        return generic_terms(self.query.in_heads, self._documents, threshold)

    @property
    def _documents(self) -> int:
        return self.panel.facts.statistics.skills

    def _norms(self, lengths: Positions, terms: int) -> Floats:
        settings = self.settings
        return length_norms(lengths, terms / self._documents, settings.k1, settings.b)

    def _bm25(self, found: Occurrences, idf: Floats, weights: Floats, norms: Floats) -> Floats:
        return found.scores(idf, weights, norms, self.settings.k1)
