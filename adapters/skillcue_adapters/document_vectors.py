"""Document vectors of one encoder: whoever asks, a text is encoded once."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from skillcue_adapters.index.keys import Keys, content_keys
from skillcue_adapters.index.vectors import Located, Rows, VectorStore
from skillcue_adapters.locks import ForkSafeLock
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.protocols import Encoder

__all__ = ["LONGEST", "DocumentVectors", "open_vectors", "rows_of"]

LONGEST = 1.01
"""Largest number in a vector of length 1, rounding included."""

_shared: weakref.WeakKeyDictionary[Any, dict[Path | None, DocumentVectors]]
_shared = weakref.WeakKeyDictionary()
_shared_lock = ForkSafeLock()


class DocumentVectors:
    """Vectors of documents, from a store where it knows them. Safe to share between threads.

    Modes or generations that need the same texts at the same time take turns, and each finds what
    the other has encoded.

    The store is opened when it is first needed: an encoder may have to ask a server for its `dim`.

    Args:
        encoder: Whose vectors they are. It is not kept alive.
        cache_dir: The user's cache folder, where vectors are kept; None keeps them in memory.
    """

    def __init__(self, encoder: Encoder, cache_dir: Path | None = None) -> None:
        self._name = encoder.fingerprint
        self._cache_dir = cache_dir
        self._opened: VectorStore | None = None
        self._turn = ForkSafeLock()

    def keys(self, texts: Sequence[str]) -> Keys:
        """Names of the texts' vectors."""
        return content_keys(self._name, texts)

    def locate(self, encoder: Encoder, keys: Keys) -> Located:
        """Where vectors are that are known; see `VectorStore.locate`.

        Raises:
            ConfigurationError: The encoder's `dim` is no length.
            Exception: Whatever the encoder raises when asked for it.
        """
        return self._store(encoder).locate(keys)

    def encode(self, encoder: Encoder, keys: Keys, texts: Sequence[str]) -> None:
        """Make sure that the vectors of `texts` are known.

        Raises:
            ConfigurationError: The encoder gives something else than vectors.
            Exception: Whatever the encoder raises.
        """
        with self._turn:
            store = self._store(encoder)
            missing = np.flatnonzero(~store.locate(keys).known)
            if len(missing):
                encoded = encoder.encode_documents([texts[n] for n in missing.tolist()])
                store.put(keys[missing], rows_of(encoded, len(missing), store.dim))

    def flush(self) -> None:
        """Write what is not written yet."""
        if self._opened is not None:
            self._opened.flush()

    def _store(self, encoder: Encoder) -> VectorStore:
        with self._turn:
            if self._opened is None:
                self._opened = VectorStore(_checked_dim(encoder), self._cache_dir, self._name)
            return self._opened


def open_vectors(encoder: Encoder, cache_dir: Path | None = None) -> DocumentVectors:
    """The vectors that all modes with this encoder object and folder share.

    They die with the encoder object; what a folder holds stays.
    """
    with _shared_lock:
        try:
            stores = _shared.setdefault(encoder, {})
        except TypeError:  # neither hashable nor weakly referable: nothing to share by
            return DocumentVectors(encoder, cache_dir)
        if cache_dir not in stores:
            stores[cache_dir] = DocumentVectors(encoder, cache_dir)
        return stores[cache_dir]


def _checked_dim(encoder: Encoder) -> int:
    dim = encoder.dim
    if not isinstance(dim, int) or dim < 1:
        raise ConfigurationError(
            f"The encoder's dim is {dim!r}.", "It must be the length of its vectors, 1 or more."
        )
    return dim


def rows_of(encoded: Any, count: int, dim: int) -> Rows:
    """What an encoder gave, as float32.

    Raises:
        ConfigurationError: It is not of shape ``(count, dim)``, not finite, or longer than 1.
    """
    rows = np.asarray(encoded, dtype=np.float32)
    if rows.shape != (count, dim):
        raise ConfigurationError(
            f"The encoder gave an array of shape {rows.shape} for {count} texts.",
            f"It must be of shape {(count, dim)}, since its dim is {dim}.",
        )
    if not np.isfinite(rows).all():
        raise ConfigurationError("The encoder gave NaN or infinity.", "Its model may be damaged.")
    if count and float(np.abs(rows).max()) > LONGEST:
        raise ConfigurationError(
            "The encoder gave vectors that are longer than 1.", "It must normalise them."
        )
    return rows
