"""Vectors of a library's texts: at once where few are missing, else in the background."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from skillcue_adapters.document_vectors import DocumentVectors
from skillcue_adapters.index.protocol import Mask, Rows

__all__ = ["Encoding"]

T = TypeVar("T")

log = logging.getLogger("skillcue.encoding")


class Encoding(Generic[T]):
    """Encodes texts and makes something of their vectors.

    In the background a daemon thread works in batches. A forked child, where that thread does
    not exist, goes on with a thread of its own when it is first asked.

    Args:
        texts: What is encoded, each once; at least one.
        vectors: Encodes, and remembers.
        finish: Makes the result of the vectors, shape ``(len(texts), dim)``, and their keys.
        previous: The encoding of the generation before; what it has is taken from it.
        inline_texts: Up to so many missing texts are encoded at once, in the caller's thread.
        batch_texts: Texts a batch, 1 or more.

    Raises:
        ConfigurationError: The encoder gives something that are no vectors; raised here only
            when encoding at once.
        Exception: Whatever the encoder or `finish` raises; likewise.
    """

    def __init__(
        self,
        texts: Sequence[str],
        vectors: DocumentVectors,
        finish: Callable[[Rows, tuple[str, ...]], T],
        previous: Encoding[T] | None,
        inline_texts: int,
        batch_texts: int,
    ) -> None:
        self._texts = tuple(texts)
        self._vectors = vectors
        self._finish = finish
        self._batch_texts = batch_texts
        self._keys = vectors.keys(self._texts)
        self._row_of = {key: row for row, key in enumerate(self._keys)}
        self._rows: Rows = np.zeros((len(self._texts), vectors.dim), dtype=np.float32)
        self._filled: Mask = np.zeros(len(self._texts), dtype=np.bool_)
        self._look_up(previous)
        self._result: T | None = None
        self._failure: Exception | None = None
        self._done = threading.Event()
        self._pid = os.getpid()
        if np.count_nonzero(~self._filled) <= inline_texts:
            self._work()
            self._done.set()
        else:
            self._start()

    @property
    def result(self) -> T | None:
        """What `finish` made; None while there is none."""
        if self._result is None:
            self._survive_fork()
        return self._result

    @property
    def progress(self) -> str:
        """How far the work is, or what went wrong: why there is no result."""
        if self._failure is not None:
            return f"encoding failed: {self._failure}"
        return f"encoding {np.count_nonzero(self._filled):,} of {len(self._texts):,}"

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until there is a result.

        Args:
            timeout: Seconds; None waits as long as it takes.

        Returns:
            Whether there is one; False at once when encoding failed.
        """
        self._survive_fork()
        self._done.wait(timeout)
        return self._result is not None

    def get(self, keys: Sequence[str]) -> tuple[Rows, Mask]:
        """Vectors that are there by now; see `VectorStore.get`."""
        positions = np.array([self._row_of.get(key, -1) for key in keys], dtype=np.int64)
        return self._rows[positions], (positions >= 0) & self._filled[positions]

    def _look_up(self, previous: Encoding[T] | None) -> None:
        sources = [self._vectors.known] if previous is None else [previous.get, self._vectors.known]
        for source in sources:
            missing = np.flatnonzero(~self._filled)
            rows, found = source([self._keys[n] for n in missing])
            self._fill(missing[found], rows[found])

    def _fill(self, positions: NDArray[np.int64], rows: Rows) -> None:
        self._rows[positions] = rows
        self._filled[positions] = True  # last: `get` reads from other threads

    def _start(self) -> None:
        thread = threading.Thread(target=self._guarded, name="skillcue-encoding", daemon=True)
        thread.start()

    def _survive_fork(self) -> None:
        if self._pid == os.getpid() or self._done.is_set():
            return
        # The parent's thread is not in this process, and its locks may be held for ever.
        self._pid = os.getpid()
        self._done = threading.Event()
        self._start()

    def _guarded(self) -> None:
        try:
            self._work()
        except Exception as error:  # an encoder may raise anything; searches go on without it
            log.exception("encoding stopped; answers stay lexical")
            self._failure = error
        finally:
            self._done.set()

    def _work(self) -> None:
        started = time.perf_counter()
        missing = np.flatnonzero(~self._filled)
        for start in range(0, len(missing), self._batch_texts):
            batch = missing[start : start + self._batch_texts]
            texts = [self._texts[n] for n in batch]
            self._fill(batch, self._vectors.encode([self._keys[n] for n in batch], texts))
        self._result = self._finish(self._rows, self._keys)
        elapsed = time.perf_counter() - started
        log.debug("%d of %d texts encoded, %.1f s", len(missing), len(self._texts), elapsed)
