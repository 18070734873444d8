"""Locks that cannot hang for ever: not in a forked child, and not between processes."""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

__all__ = ["ForkSafeLock", "next_process", "only_process"]

POLL_S = 0.05
"""How often a process that waits for another one looks, seconds."""

_HELD = frozenset({errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK})
"""What the systems say where another process has the lock; all else means that there are none."""

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


@contextmanager
def next_process(path: Path, seconds: float) -> Iterator[None]:
    """Wait until no other process is inside with the same `path`.

    Goes in all the same after `seconds`, and at once where the file cannot be made or the file
    system has no locks: it saves work that would be done twice, and never stands in the way. The
    file is removed on the way out, and the system frees the lock when a process dies.

    Args:
        path: A file for this use alone; its folder is made.
        seconds: Longest wait.
    """
    end = time.monotonic() + seconds
    while True:
        with _tried(path) as held:
            if not held or time.monotonic() >= end:
                yield
                return
        time.sleep(POLL_S)


@contextmanager
def _tried(path: Path) -> Iterator[bool]:
    """Whether another process has the lock; if not, it is ours where there are locks at all."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = path.open("ab")
    except OSError:
        yield False
        return
    with file:
        try:
            _lock(file.fileno())
        except OSError as error:
            yield error.errno in _HELD
            return
        try:
            yield False
        finally:
            with suppress(OSError):  # Windows removes no open file
                path.unlink()


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
