"""The role of a vector store, and the names under which vectors are stored."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Mask", "Rows", "VectorStore", "vector_key"]

Rows = NDArray[np.float32]
"""Vectors, one a row."""

Mask = NDArray[np.bool_]


@runtime_checkable
class VectorStore(Protocol):
    """Remembers document vectors by content, so that no text is encoded twice.

    A store holds vectors of one length. It may forget any of them; what it gives is bit by bit
    what was put. Must be safe to call from several threads.
    """

    def get(self, keys: Sequence[str]) -> tuple[Rows, Mask]:
        """Vectors of `keys`, shape ``(len(keys), dim)``, and which of them are known.

        The array is the caller's; rows of unknown keys hold anything.
        """
        ...

    def put(self, keys: Sequence[str], vectors: Rows) -> None:
        """Remember ``vectors[i]`` under ``keys[i]``; the array itself is not kept."""
        ...


def vector_key(encoder: str, text: str) -> str:
    """Name of a document's vector: sha256 (64 hex digits) of encoder and text.

    Args:
        encoder: `Encoder.fingerprint`; another encoder's vector must never be found.
        text: What is encoded.
    """
    digest = hashlib.sha256(encoder.encode("utf-8", "surrogatepass"))
    digest.update(b"\0")
    digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
