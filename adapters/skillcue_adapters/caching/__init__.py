"""Rankings that are computed once: keys, their text form, where they live, and the wrapper."""

from __future__ import annotations

from skillcue_adapters.caching.codec import decode_ranking, encode_ranking
from skillcue_adapters.caching.keys import SCHEMA_VERSION, ranking_key
from skillcue_adapters.caching.retriever import CachedRetriever
from skillcue_adapters.caching.shared import SharedStore
from skillcue_adapters.caching.stores import DiskStore, MemoryStore, TieredStore

__all__ = [
    "SCHEMA_VERSION",
    "CachedRetriever",
    "DiskStore",
    "MemoryStore",
    "SharedStore",
    "TieredStore",
    "decode_ranking",
    "encode_ranking",
    "ranking_key",
]
