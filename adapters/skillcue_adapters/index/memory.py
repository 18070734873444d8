"""Vectors in memory, as long as the process lives."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from skillcue_adapters.index.protocol import Mask, Rows

__all__ = ["MAX_VECTORS", "MemoryVectorStore"]

MAX_VECTORS = 65_536
"""Vectors that are kept, about 1.8 kB each at 384 dimensions; the oldest are dropped."""


class MemoryVectorStore:
    """A `VectorStore` for one process.

    Args:
        dim: Length of a vector.
        max_vectors: At most this many are kept, the oldest dropped; 0 keeps none.
    """

    def __init__(self, dim: int, max_vectors: int = MAX_VECTORS) -> None:
        self._dim = dim
        self._max_vectors = max_vectors
        self._vectors: OrderedDict[str, Rows] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, keys: Sequence[str]) -> tuple[Rows, Mask]:
        """See `VectorStore.get`; rows of unknown keys are zero."""
        rows = np.zeros((len(keys), self._dim), dtype=np.float32)
        found = np.zeros(len(keys), dtype=np.bool_)
        with self._lock:
            for position, key in enumerate(keys):
                vector = self._vectors.get(key)
                if vector is not None:
                    rows[position] = vector
                    found[position] = True
        return rows, found

    def put(self, keys: Sequence[str], vectors: Rows) -> None:
        """See `VectorStore.put`."""
        with self._lock:
            for key, vector in zip(keys, vectors, strict=True):
                # A copy: a row of a batch would keep the whole batch in memory.
                self._vectors[key] = np.array(vector, dtype=np.float32)
            while len(self._vectors) > self._max_vectors:
                self._vectors.popitem(last=False)
