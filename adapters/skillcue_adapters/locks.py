"""Locks that cannot hang for ever: not in a forked child, and not between processes."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

__all__ = ["ForkSafeLock", "only_process"]


_locks: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()


class ForkSafeLock:
    """A reentrant lock that is free in a forked child, whoever held it in the parent."""

    def __init__(self) -> None:
        self.free()
        _locks.add(self)

    def free(self) -> None:
        """Forget who holds it: a thread that does not exist in this process."""
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()


def _free_all() -> None:
    for lock in list(_locks):
        lock.free()


if hasattr(os, "register_at_fork"):  # before any thread of the child can meet a lock
    os.register_at_fork(after_in_child=_free_all)


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
