"""Mode ``hybrid`` over an index: see `skillcue_adapters.hybrid` for the formula."""

from __future__ import annotations

from dataclasses import asdict, replace

from skillcue_adapters.hybrid import VERSION, HybridSettings, fused_by_rank
from skillcue_adapters.indexed.bm25 import IndexedBm25Retriever
from skillcue_adapters.indexed.dense import IndexedDenseRetriever
from skillcue_adapters.indexed.dense import build as build_dense
from skillcue_adapters.indexed.panel import Panel
from skillcue_adapters.indexed.retriever import Asked, IndexedRetriever
from skillcue_adapters.indexed.stages import indexed_bm25
from skillcue_adapters.scoring import Pending, Scored
from skillcue_adapters.settings import read_settings
from skillcue_adapters.stages import innermost
from skillcue_hooks.contracts import Library, Query, RetrieverContext
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.skill_index import View

__all__ = ["IndexedHybridRetriever", "build"]


class IndexedHybridRetriever(IndexedRetriever):
    """Reciprocal rank fusion of two retrievers over the same candidates. Signals are those of
    `HybridRetriever`.

    Args:
        library: Whose index is asked.
        bm25: The lexical list.
        dense: The semantic list.
        settings: Settings of the mode.
        mode: Name it is registered under.
    """

    def __init__(
        self,
        library: Library,
        bm25: IndexedBm25Retriever,
        dense: IndexedDenseRetriever,
        settings: HybridSettings,
        mode: str = "hybrid",
    ) -> None:
        parts = ("hybrid", VERSION, bm25.fingerprint, dense.fingerprint, asdict(settings))
        super().__init__(fingerprint("indexed", *parts), library, mode, lambda: bm25)
        self.settings = settings
        self._bm25 = bm25
        self._dense = dense

    def ask(self, query: Query) -> Asked | Pending:
        """See `IndexedRetriever.ask`."""
        dense = self._dense.ask(query)
        if isinstance(dense, Pending):
            return dense
        bm25 = self._bm25.ask(query)

        def score(panel: Panel) -> Scored:
            found = bm25.score(panel), dense.score(panel)
            return fused_by_rank(*found, self.settings, panel.spread)

        views = _together(bm25.views, dense.views)
        return Asked(views, score, self.settings.depth, bm25.postings, dense.every)

    def check(self) -> None:
        """See `IndexedRetriever.check`."""
        self._dense.check()


def _together(lexical: tuple[View, ...], dense: tuple[View, ...]) -> tuple[View, ...]:
    """Both in as few views as they have."""
    return replace(lexical[0], vector=dense[0].vector), *lexical[1:]


def build(library: Library, context: RetrieverContext) -> IndexedHybridRetriever:
    """Factory of mode ``hybrid`` for a library in an index; settings as in memory.

    Raises:
        UnknownSettingError: `context.settings` holds a name that `HybridSettings` has not.
        ConfigurationError: A setting is out of range, or the encoder cannot be opened.
        MissingExtraError: The encoder needs a package that is not installed.
    """
    settings = read_settings(HybridSettings, context.settings, context.mode)
    dense = innermost(context.retriever("dense"))
    if not isinstance(dense, IndexedDenseRetriever):  # a plugin's, under the same name
        dense = build_dense(library, replace(context, mode="dense", settings={}, previous=None))
    bm25 = indexed_bm25(library, context)
    return IndexedHybridRetriever(library, bm25, dense, settings, context.mode)
