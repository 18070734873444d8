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
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from skillcue_adapters.analyzer import ANALYZER
from skillcue_adapters.field_terms import FieldTerms, follow_terms
from skillcue_adapters.index.keys import Positions, content_keys
from skillcue_adapters.index.term_files import TermFiles
from skillcue_adapters.normalization import spread
from skillcue_adapters.scoring import Scored, ScoringRetriever
from skillcue_adapters.settings import number, read_settings
from skillcue_adapters.term_index import TermIndex, TermQuery
from skillcue_adapters.terms import TermRows, Vocabulary, analysed
from skillcue_hooks.contracts import Library, Query, RetrieverContext, Skill
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.protocols import Retriever

__all__ = [
    "Bm25Retriever",
    "Bm25Settings",
    "LexicalView",
    "build",
    "build_in_memory",
    "combined_fields",
    "head_text",
    "query_terms",
]

VERSION = 1
"""Part of the fingerprint; raised whenever the same settings give other scores."""

CACHED_TEXTS = 512
"""Up to so many new skills are analysed sooner than found in the cache folder."""

DEAD_TERMS = 65_536
"""So many terms that no longer occur may stay in a vocabulary, or as many as there are others."""

log = logging.getLogger("skillcue.bm25")

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


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
class LexicalView:
    """One text scored against both fields of every skill.

    Attributes:
        text: What was analysed of it.
        terms: Its terms and what each counts, repeats saturated.
        head_query: `terms` in the columns of the head's index.
        body_query: `terms` in the columns of the body's index.
        head: BM25 of each head, 0 or more.
        body: BM25 of each body, 0 or more.
        total: Weighted sum of the two.
        matched: Which skills share a term with the text.
    """

    text: str
    terms: Mapping[str, float]
    head_query: TermQuery
    body_query: TermQuery
    head: Floats
    body: Floats
    total: Floats
    matched: npt.NDArray[np.bool_]


class Bm25Retriever(ScoringRetriever):
    """BM25 over head and body of every skill.

    Args:
        library: What is indexed.
        settings: Settings of the mode.
        previous: The retriever of the generation before; skills that both have are not read again.
        mode: Name it is registered under.
        cache_dir: The user's cache folder: terms of texts are kept there. None keeps none.

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
        skills: The library's, sorted by id: the order of every array.
        head: Index of the heads; the empty library has none.
        body: Index of the bodies; the empty library has none.
    """

    head: TermIndex
    body: TermIndex

    def __init__(
        self,
        library: Library,
        settings: Bm25Settings,
        previous: Bm25Retriever | None = None,
        mode: str = "bm25",
        cache_dir: Path | None = None,
    ) -> None:
        identity = fingerprint("bm25", VERSION, ANALYZER.fingerprint, asdict(settings))
        super().__init__(identity, library, mode, previous=previous)
        self.settings = settings
        if self.skills:
            head, body = self._fields(previous, cache_dir)
            self.head = TermIndex(head, settings.k1, settings.b)
            self.body = TermIndex(body, settings.k1, settings.b)

    def score(self, query: Query) -> Scored:
        """See `ScoringRetriever.score`."""
        view = self.view(query.text)
        scores = view.total
        if query.context and self.settings.context_weight:
            scores = scores + self.settings.context_weight * self.view(query.context).total
        mean, deviation = spread(view.total)

        def signals(position: int) -> Mapping[str, float]:
            total = float(view.total[position])
            z = (total - mean) / deviation if deviation > 0.0 else 0.0
            return {**self.field_signals(view, position), "z": z}

        return Scored(scores, view.matched, signals)

    def view(self, text: str) -> LexicalView:
        """`text` against every skill. The library must not be empty."""
        analysed, terms = query_terms(text, self.settings)
        head_query, body_query = self.head.encode(terms), self.body.encode(terms)
        head, in_head = self.head.scores(head_query)
        body, in_body = self.body.scores(body_query)
        total, matched = combined_fields(self.settings, head, in_head, body, in_body)
        return LexicalView(analysed, terms, head_query, body_query, head, body, total, matched)

    def field_signals(self, view: LexicalView, position: int) -> dict[str, float]:
        """The signals of one skill, all but ``z``."""
        evidence, matched = self.head.evidence_for(view.head_query, position)
        evidence_body, _ = self.body.evidence_for(view.body_query, position)
        return {
            "head": float(view.head[position]),
            "body": float(view.body[position]),
            "evidence": evidence,
            "evidence_body": evidence_body,
            "matched": float(matched),
        }

    def _fields(
        self, previous: Bm25Retriever | None, cache_dir: Path | None
    ) -> tuple[FieldTerms, FieldTerms]:
        """Terms of head and body."""
        old_head, old_body = _reusable(previous)
        new = [self.skills[n] for n in np.flatnonzero(self.origin < 0).tolist()]
        vocabulary = Vocabulary() if old_head is None else old_head.vocabulary
        reader = _Reader(vocabulary, cache_dir if len(new) > CACHED_TEXTS else None)
        return (
            reader.follow(old_head, self.origin, [head_text(skill) for skill in new]),
            reader.follow(old_body, self.origin, [skill.body for skill in new]),
        )


def build(library: Library, context: RetrieverContext) -> Retriever:
    """Factory of mode ``bm25``; skills unchanged since `context.previous` are not read again.

    Raises:
        UnknownSettingError: `context.settings` holds a name that `Bm25Settings` has not.
        ConfigurationError: A setting is out of range.
    """
    if library.index is not None:
        from skillcue_adapters.indexed.bm25 import build as build_indexed

        return build_indexed(library, context)
    return build_in_memory(library, context)


def build_in_memory(library: Library, context: RetrieverContext) -> Bm25Retriever:
    """`build` for a library in memory."""
    settings = read_settings(Bm25Settings, context.settings, context.mode)
    previous = context.previous
    if not isinstance(previous, Bm25Retriever):
        previous = None
    return Bm25Retriever(library, settings, previous, context.mode, context.cache_dir)


def query_terms(text: str, settings: Bm25Settings) -> tuple[str, dict[str, float]]:
    """What of a text is analysed, and its terms and what each counts, repeats saturated."""
    analysed = _within_limit(text, settings.query_limit_chars)
    counts = ANALYZER.counts(analysed)
    return analysed, {term: _saturated(count, settings.k3) for term, count in counts.items()}


def combined_fields(
    settings: Bm25Settings, head: Floats, in_head: Mask, body: Floats, in_body: Mask
) -> tuple[Floats, Mask]:
    """The weighted sum of the two fields, and which skills match.

    Args:
        settings: The weights.
        head: BM25 of each head.
        in_head: Which heads share a term with the text.
        body: BM25 of each body.
        in_body: Which bodies share a term with the text.
    """
    matched = (in_head & (settings.head_weight > 0)) | (in_body & (settings.body_weight > 0))
    return settings.head_weight * head + settings.body_weight * body, matched


def head_text(skill: Skill) -> str:
    """What is indexed as the head of a skill: name, description, tags and search terms."""
    return " ".join([f"{skill.name}: {skill.description}", *skill.tags, *skill.search_terms])


class _Reader:
    """Analyses texts, or finds their terms in the cache folder."""

    def __init__(self, vocabulary: Vocabulary, cache_dir: Path | None) -> None:
        self._vocabulary = vocabulary
        self._files: TermFiles | None = None
        if cache_dir is not None:
            self._files = TermFiles(cache_dir)

    def follow(
        self, previous: FieldTerms | None, origin: Positions, texts: Sequence[str]
    ) -> FieldTerms:
        keys = content_keys(ANALYZER.fingerprint, texts)

        def read(wanted: Positions) -> TermRows:
            if self._files is None:
                return analysed((texts[n] for n in wanted.tolist()), self._vocabulary)
            return self._files.read(keys[wanted], lambda n: texts[wanted[n]], self._vocabulary)

        return follow_terms(previous, origin, keys, read, self._vocabulary)


def _reusable(
    previous: Bm25Retriever | None,
) -> tuple[FieldTerms | None, FieldTerms | None]:
    """The fields of the generation before, without what has gathered in them."""
    if previous is None or not previous.skills:
        return None, None
    head, body = previous.head.field, previous.body.field
    if head.is_worn or body.is_worn or _is_worn(head, body):
        vocabulary = Vocabulary()
        head, body = head.renewed(vocabulary), body.renewed(vocabulary)
    return head, body


def _is_worn(head: FieldTerms, body: FieldTerms) -> bool:
    """Most of the terms no longer occur."""
    alive = np.zeros(len(head.vocabulary), dtype=np.bool_)
    alive[np.flatnonzero(head.frequency)] = True
    alive[np.flatnonzero(body.frequency)] = True
    return len(alive) > 2 * int(np.count_nonzero(alive)) + DEAD_TERMS


def _within_limit(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    log.info("%d of %d characters of the query are analysed", limit, len(text))
    half = limit // 2  # what is asked stands before a long paste or behind it
    return f"{text[:half]} {text[-half:]}"


def _saturated(count: int, k3: float) -> float:
    return (k3 + 1.0) * count / (k3 + count)
