"""The lexical stage of other modes over an index."""

from __future__ import annotations

from skillcue_adapters.indexed.bm25 import IndexedBm25Retriever, build
from skillcue_adapters.stages import innermost
from skillcue_hooks.contracts import Library, RetrieverContext

__all__ = ["indexed_bm25"]


def indexed_bm25(library: Library, context: RetrieverContext) -> IndexedBm25Retriever:
    """The retriever of mode ``bm25`` over the same index.

    A plugin may have put something else under that name; then one with default settings is
    built here.
    """
    found = innermost(context.retriever("bm25"))
    if isinstance(found, IndexedBm25Retriever):
        return found
    return build(library, RetrieverContext("bm25", {}, None, context.retriever))
