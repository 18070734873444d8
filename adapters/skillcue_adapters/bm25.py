"""Mode ``bm25``: lexical retrieval over two fields, no model, no download.

``score = head_weight * BM25(head) + body_weight * BM25(body) + context_weight * the same for the
context``, where the head is name, description and tags. The fields are indexed and scored apart,
each with its own statistics. Query terms that repeat are worth up to twice a single one, never
more (the k3 component of Okapi BM25, Robertson et al., TREC-3): a task text that says "file" nine
times is not about files.

Only skills that share a term with the query's text match; the context changes their order and
never adds one, so that "thanks!" finds nothing however rich the conversation is. An agent's short
query with its task as context has far more of the right skills among the first five than the
query alone; for turns of a conversation the turns before it change little.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from skillcue_adapters.analyzer import ANALYZER
from skillcue_adapters.selection import SkillMasks, top_k
from skillcue_adapters.settings import number, read_settings
from skillcue_adapters.term_index import TermCounts, TermIndex, TermQuery, count_terms
from skillcue_hooks.contracts import Hit, Library, Query, Ranking, RetrieverContext, Skill
from skillcue_hooks.fingerprint import fingerprint

__all__ = ["Bm25Retriever", "Bm25Settings", "build", "head_text"]

VERSION = 1
"""Part of the fingerprint; raised whenever the same settings give other scores."""

log = logging.getLogger("skillcue.bm25")

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bm25Settings:
    """Settings of mode ``bm25``.

    Attributes:
        k1: Saturation of the term frequency in a skill, 0 to 10.
        b: Length normalisation, 0 (none) to 1 (full).
        k3: Saturation of the term frequency in the query, 0 (repeats do not count) to 1000
            (every repeat counts).
        head_weight: Weight of name, description and tags, 0 to 100.
        body_weight: Weight of the body, 0 to 100.
        context_weight: Weight of `Query.context`, 0 to 10.
        query_limit_chars: Characters of a text and of a context that are analysed: its first and
            its last half of the limit. A cut is logged.
    """

    k1: float = number(1.5, 0.0, 10.0)
    b: float = number(0.75, 0.0, 1.0)
    k3: float = number(1.0, 0.0, 1000.0)
    head_weight: float = number(1.0, 0.0, 100.0)
    body_weight: float = number(1.5, 0.0, 100.0)
    context_weight: float = number(0.25, 0.0, 10.0)
    query_limit_chars: int = number(20_000, 2, 10_000_000)


@dataclass(frozen=True, slots=True)
class _View:
    """One text scored against both fields."""

    head_query: TermQuery
    body_query: TermQuery
    head: Floats
    body: Floats
    total: Floats
    matched: npt.NDArray[np.bool_]


class Bm25Retriever:
    """BM25 over head and body of every skill.

    Hits carry these signals, all of them about the text alone, never about the context:

    head, body
        BM25 of each field, 0 or more, without its weight.
    evidence, evidence_body
        Evidence mass of each field, in units of one term that occurs nowhere else in that field;
        see `skillcue_adapters.term_index.evidence_weights`.
    matched
        Number of distinct query terms in the head.
    z
        Standard deviations of the weighted sum of head and body above its mean over the whole
        library, whatever the filters and the scope hide; 0.0 where all skills score the same. It
        cannot exceed ``sqrt(N - 1)``, so with a handful of skills it says little.

    Attributes:
        mode: Name it is registered under.
        fingerprint: Identity of algorithm, analyzer and settings (hex).
        generation: Of the library it indexes.
    """

    def __init__(
        self,
        library: Library,
        settings: Bm25Settings,
        previous: Bm25Retriever | None = None,
        mode: str = "bm25",
    ) -> None:
        self.mode = mode
        self.fingerprint = fingerprint("bm25", VERSION, ANALYZER.fingerprint, asdict(settings))
        self.generation = library.generation
        self.settings = settings
        # Sums over the library and ties must not depend on the order skills arrive in.
        self.skills = tuple(sorted(library.skills, key=lambda skill: skill.id))
        self._ranking_fingerprint = fingerprint(self.fingerprint, self.generation)
        self._masks = SkillMasks(self.skills)
        if self.skills:
            old_head, old_body = _reusable(previous)
            self._head = self._index([head_text(skill) for skill in self.skills], old_head)
            self._body = self._index([skill.body for skill in self.skills], old_body)

    def search(self, query: Query) -> Ranking:
        """Rank the library for `query`; see `skillcue_hooks.protocols.Retriever`.

        Raises:
            ConfigurationError: A filter names a field that cannot be filtered by.
        """
        started = time.perf_counter()
        allowed = self._masks.of(query)
        if not self.skills:
            return Ranking((), self.mode, self._ranking_fingerprint, time.perf_counter() - started)
        view = self._view(query.text)
        scores = view.total
        if query.context and self.settings.context_weight:
            scores = scores + self.settings.context_weight * self._view(query.context).total
        matched = view.matched if allowed is None else view.matched & allowed
        best = top_k(scores, matched, query.offset + query.k)[query.offset :]
        hits = self._hits(best, scores, view, query.offset)
        total = int(np.count_nonzero(matched))
        elapsed = time.perf_counter() - started
        return Ranking(hits, self.mode, self._ranking_fingerprint, elapsed, total=total)

    def _index(self, texts: list[str], previous: TermCounts | None) -> TermIndex:
        return TermIndex(count_terms(texts, previous), self.settings.k1, self.settings.b)

    def _view(self, text: str) -> _View:
        terms = {
            term: _saturated(count, self.settings.k3)
            for term, count in ANALYZER.counts(self._within_limit(text)).items()
        }
        head_query, body_query = self._head.encode(terms), self._body.encode(terms)
        head, in_head = self._head.scores(head_query)
        body, in_body = self._body.scores(body_query)
        total = self.settings.head_weight * head + self.settings.body_weight * body
        matched = (in_head & (self.settings.head_weight > 0)) | (
            in_body & (self.settings.body_weight > 0)
        )
        return _View(head_query, body_query, head, body, total, matched)

    def _within_limit(self, text: str) -> str:
        limit = self.settings.query_limit_chars
        if len(text) <= limit:
            return text
        log.info("%d of %d characters of the query are analysed", limit, len(text))
        half = limit // 2  # what is asked stands before a long paste or behind it
        return f"{text[:half]} {text[-half:]}"

    def _hits(
        self, best: npt.NDArray[np.int64], scores: Floats, view: _View, offset: int
    ) -> tuple[Hit, ...]:
        mean, deviation = float(view.total.mean()), float(view.total.std())
        if view.total.min() == view.total.max():  # the mean of equal numbers is rounded
            deviation = 0.0
        return tuple(
            Hit(
                self.skills[position],
                float(scores[position]),
                rank,
                self._signals(position, view, mean, deviation),
            )
            for rank, position in enumerate(best.tolist(), start=offset + 1)
        )

    def _signals(
        self, position: int, view: _View, mean: float, deviation: float
    ) -> Mapping[str, float]:
        evidence, matched = self._head.evidence_for(view.head_query, position)
        evidence_body, _ = self._body.evidence_for(view.body_query, position)
        total = float(view.total[position])
        return {
            "head": float(view.head[position]),
            "body": float(view.body[position]),
            "evidence": evidence,
            "evidence_body": evidence_body,
            "matched": float(matched),
            "z": (total - mean) / deviation if deviation > 0.0 else 0.0,
        }


def build(library: Library, context: RetrieverContext) -> Bm25Retriever:
    """Factory of mode ``bm25``; skills unchanged since `context.previous` are not read again.

    Raises:
        UnknownSettingError: `context.settings` holds a name that `Bm25Settings` has not.
        ConfigurationError: A setting is out of range.
    """
    settings = read_settings(Bm25Settings, context.settings, context.mode)
    previous = context.previous
    if not isinstance(previous, Bm25Retriever):
        previous = None
    return Bm25Retriever(library, settings, previous, context.mode)


def head_text(skill: Skill) -> str:
    """What is indexed as the head of a skill: name, description and tags."""
    return " ".join([f"{skill.name}: {skill.description}", *skill.tags])


def _reusable(previous: Bm25Retriever | None) -> tuple[TermCounts | None, TermCounts | None]:
    if previous is None or not previous.skills:
        return None, None
    return previous._head.counts, previous._body.counts


def _saturated(count: int, k3: float) -> float:
    return (k3 + 1.0) * count / (k3 + count)
