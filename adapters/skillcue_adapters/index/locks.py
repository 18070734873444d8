"""Locks that cannot hang for ever: not in a forked child, and not between processes."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

__all__ = ["ForkSafeLock", "only_process"]


class ForkSafeLock:
    """A reentrant lock that is free in a forked child, whoever held it in the parent."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        if self._pid != os.getpid():  # the thread that holds it may not exist in this process
            self._lock, self._pid = threading.RLock(), os.getpid()
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()


@contextmanager
def only_process(path: Path) -> Iterator[bool]:
    """Whether no other process is inside with the same `path`; never waits.

    The system frees the lock when a process dies.

    Raises:
        OSError: The file cannot be made.
    """
    with path.open("ab") as file:
        try:
            _lock(file.fileno())
        except OSError:
            yield False
            return
        yield True  # closing the file frees it


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
