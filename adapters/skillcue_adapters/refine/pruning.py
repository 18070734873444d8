"""How the folder of refinements stays bounded: what was used longest ago goes first.

A file's time of change is when it was used last: reading sets it. Whatever was used in the last
`KEPT_S` stays, so that what a conversation was shown can still be loaded, and what another process
is about to read or has just written is not taken from it.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from skillcue_adapters.locks import only_process

__all__ = ["AT_ONCE", "EVERY_S", "KEPT_S", "MAX_BYTES", "MAX_TASKS", "prune", "used"]

MAX_TASKS = 10_000
"""Tasks whose refinements are kept; each was paid for, and takes some kilobytes."""
MAX_BYTES = 256_000_000
"""Size of all refinements and refined skills, bytes."""
KEPT_S = 7 * 86_400.0
"""What was used in that time is never removed, seconds."""
EVERY_S = 3_600.0
"""The folder is looked through so often at most, seconds: it takes a second when it is full."""
AT_ONCE = 500
"""Files that are removed then at most, so that nobody waits long; the rest goes the next time."""


@dataclass(frozen=True, slots=True)
class _Task:
    """One file of ``tasks``."""

    used: float
    size: int
    path: Path
    skills: tuple[str, ...]


def used(path: Path) -> bool:
    """Take note that a file is used now; whether it is there."""
    with suppress(OSError):  # of another user, or on a read-only disk: it is there all the same
        os.utime(path)
    return path.exists()


def prune(folder: Path) -> None:
    """Bring the folder of refinements back within its bounds; most calls do nothing.

    Raises:
        OSError: It cannot be written.
    """
    now = time.time()
    looked = folder / "pruned"
    if now - _used(looked) < EVERY_S:
        return
    with only_process(looked) as alone:
        if alone:
            os.utime(looked)
            _Pruning(folder, now - KEPT_S).run()


class _Pruning:
    """One look through the folder. What was used after `old` stays."""

    def __init__(self, folder: Path, old: float) -> None:
        self._folder = folder
        self._old = old
        self._tasks = sorted(_tasks(folder), key=lambda task: (task.used, task.path))
        self._named = Counter(digits for task in self._tasks for digits in task.skills)
        self._sizes = {path.name: _size(path) for path in _entries(folder / "skills")}
        self._names: dict[str, list[Path]] = {}
        for path in _entries(folder / "names"):
            self._names.setdefault(path.name.partition(".")[0], []).append(path)
        self._left = AT_ONCE
        self._count = len(self._tasks)
        self._bytes = sum(task.size for task in self._tasks) + sum(self._sizes.values())

    def run(self) -> None:
        for digits in sorted(self._sizes):
            if self._is_done():
                return
            if not self._named[digits]:  # what took its place was composed of changed skills
                self._remove_skill(digits)
        for task in self._tasks:
            if self._is_done():
                return
            self._remove_task(task)

    def _is_done(self) -> bool:
        within = self._count <= MAX_TASKS and self._bytes <= MAX_BYTES
        return within or self._left <= 0

    def _remove_task(self, task: _Task) -> None:
        if not self._removed(task.path):
            return
        self._count -= 1
        self._bytes -= task.size
        for digits in task.skills:
            self._named[digits] -= 1
            if not self._named[digits]:
                self._remove_skill(digits)

    def _remove_skill(self, digits: str) -> None:
        if digits not in self._sizes:  # a damaged task could name any folder
            return
        home = self._folder / "skills" / digits
        for path in home.glob("*/SKILL.md"):
            if not self._removed(path):
                return
            self._bytes -= self._sizes[digits]
            with suppress(OSError):  # something else lies in it
                path.parent.rmdir()
                home.rmdir()
        for path in self._names.pop(digits, ()):
            with suppress(OSError):  # another process was here
                path.unlink()

    def _removed(self, path: Path) -> bool:
        """Remove a file that nobody has used, asked again just before."""
        if _used(path) > self._old:
            return False
        try:
            path.unlink()
        except OSError:  # open in another process, or gone
            return False
        self._left -= 1
        return True


def _tasks(folder: Path) -> Iterator[_Task]:
    for path in _entries(folder / "tasks"):
        with suppress(OSError):  # gone by now
            stat = path.stat()
            yield _Task(stat.st_mtime, stat.st_size, path, _skills_of(path))


def _skills_of(path: Path) -> tuple[str, ...]:
    """What a task names; nothing where the file is damaged."""
    try:
        ids = json.loads(path.read_text(encoding="utf-8"))["skills"]
        return tuple(dict.fromkeys(str(skill_id).rpartition(":")[2] for skill_id in ids))
    except (ValueError, TypeError, KeyError, RecursionError):
        return ()


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:  # nothing was ever stored in it
        return []


def _size(folder: Path) -> int:
    total = 0
    for path in folder.glob("*/SKILL.md"):
        with suppress(OSError):  # gone by now
            total += path.stat().st_size
    return total


def _used(path: Path) -> float:
    """When the file was used, 0.0 where there is none."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
