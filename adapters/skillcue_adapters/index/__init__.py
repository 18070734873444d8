"""Where vectors live between uses: one protocol, and a store in memory."""

from __future__ import annotations

from skillcue_adapters.index.memory import MemoryVectorStore
from skillcue_adapters.index.protocol import Mask, Rows, VectorStore, vector_key

__all__ = ["Mask", "MemoryVectorStore", "Rows", "VectorStore", "vector_key"]
