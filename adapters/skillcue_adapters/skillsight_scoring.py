"""The formula of mode ``skillsight`` (see `skillcue_adapters.skillsight`) over any ground: every
skill of a library in memory, or candidates and a sample of one that is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from skillcue_adapters.fusion import best_positions, blend, evidence_gain, published_fusion
from skillcue_adapters.index.vectors import Rows
from skillcue_adapters.passages import sentences
from skillcue_adapters.scoring import Scored, says_something
from skillcue_adapters.semantic_retriever import SemanticSettings
from skillcue_adapters.settings import choice, number
from skillcue_hooks.contracts import Query
from skillcue_hooks.protocols import Encoder

__all__ = ["Ground", "Similar", "SkillSightScoring", "SkillSightSettings", "Words"]

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
class Words:
    """What the words of one text say about every skill of a ground.

    Attributes:
        text: What was analysed of it.
        matched: Which skills share a term with it.
        evidence: See `skillcue_adapters.lexical.TextEvidence`.
        document: Likewise.
        damped: BM25 of each head, generic terms counting half.
        covered: See `skillcue_adapters.lexical.coverage`.
        signals: Those of mode ``bm25`` by position, all but ``z``.
    """

    text: str
    matched: Mask
    evidence: Floats
    document: Floats | None
    damped: Callable[[], Floats]
    covered: Callable[[], Floats]
    signals: Callable[[int], dict[str, float]]


class Similar(Protocol):
    """Similarity of one text to one field of every skill, calibrated."""

    @property
    def similarity(self) -> Floats: ...


class Ground(Protocol):
    """Some skills that are scored together, in one order."""

    @property
    def body_share(self) -> float:
        """Share of the library's skills that have a body, 0 to 1."""
        ...

    @property
    def background(self) -> int:
        """Directions that are taken out."""
        ...

    def words(self, text: str) -> Words:
        """What the words of `text` say."""
        ...

    def called(self, text: str) -> Mask:
        """Which skills `text` calls by name."""
        ...

    def calibrated(self, vectors: Rows) -> Rows:
        """Vectors of texts without the background, one a row."""
        ...

    def similarities(self, calibrated: Rows) -> tuple[Similar, Similar | None]:
        """Similarity of a calibrated vector to the heads, and to the best chunks of bodies."""
        ...

    def spread(self, values: Floats) -> tuple[float, float]:
        """Mean and standard deviation over the whole library of one number a skill."""
        ...

    def z_with_sentences(
        self, scored: Any, skills: Positions, vectors: Rows, weight: float
    ) -> Floats:
        """z of `scored`, one that `similarities` gave, in which `skills` also count by their best
        sentence; see `skillcue_adapters.calibration`.
        """
        ...

    def cosine(self, position: int, vector: Rows) -> float:
        """Of the head of one skill."""
        ...


@dataclass(frozen=True, slots=True)
class _Reading:
    """One text against every skill.

    Attributes:
        vector: Of the text, not calibrated.
        words: What its words say.
        called: Which skills it calls by name.
        calibrated: Calibrated similarity of the heads.
        z_head: z of that, with sentences.
        z_chunk: z of the best chunk's similarity, with sentences.
        z_document: z of `Words.document`.
        total: The score.
    """

    vector: Rows
    words: Words
    called: Mask
    calibrated: Floats
    z_head: Floats
    z_chunk: Floats | None
    z_document: Floats | None
    total: Floats


class SkillSightScoring:
    """Scores queries on grounds.

    Args:
        settings: Settings of the mode.
        encoder: Of the vectors; what similarity is worth depends on it.
        query_vector: Gives the vector of a text.
    """

    def __init__(
        self, settings: SkillSightSettings, encoder: Encoder, query_vector: Callable[[str], Rows]
    ) -> None:
        self.settings = settings
        self._semantic_weight = settings.semantic_weight * _reliability(encoder)
        self._query_vector = query_vector

    def score(self, ground: Ground, query: Query) -> Scored:
        """See `ScoringRetriever.score`.

        Raises:
            QueryNotEncodedError: The encoder failed.
        """
        own = self._read(ground, query.text)
        scores = own.total
        if self.settings.context_weight and says_something(query.context):
            context = self._read(ground, query.context)
            scores = scores + self.settings.context_weight * context.total
        mean, deviation = ground.spread(own.total)

        def signals(position: int) -> Mapping[str, float]:
            total = float(own.total[position])
            z = (total - mean) / deviation if deviation > 0.0 else 0.0
            return {**_signals(ground, own, position), "total": total, "z": z}

        everything = np.ones(len(scores), dtype=np.bool_)
        return Scored(scores, everything if own.vector.any() else own.words.matched, signals)

    def _read(self, ground: Ground, text: str) -> _Reading:
        vector = self._query_vector(text)
        words = ground.words(text)
        called = ground.called(words.text)
        head, chunk = ground.similarities(ground.calibrated(vector[None, :])[0])
        z_head = _z_scores(ground, head.similarity)
        z_chunk = None if chunk is None else _z_scores(ground, chunk.similarity)
        z_document = None if words.document is None else _z_scores(ground, words.document)
        total = self._fuse(ground, words, called, z_head, z_chunk, z_document)
        pieces = self._sentences(ground, text)
        if pieces is not None:
            weight = self.settings.sentence_weight
            best = best_positions(self.settings.sentence_candidates, total)
            z_head = ground.z_with_sentences(head, best, pieces, weight)
            if chunk is not None:
                z_chunk = ground.z_with_sentences(chunk, best, pieces, weight)
            total = self._fuse(ground, words, called, z_head, z_chunk, z_document)
        similarity = head.similarity
        return _Reading(vector, words, called, similarity, z_head, z_chunk, z_document, total)

    def _sentences(self, ground: Ground, text: str) -> Rows | None:
        """Calibrated vectors of a long text's sentences."""
        if len(text) < self.settings.long_chars or not self.settings.sentence_weight:
            return None
        pieces = sentences(text, self.settings.most_sentences)
        if not pieces:
            return None
        return ground.calibrated(np.array([self._query_vector(piece) for piece in pieces]))

    def _fuse(
        self,
        ground: Ground,
        words: Words,
        called: Mask,
        head: Floats,
        chunk: Floats | None,
        document: Floats | None,
    ) -> Floats:
        depth = self.settings.fusion_depth
        if self.settings.fusion == "minmax":
            damped = words.damped()
            return blend(head, damped, best_positions(depth, head, damped), self.settings.alpha)
        if self.settings.fusion == "published":
            return published_fusion(head, words.covered(), best_positions(3 * depth, head))
        share = ground.body_share
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


def _signals(ground: Ground, reading: _Reading, position: int) -> dict[str, float]:
    words = reading.words
    found = {
        **words.signals(position),
        "semantic": ground.cosine(position, reading.vector),
        "calibrated": float(reading.calibrated[position]),
        "z_head": float(reading.z_head[position]),
        "gain": float(evidence_gain(words.evidence[position : position + 1])[0]),
        "called": float(reading.called[position]),
        "background": float(ground.background),
    }
    if words.document is not None and reading.z_document is not None:
        found["document"] = float(words.document[position])
        found["z_document"] = float(reading.z_document[position])
    if reading.z_chunk is not None:
        found["z_chunk"] = float(reading.z_chunk[position])
    return found


def _z_scores(ground: Ground, values: Floats) -> Floats:
    mean, deviation = ground.spread(values)
    return (values - mean) / deviation if deviation > 0.0 else np.zeros(len(values))


def _reliability(encoder: Encoder) -> float:
    from skillcue_adapters.encoders.static import StaticEncoder  # the others need not load it

    return STATIC_SHARE if isinstance(encoder, StaticEncoder) else 1.0
