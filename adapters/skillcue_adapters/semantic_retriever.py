"""A retriever that needs the vectors of its library: settings, encoding, query vectors."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from skillcue_adapters.document_vectors import DocumentVectors
from skillcue_adapters.encoding import Encoding, EncodingLimits
from skillcue_adapters.index.vectors import Located, Rows
from skillcue_adapters.query_vectors import QueryNotEncodedError, query_vector
from skillcue_adapters.scoring import EncodingProgress, Pending, Scored, ScoringRetriever
from skillcue_adapters.semantic_index import SemanticIndex
from skillcue_adapters.settings import choice, number
from skillcue_adapters.text_plan import DEAD_TEXTS, ChunkLimits, TextPlan, follow_plan
from skillcue_hooks.contracts import Library, Query
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.protocols import Encoder, Retriever

__all__ = ["SemanticRetriever", "SemanticSettings"]

T = TypeVar("T")

log = logging.getLogger("skillcue.encoding")

PLANNED_SKILLS = 512
"""The texts of up to so many new skills are looked up at once, of more in the background."""


@dataclass(frozen=True, slots=True)
class SemanticSettings:
    """Settings that modes with vectors have in common.

    Attributes:
        bodies: ``lexical`` encodes names, descriptions and tags; ``all`` also encodes the bodies
            in chunks, about nine a skill.
        context_weight: Weight of `Query.context`, 0 to 10.
        chunk_chars: Characters of a chunk of a body.
        chunks_per_skill: Chunks that are encoded, from the beginning of a body. A cut is logged.
        inline_texts: Up to so many new texts are waited for; more are encoded in the background,
            and until they are, answers are lexical and marked as degraded. So it is while the
            vectors of more than 512 new skills are looked up.
        inline_ms: Milliseconds that they are waited for.
        batch_texts: Texts that are encoded at a time.
    """

    bodies: str = choice("lexical", "all")
    context_weight: float = number(0.5, 0.0, 10.0)
    chunk_chars: int = number(700, 50, 100_000)
    chunks_per_skill: int = number(64, 1, 100_000)
    inline_texts: int = number(512, 0, 10_000_000)
    inline_ms: int = number(5_000, 0, 3_600_000)
    batch_texts: int = number(64, 1, 100_000)


class SemanticRetriever(ScoringRetriever, Generic[T]):
    """A retriever that makes an index of the vectors of its library.

    Args:
        kind: Name and version of the algorithm, and whatever else changes a ranking besides
            encoder and settings.
        library: What is indexed.
        encoder: Gives the vectors.
        settings: Settings of the mode.
        previous: The retriever of the generation before; its vectors are reused.
        vectors: Where vectors are looked up and put.
        fallback: Gives the retriever that answers while vectors are missing.
        mode: Name it is registered under.
    """

    def __init__(
        self,
        kind: tuple[Any, ...],
        library: Library,
        encoder: Encoder,
        settings: SemanticSettings,
        previous: SemanticRetriever[T] | None,
        vectors: DocumentVectors,
        fallback: Callable[[], Retriever],
        mode: str,
    ) -> None:
        identity = fingerprint(*kind, encoder.fingerprint, asdict(settings))
        super().__init__(identity, library, mode, fallback, previous)
        self._encoder = encoder
        self._encoding: Encoding[T] | None = None
        if self.skills:
            self._encoding = self._encode(encoder, settings, previous, vectors)

    def score(self, query: Query) -> Scored | Pending:
        """See `ScoringRetriever.score`."""
        if self._encoding is None:
            raise LookupError("the empty library has no scores")
        index = self._encoding.result
        if index is None:
            return Pending(self._encoding.pending)
        try:
            return self._score(index, query)
        except QueryNotEncodedError as failure:
            log.warning("a query could not be encoded; its answer is lexical", exc_info=failure)
            return Pending(f"encoding the query failed: {failure}")

    def wait_ready(self, timeout: float | None = None) -> bool:
        """See `ScoringRetriever.wait_ready`."""
        return self._encoding is None or self._encoding.wait(timeout)

    @property
    def progress(self) -> EncodingProgress:
        """See `ScoringRetriever.progress`."""
        return EncodingProgress() if self._encoding is None else self._encoding.progress

    def close(self) -> None:
        """Stop work in the background; what is encoded is kept."""
        if self._encoding is not None:
            self._encoding.stop()

    @property
    def encoder(self) -> Encoder:
        """Gives the vectors."""
        return self._encoder

    def query_vector(self, text: str) -> Rows:
        """Vector of a query; see `skillcue_adapters.query_vectors.query_vector`.

        Raises:
            QueryNotEncodedError: The encoder failed.
        """
        vector: Rows = query_vector(self._encoder, text)
        return vector

    @property
    def index(self) -> T | None:
        """What `_index` made; None while vectors are missing."""
        return None if self._encoding is None else self._encoding.result

    @abstractmethod
    def _index(self, plan: TextPlan, located: Located) -> T:
        """Make an index of the vectors; may run in a thread of its own."""

    @abstractmethod
    def _vectors_of(self, index: T) -> SemanticIndex:
        """The vectors of an index; the next generation takes them over."""

    @abstractmethod
    def _score(self, index: T, query: Query) -> Scored:
        """See `ScoringRetriever.score`."""

    def _encode(
        self,
        encoder: Encoder,
        settings: SemanticSettings,
        previous: SemanticRetriever[T] | None,
        vectors: DocumentVectors,
    ) -> Encoding[T]:
        # With another encoder or other limits of chunks the texts and vectors are others.
        alike = previous is not None and previous.fingerprint == self.fingerprint
        before = previous._reusable() if previous is not None and alike else None
        origin = self.origin if before is not None else np.full(len(self.skills), -1)
        new = [self.skills[n] for n in np.flatnonzero(origin < 0).tolist()]
        plan = None if before is None else before.plan

        def make_plan() -> TextPlan:
            return follow_plan(plan, origin, new, _chunk_limits(settings), vectors.keys)

        return Encoding(
            make_plan,
            encoder,
            vectors,
            self._index,
            None if before is None else before.located,
            len(new) <= max(PLANNED_SKILLS, settings.inline_texts),
            EncodingLimits(settings.inline_texts, settings.inline_ms / 1000, settings.batch_texts),
        )

    def _reusable(self) -> SemanticIndex | None:
        """The vectors for the next generation; None where most belong to skills that are gone."""
        if self.index is None:
            return None
        index = self._vectors_of(self.index)
        used = int(np.count_nonzero(index.plan.used()))
        return index if len(index.plan.keys) <= 2 * used + DEAD_TEXTS else None


def _chunk_limits(settings: SemanticSettings) -> ChunkLimits | None:
    if settings.bodies == "lexical":
        return None
    return ChunkLimits(settings.chunk_chars, settings.chunks_per_skill)
