"""Mode ``skillsight``: calibrated similarity and absolute lexical evidence, without training.

::

    score = semantic_weight * z(similarity of the head)
          + evidence_weight * log(1 + max(0, evidence of the head - 0.5))
          + name_weight     * (1 where the text holds the skill's name, else 0)
          + document_weight * z(BM25 of head and body as one text)
          + chunk_weight    * z(similarity of the best chunk of the body)    with bodies="all"

and `context_weight` times the same for the context. z is taken over the whole library.

- The similarity is that of SkillSight (https://arxiv.org/abs/2607.18785): the background that
  all descriptions share is taken out, as far as the library shows one (`rank`). A part of the
  hubness of a skill goes as well; see `skillcue_adapters.background`.
- A long text is also looked at sentence by sentence: a task mentions in one of its twenty
  sentences what a skill is for. The best sentence is added to the similarity of the whole.
- Lexical evidence is absolute, not relative to other candidates; see
  `skillcue_adapters.fusion.evidence_gain` and `skillcue_adapters.lexical.TextEvidence`.
- A skill that the text calls by its name gains the same whatever the name; see
  `skillcue_adapters.names`.
- Without bodies the evidence of the head has to do more: `bodyless_evidence_weight`. Where some
  skills have bodies the weights lie between.
- In libraries of fewer than 30 skills nothing is known about the background: no direction is
  removed, no hubness, and no term is generic. The signal ``background`` is 0 then.

Two other fusions of heads alone can be chosen: ``minmax``, a blend of min-max normalised scores
among candidates, and ``published``, that of the paper.

Rankings depend on library, settings and encoder alone, never on generations before: all
statistics are those of the present library. Vectors, term counts and hubness of unchanged skills
are taken over, which gives the same bits as computing them. As in mode ``dense``, every skill
matches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skillcue_adapters.analyzer import ANALYZER
from skillcue_adapters.bm25 import Bm25Retriever
from skillcue_adapters.calibration import CalibratedField, CalibratedIndex
from skillcue_adapters.document_vectors import DocumentVectors, open_vectors
from skillcue_adapters.fusion import best_positions, blend, evidence_gain, published_fusion
from skillcue_adapters.index.vectors import Located, Rows
from skillcue_adapters.lexical import LexicalSide, TextEvidence
from skillcue_adapters.names import NameIndex
from skillcue_adapters.normalization import spread, z_scores
from skillcue_adapters.passages import sentences
from skillcue_adapters.scoring import Scored, says_something
from skillcue_adapters.semantic_index import SemanticIndex
from skillcue_adapters.semantic_retriever import SemanticRetriever, SemanticSettings
from skillcue_adapters.settings import choice, number, read_settings
from skillcue_adapters.similarity import dots
from skillcue_adapters.stages import bm25_stage, semantic_inputs
from skillcue_adapters.text_plan import TextPlan
from skillcue_hooks.contracts import Library, Query, RetrieverContext
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.protocols import Encoder

__all__ = ["SkillSightRetriever", "SkillSightSettings", "build"]

VERSION = 3
"""Part of the fingerprint; raised whenever the same settings give other scores."""

STATIC_SHARE = 0.5
"""What is left of `semantic_weight` for averaged token vectors, which mostly repeat what the
lexical side knows."""

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class SkillSightSettings(SemanticSettings):
    """Settings of mode ``skillsight``, besides those of `SemanticSettings`.

    Attributes:
        fusion: ``evidence``, ``minmax`` or ``published``.
        rank: Directions of the background; -1 takes as many as the library shows, at most 4.
        hub_weight: Share of a skill's hubness that is subtracted, 0 to 10.
        semantic_weight: Weight of the head's similarity, 0 to 100; encoder ``static`` has half.
        evidence_weight: Weight of the head's evidence, 0 to 100.
        bodyless_evidence_weight: The same where no skill has a body.
        name_weight: What a skill gains whose name the text holds, 0 to 100.
        document_weight: Weight of head and body as one text, 0 to 100.
        chunk_weight: Weight of the best chunk's similarity, 0 to 100.
        sentence_weight: Weight of the best sentence's similarity beside the whole text's, 0 to
            100.
        long_chars: Texts of so many characters or more are looked at by sentences.
        most_sentences: Sentences of a text that are encoded, from both ends.
        sentence_candidates: Skills that are compared with the sentences.
        alpha: Share of similarity in fusion ``minmax``, 0 to 1.
        fusion_depth: Candidates of each list in fusion ``minmax``; ``published`` takes three
            times as many of the semantic list.
    """

    fusion: str = choice("evidence", "minmax", "published")
    rank: int = number(-1, -1, 64)
    hub_weight: float = number(0.3, 0.0, 10.0)
    semantic_weight: float = number(1.0, 0.0, 100.0)
    evidence_weight: float = number(2.0, 0.0, 100.0)
    bodyless_evidence_weight: float = number(3.0, 0.0, 100.0)
    name_weight: float = number(1.5, 0.0, 100.0)
    document_weight: float = number(0.75, 0.0, 100.0)
    chunk_weight: float = number(1.0, 0.0, 100.0)
    sentence_weight: float = number(1.0, 0.0, 100.0)
    long_chars: int = number(300, 1, 10_000_000)
    most_sentences: int = number(16, 1, 1000)
    sentence_candidates: int = number(300, 1, 1_000_000)
    alpha: float = number(0.5, 0.0, 1.0)
    fusion_depth: int = number(100, 1, 1_000_000)


@dataclass(frozen=True, slots=True)
class _Reading:
    """One text against every skill.

    Attributes:
        vector: Of the text, not calibrated.
        words: What its words say.
        called: Which skills it calls by name.
        head: Calibrated similarity of the heads.
        z_head: z of that, with sentences.
        z_chunk: z of the best chunk's similarity, with sentences.
        z_document: z of `TextEvidence.document`.
        total: The score.
    """

    vector: Rows
    words: TextEvidence
    called: Mask
    head: CalibratedField
    z_head: Floats
    z_chunk: Floats | None
    z_document: Floats | None
    total: Floats


class SkillSightRetriever(SemanticRetriever[CalibratedIndex]):
    """See the module.

    Hits carry these signals, about the text alone, never about the context:

    head, body, evidence, evidence_body, matched
        As in mode ``bm25``.
    semantic
        Cosine of the head, -1 to 1.
    calibrated
        The same without background and hubness.
    z_head
        z of that, with the best sentence where the text is long.
    gain
        What the evidence of the head is worth, before its weight.
    called
        1.0 where the text holds the skill's name, else 0.0.
    document, z_document
        BM25 of head and body as one text, and its z; only where a skill has a body.
    z_chunk
        z of the best chunk's similarity; only with ``bodies="all"``.
    background
        Directions that were taken out.
    total
        The score without the context.
    z
        Standard deviations of that above its mean over the whole library.

    Args:
        library: What is indexed.
        encoder: Gives the vectors.
        settings: Settings of the mode.
        previous: The retriever of the generation before.
        vectors: Where vectors are looked up and put.
        bm25: Over the same library: analysis and indexes of head and body; it answers while
            vectors are missing.
        mode: Name it is registered under.
    """

    def __init__(
        self,
        library: Library,
        encoder: Encoder,
        settings: SkillSightSettings,
        previous: SkillSightRetriever | None,
        vectors: DocumentVectors,
        bm25: Bm25Retriever,
        mode: str = "skillsight",
    ) -> None:
        self.settings = settings
        self._bm25 = bm25
        self._semantic_weight = settings.semantic_weight * _reliability(encoder)
        # Only while building: it would keep all generations in memory.
        self._before = None if previous is None else (previous.fingerprint, previous.index)
        self._names: NameIndex | None = None if previous is None else previous._names
        kind = ("skillsight", VERSION, bm25.fingerprint)
        super().__init__(kind, library, encoder, settings, previous, vectors, lambda: bm25, mode)
        if library.skills:
            before = previous._lexical if previous is not None and previous.skills else None
            self._lexical: LexicalSide = LexicalSide(bm25, before, self.origin)

    def _index(self, plan: TextPlan, located: Located) -> CalibratedIndex:
        before, self._before = self._before, None
        previous = before[1] if before is not None and before[0] == self.fingerprint else None
        self._names = NameIndex(self.skills, self._names, self.origin)
        rank = None if self.settings.rank < 0 else self.settings.rank
        counts = self._bm25.head.counts_of
        return CalibratedIndex(plan, located, counts, rank, self.settings.hub_weight, previous)

    def _vectors_of(self, index: CalibratedIndex) -> SemanticIndex:
        return index.semantic

    def _score(self, index: CalibratedIndex, query: Query) -> Scored:
        own = self._read(index, query.text)
        scores = own.total
        if self.settings.context_weight and says_something(query.context):
            context = self._read(index, query.context)
            scores = scores + self.settings.context_weight * context.total
        mean, deviation = spread(own.total)

        def signals(position: int) -> Mapping[str, float]:
            total = float(own.total[position])
            z = (total - mean) / deviation if deviation > 0.0 else 0.0
            return {**self._signals(index, own, position), "total": total, "z": z}

        everything = np.ones(len(scores), dtype=np.bool_)
        return Scored(scores, everything if own.vector.any() else own.words.view.matched, signals)

    def _read(self, index: CalibratedIndex, text: str) -> _Reading:
        vector = self.query_vector(text)
        words = self._lexical.read(text)
        called = self._called(words.view.text)
        head, chunk = index.similarities(index.calibrated(vector[None, :])[0])
        z_head = z_scores(head.similarity)
        z_chunk = None if chunk is None else z_scores(chunk.similarity)
        z_document = None if words.document is None else z_scores(words.document)
        total = self._fuse(words, called, z_head, z_chunk, z_document)
        pieces = self._sentences(index, text)
        if pieces is not None:
            weight = self.settings.sentence_weight
            best = best_positions(self.settings.sentence_candidates, total)
            z_head = index.z_with_sentences(head, best, pieces, weight)
            if chunk is not None:
                z_chunk = index.z_with_sentences(chunk, best, pieces, weight)
            total = self._fuse(words, called, z_head, z_chunk, z_document)
        return _Reading(vector, words, called, head, z_head, z_chunk, z_document, total)

    def _called(self, text: str) -> Mask:
        if self._names is None:
            raise LookupError("names are indexed with the vectors")
        return self._names.called(ANALYZER.terms(text))

    def _sentences(self, index: CalibratedIndex, text: str) -> Rows | None:
        """Calibrated vectors of a long text's sentences."""
        if len(text) < self.settings.long_chars or not self.settings.sentence_weight:
            return None
        pieces = sentences(text, self.settings.most_sentences)
        if not pieces:
            return None
        return index.calibrated(np.array([self.query_vector(piece) for piece in pieces]))

    def _fuse(
        self,
        words: TextEvidence,
        called: Mask,
        head: Floats,
        chunk: Floats | None,
        document: Floats | None,
    ) -> Floats:
        depth = self.settings.fusion_depth
        if self.settings.fusion == "minmax":
            damped = self._lexical.damped(words.view)
            return blend(head, damped, best_positions(depth, head, damped), self.settings.alpha)
        if self.settings.fusion == "published":
            covered = self._lexical.covered(words.view)
            return published_fusion(head, covered, best_positions(3 * depth, head))
        share = self._lexical.body_share
        evidence_weight = (
            share * self.settings.evidence_weight
            + (1.0 - share) * self.settings.bodyless_evidence_weight
        )
        total = self._semantic_weight * head + evidence_weight * evidence_gain(words.evidence)
        total = total + self.settings.name_weight * called
        if document is not None:
            total = total + share * self.settings.document_weight * document
        if chunk is not None:
            total = total + self.settings.chunk_weight * chunk
        return total

    def _signals(
        self, index: CalibratedIndex, reading: _Reading, position: int
    ) -> dict[str, float]:
        words = reading.words
        row = index.semantic.vectors(reading.head.field.rows[position : position + 1])
        found = {
            **self._bm25.field_signals(words.view, position),
            "semantic": float(dots(row, reading.vector)[0]),
            "calibrated": float(reading.head.similarity[position]),
            "z_head": float(reading.z_head[position]),
            "gain": float(evidence_gain(words.evidence[position : position + 1])[0]),
            "called": float(reading.called[position]),
            "background": float(len(index.basis)),
        }
        if words.document is not None and reading.z_document is not None:
            found["document"] = float(words.document[position])
            found["z_document"] = float(reading.z_document[position])
        if reading.z_chunk is not None:
            found["z_chunk"] = float(reading.z_chunk[position])
        return found


def build(library: Library, context: RetrieverContext) -> SkillSightRetriever:
    """Factory of mode ``skillsight``; its lexical side is that of mode ``bm25``.

    Settings are those of `SkillSightSettings`, and ``encoder``: a spec or an object.

    Raises:
        UnknownSettingError: `context.settings` holds another name.
        ConfigurationError: A setting is out of range, the encoder cannot be opened, or the
            vectors are in a store of the user.
        MissingExtraError: The encoder needs a package that is not installed.
    """
    if context.defaults.get("vectors") is not None:
        raise ConfigurationError(
            f"Mode {context.mode!r} needs all vectors at hand, and a vector store keeps them.",
            'Use mode="hybrid" with vectors=, or leave vectors= out.',
        )
    encoder, given = semantic_inputs(context)
    settings = read_settings(SkillSightSettings, given, context.mode, others=("encoder",))
    return SkillSightRetriever(
        library,
        encoder,
        settings,
        context.previous if isinstance(context.previous, SkillSightRetriever) else None,
        open_vectors(encoder, context.cache_dir),
        bm25_stage(library, context),
        context.mode,
    )


def _reliability(encoder: Encoder) -> float:
    from skillcue_adapters.encoders.static import StaticEncoder  # the others need not load it

    return STATIC_SHARE if isinstance(encoder, StaticEncoder) else 1.0
