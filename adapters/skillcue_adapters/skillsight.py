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

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skillcue_adapters.analyzer import ANALYZER
from skillcue_adapters.bm25 import Bm25Retriever
from skillcue_adapters.calibration import CalibratedField, CalibratedIndex
from skillcue_adapters.document_vectors import DocumentVectors, open_vectors
from skillcue_adapters.index.vectors import Located, Rows
from skillcue_adapters.lexical import LexicalSide
from skillcue_adapters.names import NameIndex
from skillcue_adapters.normalization import spread
from skillcue_adapters.scoring import Scored
from skillcue_adapters.semantic_index import SemanticIndex
from skillcue_adapters.semantic_retriever import SemanticRetriever
from skillcue_adapters.settings import read_settings
from skillcue_adapters.similarity import dots
from skillcue_adapters.skillsight_scoring import SkillSightScoring, SkillSightSettings, Words
from skillcue_adapters.stages import bm25_stage, semantic_inputs
from skillcue_adapters.text_plan import TextPlan
from skillcue_hooks.contracts import Library, Query, RetrieverContext
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.protocols import Encoder, Retriever

__all__ = ["SkillSightRetriever", "SkillSightSettings", "build"]

VERSION = 3
"""Part of the fingerprint; raised whenever the same settings give other scores."""

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


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
        self._scoring = SkillSightScoring(settings, encoder, self.query_vector)
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
        if self._names is None:
            raise LookupError("names are indexed with the vectors")
        return self._scoring.score(_WholeLibrary(index, self._lexical, self._names), query)


@dataclass(frozen=True, slots=True)
class _WholeLibrary:
    """Every skill of a library in memory; see `skillcue_adapters.skillsight_scoring.Ground`."""

    index: CalibratedIndex
    lexical: LexicalSide
    names: NameIndex

    @property
    def body_share(self) -> float:
        return self.lexical.body_share

    @property
    def background(self) -> int:
        return len(self.index.basis)

    def words(self, text: str) -> Words:
        found = self.lexical.read(text)
        view = found.view
        return Words(
            view.text,
            view.matched,
            found.evidence,
            found.document,
            lambda: self.lexical.damped(view),
            lambda: self.lexical.covered(view),
            lambda position: self.lexical.bm25.field_signals(view, position),
        )

    def called(self, text: str) -> Mask:
        return self.names.called(ANALYZER.terms(text))

    def calibrated(self, vectors: Rows) -> Rows:
        return self.index.calibrated(vectors)

    def similarities(self, calibrated: Rows) -> tuple[CalibratedField, CalibratedField | None]:
        return self.index.similarities(calibrated)

    def spread(self, values: Floats) -> tuple[float, float]:
        return spread(values)

    def z_with_sentences(
        self, scored: CalibratedField, skills: Positions, vectors: Rows, weight: float
    ) -> Floats:
        return self.index.z_with_sentences(scored, skills, vectors, weight)

    def cosine(self, position: int, vector: Rows) -> float:
        rows = self.index.semantic.head.rows[position : position + 1]
        return float(dots(self.index.semantic.vectors(rows), vector)[0])


def build(library: Library, context: RetrieverContext) -> Retriever:
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
    if library.index is not None:
        from skillcue_adapters.indexed.skillsight import build as build_indexed

        return build_indexed(library, context)
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
