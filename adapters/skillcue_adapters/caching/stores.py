"""Where cached text lives: in memory, on disk, or both. A failure is a miss, never an error."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from skillcue_hooks.protocols import CacheStore

__all__ = ["DiskStore", "MemoryStore", "TieredStore"]

LOCK_WAIT_S = 0.25
"""How long a disk operation may wait for another process, seconds."""

log = logging.getLogger("skillcue.cache")


class _ForkSafeLock:
    """A lock that a forked child finds open, whoever held it in the parent."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if self._pid != os.getpid():
            self._pid, self._lock = os.getpid(), threading.Lock()
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()


class MemoryStore:
    """Text in memory, least recently used dropped first. Safe to share by threads.

    Args:
        max_entries: Entries that are kept, 1 or more.
        max_bytes: Memory that keys and values may take, bytes; a larger value is not stored.
    """

    def __init__(self, max_entries: int = 4096, max_bytes: int = 64 * 2**20) -> None:
        self.max_entries = max_entries
        self.max_bytes = max_bytes
        self._entries: OrderedDict[str, str] = OrderedDict()
        self._bytes = 0
        self._lock = _ForkSafeLock()

    def get(self, key: str) -> str | None:
        with self._lock:
            value = self._entries.get(key)
            if value is not None:
                self._entries.move_to_end(key)
            return value

    def put(self, key: str, value: str) -> None:
        if _size(key, value) > self.max_bytes:
            return
        with self._lock:
            self._drop(key)
            self._entries[key] = value
            self._bytes += _size(key, value)
            while len(self._entries) > self.max_entries or self._bytes > self.max_bytes:
                self._drop(next(iter(self._entries)))

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._bytes = 0

    def close(self) -> None:
        self.clear()

    def _drop(self, key: str) -> None:
        value = self._entries.pop(key, None)
        if value is not None:
            self._bytes -= _size(key, value)


class DiskStore:
    """Text in a folder that processes may share, oldest dropped first.

    The folder is opened by the first operation, and again after a fork. Nothing but text goes
    into it and nothing but text comes out: a value of any other kind, a pickle above all, is a
    miss and is never loaded. A failure (locked, not writable, removed) is logged once and the
    store then answers nothing for `retry_after_s`; a damaged database is deleted and made anew. Keep it off network file systems, whose
    locks SQLite cannot trust.

    Args:
        path: A folder of its own; made when it does not exist.
        size_limit_bytes: Size of the database above which the oldest entries go, bytes.
        retry_after_s: Pause after a failure, seconds.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        size_limit_bytes: int = 256 * 2**20,
        retry_after_s: float = 30.0,
    ) -> None:
        # The expansion diskcache would do on its own.
        self.path = Path(os.path.expandvars(os.path.expanduser(path)))
        self.size_limit_bytes = size_limit_bytes
        self.retry_after_s = retry_after_s
        self._lock = _ForkSafeLock()
        self._cache: Any = None
        self._database = self.path / "cache.db"
        self._inode = 0
        self._pid = os.getpid()
        self._inherited: list[Any] = []
        self._resting_until = 0.0
        self._closed = False

    def get(self, key: str) -> str | None:
        value: str | None = self._try(lambda cache: cache.get(key))
        return value

    def put(self, key: str, value: str) -> None:
        self._try(lambda cache: cache.set(key, value))

    def clear(self) -> None:
        self._try(lambda cache: cache.clear())

    def close(self) -> None:
        with self._lock:
            self._drop_cache()
            self._closed = True

    def _try(self, action: Callable[[Any], Any]) -> Any:
        try:
            cache = self._open()
            return None if cache is None else action(cache)
        except Exception as error:  # noqa: BLE001  SQLite and file systems may raise anything
            self._rest(error)
            return None

    def _open(self) -> Any:
        """The open cache, None while closed or resting."""
        with self._lock:
            if self._closed or time.monotonic() < self._resting_until:
                return None
            if self._opened_here() is None:
                from skillcue_adapters.caching.text_disk import open_text_cache

                self._cache = open_text_cache(self.path, self.size_limit_bytes, LOCK_WAIT_S)
                self._inode = self._database.stat().st_ino
            elif self._database.stat().st_ino != self._inode:
                raise FileNotFoundError("the database was replaced while in use")
            return self._cache

    def _opened_here(self) -> Any:
        """The cache this process opened, None if there is none."""
        if self._pid != os.getpid():
            # SQLite forbids a child even to close what its parent opened.
            self._inherited.append(self._cache)
            self._pid, self._cache = os.getpid(), None
        return self._cache

    def _drop_cache(self) -> None:
        cache, self._cache = self._opened_here(), None
        if cache is not None:
            with suppress(Exception):  # the folder may be gone, and any error comes too late
                cache.close()

    def _rest(self, error: Exception) -> None:
        with self._lock:
            self._drop_cache()
            if time.monotonic() < self._resting_until:
                return
            from skillcue_adapters.caching.text_disk import discard_damaged

            if discard_damaged(self._database, error):
                log.warning("cache folder %s was damaged and is made anew: %s", self.path, error)
                return
            self._resting_until = time.monotonic() + self.retry_after_s
        log.warning(
            "cache folder %s is not used for %g s: %s: %s",
            self.path,
            self.retry_after_s,
            type(error).__name__,
            error,
        )


class TieredStore:
    """A fast store in front of a lasting one; what the latter finds moves up.

    Args:
        memory: Asked first.
        disk: Asked on a miss.
    """

    def __init__(self, memory: CacheStore, disk: CacheStore) -> None:
        self.memory = memory
        self.disk = disk

    def get(self, key: str) -> str | None:
        value = self.memory.get(key)
        if value is None:
            value = self.disk.get(key)
            if value is not None:
                self.memory.put(key, value)
        return value

    def put(self, key: str, value: str) -> None:
        self.memory.put(key, value)
        self.disk.put(key, value)

    def clear(self) -> None:
        self.memory.clear()
        self.disk.clear()

    def close(self) -> None:
        self.memory.close()
        self.disk.close()


def _size(key: str, value: str) -> int:
    return sys.getsizeof(key) + sys.getsizeof(value)
