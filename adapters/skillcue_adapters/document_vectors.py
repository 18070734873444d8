"""Document vectors of one encoder: whoever asks, a text is encoded once."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skillcue_adapters.index.memory import MemoryVectorStore
from skillcue_adapters.index.protocol import Mask, Rows, VectorStore, vector_key
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.protocols import Encoder

__all__ = ["DocumentVectors", "rows_of", "shared_store"]


@dataclass(frozen=True, slots=True)
class _Shared:
    """What all modes and generations with one encoder object have in common."""

    store: VectorStore
    turn: threading.Lock


_shared: weakref.WeakKeyDictionary[Any, _Shared] = weakref.WeakKeyDictionary()
_shared_lock = threading.Lock()


def shared_store(encoder: Encoder) -> VectorStore:
    """The memory store that all modes with this encoder object share; it dies with the encoder."""
    return _shared_of(encoder).store


class DocumentVectors:
    """Vectors of documents, from a store where it knows them. Safe to share between threads.

    Two modes or two generations that need the same texts at the same time take turns, and each
    finds what the other has encoded.

    Args:
        encoder: Encodes what is not known.
        store: Where vectors are looked up and put.

    Attributes:
        dim: Length of a vector.
    """

    def __init__(self, encoder: Encoder, store: VectorStore) -> None:
        self.dim = encoder.dim
        self._encoder = encoder
        self._store = store
        self._turn = _shared_of(encoder).turn

    def keys(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Names of the texts' vectors."""
        name = self._encoder.fingerprint
        return tuple(vector_key(name, text) for text in texts)

    def known(self, keys: Sequence[str]) -> tuple[Rows, Mask]:
        """What the store knows; see `VectorStore.get`."""
        return self._store.get(keys)

    def encode(self, keys: Sequence[str], texts: Sequence[str]) -> Rows:
        """Vectors of `texts`, float32, shape ``(len(texts), dim)``.

        Raises:
            ConfigurationError: The encoder gives something else.
            Exception: Whatever the encoder raises.
        """
        with self._turn:
            rows, found = self._store.get(keys)
            missing = np.flatnonzero(~found).tolist()
            if missing:
                encoded = self._encoder.encode_documents([texts[n] for n in missing])
                rows[missing] = rows_of(encoded, len(missing), self.dim)
                self._store.put([keys[n] for n in missing], rows[missing])
        return rows


def rows_of(encoded: Any, count: int, dim: int) -> Rows:
    """What an encoder gave, as float32.

    Raises:
        ConfigurationError: It is not of shape ``(count, dim)``, or not finite.
    """
    rows = np.asarray(encoded, dtype=np.float32)
    if rows.shape != (count, dim):
        raise ConfigurationError(
            f"The encoder gave an array of shape {rows.shape} for {count} texts.",
            f"It must be of shape {(count, dim)}, since its dim is {dim}.",
        )
    if not np.isfinite(rows).all():
        raise ConfigurationError("The encoder gave NaN or infinity.", "Its model may be damaged.")
    return rows


def _shared_of(encoder: Encoder) -> _Shared:
    with _shared_lock:
        try:
            if encoder not in _shared:
                _shared[encoder] = _new(encoder)
            return _shared[encoder]
        except TypeError:  # neither hashable nor weakly referable: nothing to share by
            return _new(encoder)


def _new(encoder: Encoder) -> _Shared:
    return _Shared(MemoryVectorStore(encoder.dim), threading.Lock())
