"""A folder of segments of one kind: who adds, adds a file; nobody waits for anybody.

Files never change. Two processes that add at the same time make two files, and both stay. Small
files are merged into larger ones by one process at a time; the files that were merged go when the
new one is safe, and whoever has them mapped keeps what is mapped.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from skillcue_adapters.index.segment import (
    ForeignFileError,
    SegmentError,
    read_segment,
    write_segment,
)
from skillcue_adapters.locks import ForkSafeLock, only_process

__all__ = ["KEPT_DAYS", "MANY_SEGMENTS", "Segment", "SegmentFolder", "index_bytes"]

MANY_SEGMENTS = 8
"""Above so many files, the small ones are merged."""

KEPT_DAYS = 90
"""Folders of other encoders and versions that nobody has used for so long are removed, days."""

_SUFFIX = ".skcue"
_STALE_S = 3600.0
_ATTEMPTS = 3

log = logging.getLogger("skillcue.index")


@dataclass(frozen=True, eq=False)
class Segment:
    """One file.

    Attributes:
        name: Of the file.
        arrays: Mapped, read-only.
        items: Number of things it holds.
    """

    name: str
    arrays: dict[str, npt.NDArray[Any]]
    items: int


Check = Callable[[dict[str, npt.NDArray[Any]]], int]
Merge = Callable[[Sequence[Segment]], dict[str, npt.NDArray[Any]]]


class SegmentFolder:
    """The segments of one kind and identity. Safe to share between threads and processes.

    Nothing here raises: what cannot be read is as good as not there, and what cannot be written
    is said once in the log.

    Args:
        cache_dir: The user's folder; this one lies below it.
        kind: What is stored, part of the folder's name.
        identity: Whose it is, such as an encoder's fingerprint.
        check: Number of things in a file's arrays; `SegmentError` where they do not fit together.
    """

    def __init__(self, cache_dir: Path, kind: str, identity: str, check: Check) -> None:
        name = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self.path = Path(cache_dir) / kind / name
        self._kind = kind
        self._identity = identity
        self._check = check
        self._lock = ForkSafeLock()
        self._open: dict[str, Segment] = {}
        self._ignored: set[str] = set()
        self._complained = False
        self._used = False

    def segments(self) -> list[Segment]:
        """All segments that are there now, largest first."""
        with self._lock:
            for _ in range(_ATTEMPTS):
                if self._look():
                    break
            return sorted(self._open.values(), key=lambda segment: -segment.items)

    def add(self, arrays: dict[str, npt.NDArray[Any]], durable: bool = False) -> Segment | None:
        """Store `arrays` in a file of their own; None when that is not possible."""
        with self._lock:
            if self._complained:
                return None
            try:
                self._make()
                path = self.path / f"{uuid.uuid4().hex}{_SUFFIX}"
                write_segment(path, self._kind, self._identity, arrays, durable)
            except OSError as error:
                self._complain(error)
                return None
            self._open_one(path.name)  # another process may have merged it already
            return self._open.get(path.name)

    def compact(self, merge: Merge) -> None:
        """Merge small segments where there are many.

        Those are merged that together are at least as large as the next larger one, so that an
        item is written again only a few times however many are added.

        Args:
            merge: One segment's arrays from those of several, given largest first.
        """
        with self._lock:
            if self._complained or len(self.segments()) <= MANY_SEGMENTS:
                return
            try:
                with only_process(self.path / "lock") as alone:
                    if alone:
                        self._merge(merge)
            except (OSError, SegmentError) as error:
                self._complain(error)

    def _merge(self, merge: Merge) -> None:
        chosen: list[Segment] = []
        size = 0
        for segment in reversed(self.segments()):
            if len(chosen) > MANY_SEGMENTS // 2 and segment.items > size:
                break
            chosen.insert(0, segment)
            size += segment.items
        if len(chosen) < 2 or self.add(merge(chosen), durable=True) is None:
            return
        for segment in chosen:
            self._open.pop(segment.name, None)
            self._ignored.add(segment.name)
            self._remove(self.path / segment.name)
        for path in self.path.glob("*.partial"):  # of processes that were killed
            if _age_s(path) > _STALE_S:
                self._remove(path)

    def _look(self) -> bool:
        """Open what is new and forget what is gone; False when files went in the meantime."""
        try:
            names = {entry.name for entry in os.scandir(self.path)}
        except FileNotFoundError:
            self._open.clear()
            return True
        except OSError as error:
            self._complain(error)
            return True
        self._mark_used()
        for name in set(self._open) - names:
            del self._open[name]
        whole = True
        for name in sorted(names - set(self._open) - self._ignored):
            if name.endswith(_SUFFIX):
                whole &= self._open_one(name)
        return whole

    def _open_one(self, name: str) -> bool:
        path = self.path / name
        try:
            self._open[name] = self._read(path)
        except FileNotFoundError:  # merged by another process
            return False
        except ForeignFileError as error:
            self._ignored.add(name)
            log.warning("%s is left alone: %s", path, error)
        except (SegmentError, ValueError, LookupError, TypeError) as error:
            self._ignored.add(name)
            log.warning("%s is damaged and made anew: %s", path, error)
            self._remove(path)
        except OSError as error:
            self._ignored.add(name)
            log.warning("%s cannot be read: %s", path, error)
        return True

    def _read(self, path: Path) -> Segment:
        arrays = read_segment(path, self._kind, self._identity)
        return Segment(path.name, arrays, self._check(arrays))

    def _make(self) -> None:
        if not self.path.is_dir():
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._remove_unused()

    def _mark_used(self) -> None:
        if not self._used:
            self._used = True
            with suppress(OSError):  # a folder that can only be read
                os.utime(self.path)

    def _remove_unused(self) -> None:
        """Remove folders of other identities that nobody uses."""
        for folder in self.path.parent.iterdir():
            if folder != self.path and _age_s(folder) > KEPT_DAYS * 86_400:
                for path in [*folder.glob(f"*{_SUFFIX}"), *folder.glob("lock")]:
                    self._remove(path)
                with suppress(OSError):  # it holds something else as well
                    folder.rmdir()

    def _remove(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:  # Windows: somebody has it mapped; it goes with the next merge
            log.debug("%s stays: %s", path, error)

    def _complain(self, error: Exception) -> None:
        if not self._complained:
            self._complained = True
            log.warning("the index in %s is not kept, it works in memory: %s", self.path, error)


def _age_s(path: Path) -> float:
    """Seconds since it was written; 0.0 for what another process has removed."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def index_bytes(cache_dir: Path) -> int:
    """Bytes of all index files below the user's cache folder."""
    return sum(path.stat().st_size for path in Path(cache_dir).glob(f"*/*/*{_SUFFIX}"))
