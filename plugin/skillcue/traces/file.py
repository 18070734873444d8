"""One file that several threads and processes append lines to, of bounded size."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skillcue_adapters.locks import ForkSafeLock, only_process

__all__ = ["TraceFile"]

_NO_FILE = -1


class TraceFile:
    """Appends records, one line and one write each; a `TraceSink`.

    The file is opened for appending, so that lines of several processes do not cut into each
    other. Full, it is renamed to ``NAME.1``, which takes the place of the one before it.

    Args:
        path: The file; its folder must exist.
        max_bytes: Size at which a new one is begun, bytes.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._old = path.with_name(f"{path.name}.1")
        self._max_bytes = max_bytes
        self._lock = ForkSafeLock()
        self._descriptor = _NO_FILE
        self._cut = False  # the last line is not whole

    def write(self, record: Mapping[str, Any]) -> None:
        """Append one line.

        Raises:
            OSError: It cannot be written.
            ValueError: A value is no JSON.
        """
        text = json.dumps(record, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
        with self._lock:
            line = ("\n" * self._cut + text + "\n").encode("ascii")
            if self._size() + len(line) > self._max_bytes:
                self._begin_new(len(line))
            written = os.write(self._open(), line)
            self._cut = written < len(line)
            if self._cut:
                raise OSError(f"only {written} of {len(line)} bytes were written")

    def close(self) -> None:
        """Close the file; a later `write` opens it again."""
        with self._lock:
            self._close()

    def _open(self) -> int:
        """The descriptor of the file that has the name now: another process may have renamed it."""
        if self._descriptor != _NO_FILE and not self._is_current():
            self._close()
        if self._descriptor == _NO_FILE:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
            self._descriptor = os.open(self._path, flags, 0o600)
        return self._descriptor

    def _is_current(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._path.stat())
        except OSError:
            return False

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0

    def _begin_new(self, coming: int) -> None:
        """Rename the full file, unless another process is at it, or has just done it."""
        with only_process(self._path.with_name(f"{self._path.name}.lock")) as alone:
            if alone and 0 < self._size() and self._size() + coming > self._max_bytes:
                self._close()  # some systems do not rename what is open
                self._path.replace(self._old)

    def _close(self) -> None:
        if self._descriptor != _NO_FILE:
            os.close(self._descriptor)
            self._descriptor = _NO_FILE
