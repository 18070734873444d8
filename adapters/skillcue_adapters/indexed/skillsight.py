"""Mode ``skillsight`` over an index: see `skillcue_adapters.skillsight` for the formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from skillcue_adapters.analyzer import ANALYZER
from skillcue_adapters.calibration import replaced_z
from skillcue_adapters.index.vectors import Rows
from skillcue_adapters.indexed.bm25 import IndexedBm25Retriever
from skillcue_adapters.indexed.calibration import SampleCalibration
from skillcue_adapters.indexed.dense import IndexedSemanticRetriever, heads_only, summed
from skillcue_adapters.indexed.naming import phrases
from skillcue_adapters.indexed.panel import Panel
from skillcue_adapters.indexed.retriever import Asked
from skillcue_adapters.indexed.stages import indexed_bm25
from skillcue_adapters.indexed.words import QueryTerms
from skillcue_adapters.lazy import cached_property
from skillcue_adapters.locks import ForkSafeLock
from skillcue_adapters.scoring import Scored, says_something
from skillcue_adapters.settings import number, read_settings
from skillcue_adapters.similarity import dots, dots_of_many
from skillcue_adapters.skillsight import VERSION
from skillcue_adapters.skillsight_scoring import SkillSightScoring, SkillSightSettings, Words
from skillcue_adapters.stages import semantic_inputs
from skillcue_hooks.contracts import Library, Query, RetrieverContext
from skillcue_hooks.protocols import Encoder
from skillcue_hooks.skill_index import View

__all__ = ["IndexedSkillSightRetriever", "IndexedSkillSightSettings", "build"]

NAME_TERMS = 4
"""Longest name, in terms, that a text is searched for to make its skill a candidate; a text that
holds a longer one shares so many terms with that skill that it is one anyway."""

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class IndexedSkillSightSettings(SkillSightSettings):
    """Settings of mode ``skillsight`` over an index, besides those of `SkillSightSettings`.

    Attributes:
        candidates: Skills that the index gives for each of its lists, by similarity and by words,
            at least: the more, the more certain that none is missed whose strength is the sum.
    """

    candidates: int = number(200, 1, 100_000)


class IndexedSkillSightRetriever(IndexedSemanticRetriever):
    """Calibrated similarity and lexical evidence of the candidates. Signals are those of
    `SkillSightRetriever`.

    Args:
        library: Whose index is asked.
        encoder: Gives the vectors.
        settings: Settings of the mode.
        bm25: Over the same index: how texts are analysed; it answers where a query cannot be
            encoded.
        previous: The retriever of the generation before.
        mode: Name it is registered under.
    """

    def __init__(
        self,
        library: Library,
        encoder: Encoder,
        settings: IndexedSkillSightSettings,
        bm25: IndexedBm25Retriever,
        previous: IndexedSkillSightRetriever | None = None,
        mode: str = "skillsight",
    ) -> None:
        kind = ("skillsight", VERSION, bm25.fingerprint)
        super().__init__(kind, library, encoder, settings, lambda: bm25, mode)
        self.settings = settings
        self._bm25 = bm25
        self._scoring = SkillSightScoring(settings, encoder, self.query_vector)
        self._lock = ForkSafeLock()
        self._calibration: SampleCalibration | None = None
        self._before: SampleCalibration | None = None
        if previous is not None and previous.fingerprint == self.fingerprint:
            self._before = previous._calibration

    @property
    def calibration(self) -> SampleCalibration:
        """What the vectors of the sample have in common."""
        with self._lock:
            if self._calibration is None:
                rank = None if self.settings.rank < 0 else self.settings.rank
                self._calibration = SampleCalibration(
                    self.facts.sample,
                    self.encoder.fingerprint,
                    rank,
                    self.settings.hub_weight,
                    self._before,
                )
                self._before = None  # it would keep all generations in memory
            return self._calibration

    def check(self) -> None:
        """See `IndexedRetriever.check`."""
        super().check()
        if self.facts.statistics.skills:
            self.calibration  # noqa: B018  # made now, so that the first query need not wait

    def _ask(self, query: Query) -> Asked:
        texts = [query.text]
        if self.settings.context_weight and says_something(query.context):
            texts.append(query.context)
        terms = {text: self._bm25.terms(text) for text in texts}
        views = self._views(texts, terms)

        def score(panel: Panel) -> Scored:
            ground = _PanelGround(panel, self._bm25, self.calibration, terms)
            return self._scoring.score(ground, query)

        every = bool(self.query_vector(query.text).any())
        return Asked(views, score, self._depth(), self._bm25.settings.budget, every)

    def _depth(self) -> int:
        settings = self.settings
        needed = {"minmax": settings.fusion_depth, "published": 3 * settings.fusion_depth}
        return max(settings.candidates, needed.get(settings.fusion, 0))

    def _views(self, texts: Sequence[str], terms: Mapping[str, QueryTerms]) -> tuple[View, ...]:
        """The text, and what is nearest to text and context together."""
        vectors = np.array([self.query_vector(text) for text in texts])
        calibrated = self.calibration.calibrated(vectors)
        weight = self.settings.context_weight
        context = terms[texts[1]] if len(texts) > 1 else None
        words = self._bm25.views(terms[texts[0]], context, weight)
        together = [calibrated[0], summed(calibrated, weight)][: len(words)]
        return tuple(
            replace(view, vector=vector, names=_names(terms[text].text))
            for view, vector, text in zip(words, together, texts, strict=True)
        )


@dataclass(frozen=True)
class _Heads:
    """Calibrated similarity of the heads of a panel; see `CalibratedField`."""

    penalty: Floats
    similarity: Floats


@dataclass(frozen=True)
class _PanelGround:
    """The rows of a panel; see `skillcue_adapters.skillsight_scoring.Ground`."""

    panel: Panel
    bm25: IndexedBm25Retriever
    calibration: SampleCalibration
    terms: dict[str, QueryTerms]

    @property
    def body_share(self) -> float:
        return self.panel.facts.body_share

    @property
    def background(self) -> int:
        return len(self.calibration.basis)

    def words(self, text: str) -> Words:
        found = self.bm25.words(self.panel, self.terms[text])
        return Words(
            found.query.text,
            found.matched,
            found.evidence,
            found.document,
            found.damped,
            found.covered,
            found.signals,
        )

    def called(self, text: str) -> Mask:
        said = phrases(ANALYZER.terms(text), self.panel.name_lengths)
        return np.array([name in said for name in self.panel.names], dtype=np.bool_)

    def calibrated(self, vectors: Rows) -> Rows:
        return self.calibration.calibrated(vectors)

    def similarities(self, calibrated: Rows) -> tuple[_Heads, None]:
        similar = self.panel.products(calibrated) - self._penalty
        return _Heads(self._penalty, similar), None

    def spread(self, values: Floats) -> tuple[float, float]:
        return self.panel.spread(values)

    def z_with_sentences(
        self, scored: _Heads, skills: Positions, vectors: Rows, weight: float
    ) -> Floats:
        mean, deviation = self.panel.spread(scored.similarity)
        z = np.zeros(self.panel.size)
        if deviation > 0.0:
            z = (scored.similarity - mean) / deviation
        reference = self.panel.sampled[self.calibration.reference]
        own = self._pooled(scored, skills, vectors, weight)
        return replaced_z(z, skills, own, self._pooled(scored, reference, vectors, weight))

    def cosine(self, position: int, vector: Rows) -> float:
        return float(dots(self.panel.vectors(np.array([position])), vector)[0])

    @cached_property
    def _penalty(self) -> Floats:
        own = self.calibration.penalties(self.panel.candidate_heads, self.panel.candidate_vectors)
        return self.panel.rows(own, self.calibration.sampled_penalties)

    def _pooled(self, scored: _Heads, rows: Positions, vectors: Rows, weight: float) -> Floats:
        best = dots_of_many(self.panel.vectors(rows), vectors).max(axis=1) - scored.penalty[rows]
        return np.asarray(scored.similarity[rows] + weight * best)


def _names(text: str) -> tuple[str, ...]:
    return tuple(sorted(phrases(ANALYZER.terms(text), range(1, NAME_TERMS + 1))))


def build(library: Library, context: RetrieverContext) -> IndexedSkillSightRetriever:
    """Factory of mode ``skillsight`` for a library in an index; settings as in memory.

    Raises:
        UnknownSettingError: `context.settings` holds another name.
        ConfigurationError: A setting is out of range, bodies are to be encoded, or the encoder
            cannot be opened.
        MissingExtraError: The encoder needs a package that is not installed.
    """
    encoder, given = semantic_inputs(context)
    heads_only(given, context.mode)
    settings = read_settings(IndexedSkillSightSettings, given, context.mode, others=("encoder",))
    previous = context.previous
    return IndexedSkillSightRetriever(
        library,
        encoder,
        settings,
        indexed_bm25(library, context),
        previous if isinstance(previous, IndexedSkillSightRetriever) else None,
        context.mode,
    )
