"""Mode ``hybrid``: the rankings of ``bm25`` and ``dense``, fused by rank.

``score = sum over both of 1 / (k + rank)`` for the best `depth` skills of each (reciprocal rank
fusion, Cormack, Clarke and Buettcher 2009). Skills that are in neither list follow in the order
of their similarity, with scores of at most 1e-6, so that paging goes on to the end of the
library. As in mode ``dense``, every skill matches. With ``SkillCue(vectors=...)`` the semantic list is
what the store gave; what it was not asked for does not match.

Settings of the two modes are settings of theirs, and so is what they make of the context.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np
import numpy.typing as npt

from skillcue_adapters.bm25 import Bm25Retriever
from skillcue_adapters.dense import DenseRetriever, build_in_memory
from skillcue_adapters.fusion import reciprocal_ranks
from skillcue_adapters.normalization import min_max, spread
from skillcue_adapters.scoring import EncodingProgress, Pending, Scored, ScoringRetriever
from skillcue_adapters.settings import number, read_settings
from skillcue_adapters.stages import bm25_stage, innermost
from skillcue_adapters.vector_stores.retriever import StoreRetriever
from skillcue_hooks.contracts import Library, Query, RetrieverContext
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.protocols import Retriever

__all__ = ["HybridRetriever", "HybridSettings", "build", "fused_by_rank"]

Floats = npt.NDArray[np.float64]

VERSION = 1
"""Part of the fingerprint; raised whenever the same settings give other scores."""

_TAIL = 1e-6
"""Largest score of what neither list holds; smaller than any reciprocal rank."""


@dataclass(frozen=True, slots=True)
class HybridSettings:
    """Settings of mode ``hybrid``.

    Attributes:
        k: How little the first ranks differ, 0 to 10000.
        depth: Skills of each list that are fused.
    """

    k: int = number(60, 0, 10_000)
    depth: int = number(100, 1, 100_000)


class HybridRetriever(ScoringRetriever):
    """Reciprocal rank fusion of two retrievers over one library.

    Hits carry the signals of both, except for ``z``: standard deviations of the fused score
    above its mean over the whole library.

    Args:
        library: What both index.
        bm25: The lexical list.
        dense: The semantic list.
        settings: Settings of the mode.
        mode: Name it is registered under.
    """

    def __init__(
        self,
        library: Library,
        bm25: Bm25Retriever,
        dense: DenseRetriever | StoreRetriever,
        settings: HybridSettings,
        mode: str = "hybrid",
    ) -> None:
        parts = ("hybrid", VERSION, bm25.fingerprint, dense.fingerprint, asdict(settings))
        super().__init__(fingerprint(*parts), library, mode, lambda: bm25)
        self.settings = settings
        self._bm25 = bm25
        self._dense = dense

    def score(self, query: Query) -> Scored | Pending:
        """See `ScoringRetriever.score`."""
        dense = self._dense.score(query)
        if isinstance(dense, Pending):
            return dense
        return fused_by_rank(self._bm25.score(query), dense, self.settings, spread)

    @property
    def progress(self) -> EncodingProgress:
        """See `ScoringRetriever.progress`."""
        return self._dense.progress

    def close(self) -> None:
        """Stop work in the background; what is encoded is kept."""
        self._dense.close()

    def wait_ready(self, timeout: float | None = None) -> bool:
        """See `ScoringRetriever.wait_ready`."""
        return self._dense.wait_ready(timeout)


def fused_by_rank(
    bm25: Scored,
    dense: Scored,
    settings: HybridSettings,
    spread_of: Callable[[Floats], tuple[float, float]],
) -> Scored:
    """The score of the mode.

    Args:
        bm25: The lexical list.
        dense: The semantic list, of the same skills.
        settings: Settings of the mode.
        spread_of: Mean and deviation over the whole library of one number a skill.
    """
    depth, k = settings.depth, settings.k
    fused = reciprocal_ranks(bm25.scores, bm25.matched, depth, k)
    fused += reciprocal_ranks(dense.scores, dense.matched, depth, k)
    unlisted = fused == 0.0
    fused[unlisted] = _TAIL * min_max(dense.scores)[unlisted]
    mean, deviation = spread_of(fused)

    def signals(position: int) -> Mapping[str, float]:
        z = (float(fused[position]) - mean) / deviation if deviation > 0.0 else 0.0
        return {**bm25.signals(position), **dense.signals(position), "z": z}

    return Scored(fused, bm25.matched | dense.matched, signals)


def build(library: Library, context: RetrieverContext) -> Retriever:
    """Factory of mode ``hybrid``; its lists are those of modes ``bm25`` and ``dense``.

    Raises:
        UnknownSettingError: `context.settings` holds a name that `HybridSettings` has not.
        ConfigurationError: A setting is out of range, or the encoder cannot be opened.
        MissingExtraError: The encoder needs a package that is not installed.
    """
    if library.index is not None:
        from skillcue_adapters.indexed.hybrid import build as build_indexed

        return build_indexed(library, context)
    settings = read_settings(HybridSettings, context.settings, context.mode)
    dense = innermost(context.retriever("dense"))
    if not isinstance(dense, DenseRetriever | StoreRetriever):  # a plugin's, under the same name
        dense = build_in_memory(library, replace(context, mode="dense", settings={}, previous=None))
    return HybridRetriever(library, bm25_stage(library, context), dense, settings, context.mode)
