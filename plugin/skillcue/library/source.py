"""Sources of skills: a folder on disk, or skills that are in memory already."""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from skillcue.library.characters import nfc
from skillcue.library.codes import diagnostic
from skillcue.library.decoding import decode
from skillcue.library.limits import DEFAULT_LIMITS, ReadLimits
from skillcue.library.naming import display_name, skill_id
from skillcue.library.opening import NotRegularError, OutsideError, read_regular
from skillcue.library.reader import Origin, ReadResult, read_body, read_skill
from skillcue.library.walker import Found, WalkResult, is_skill_file, walk
from skillcue_adapters.locks import ForkSafeLock
from skillcue_hooks.contracts import Diagnostic, Skill, SourceScan, Trust
from skillcue_hooks.errors import LibraryNotFoundError, SkillFileError, closest_names
from skillcue_hooks.fingerprint import fingerprint

__all__ = ["FolderSource", "StaticSource"]

log = logging.getLogger("skillcue.library")

_TICK_NS = 100_000_000
"""A file younger than this (nanoseconds) when it was read may change again within one tick of
the file system's clock, so it is read once more the next time."""
_COARSE_TICK_NS = 2_000_000_000
"""The same for file systems that keep whole seconds."""
_PROGRESS_EVERY = 64
"""Files between two calls of a progress callback."""


@dataclass(frozen=True, slots=True)
class _Record:
    """What is known about one file.

    Attributes:
        state: Size, times and inode when it was read; None when it must be read again.
        result: What the reader said.
        mark: Identity of `result`.
    """

    state: tuple[int, ...] | None
    result: ReadResult
    mark: str


class FolderSource:
    """Every skill below a folder.

    Building one touches no disk; `check` and `scan` do. Thread-safe.

    Args:
        path: A folder of skills, one skill's folder, or a SKILL.md file. ``~`` is expanded; a
            relative path is resolved once, on first use.
        trust: Trust level of everything in it.
        label: Name shown beside its skills; the folder's name by default.
        strict: Reject every file about which there is a warning.
        limits: Bounds of walking and reading.
        allowed_roots: Further folders into which a linked SKILL.md may lead.
        follow_links_outside: Follow linked *folders* that lead out of the source. By default
            as far as `trust` is ``trusted``: people link skills from elsewhere on purpose, a
            downloaded library must not. A linked SKILL.md *file* is only ever followed into the
            source, its own folder or `allowed_roots`, since it could show any file.
        progress: Called with (files read, files to read) now and then during a long scan.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        trust: Trust = "trusted",
        label: str | None = None,
        strict: bool = False,
        limits: ReadLimits = DEFAULT_LIMITS,
        allowed_roots: Iterable[str | os.PathLike[str]] = (),
        follow_links_outside: bool | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._path = os.path.expanduser(os.fspath(path))
        self._label = label
        self._trust: Trust = trust
        self._strict = strict
        self._limits = limits
        self._allowed = [os.path.expanduser(os.fspath(root)) for root in allowed_roots]
        outside = follow_links_outside
        self._follow_outside = trust == "trusted" if outside is None else outside
        self._progress = progress
        self._lock = ForkSafeLock()
        self._root: str | None = None
        self._records: dict[str, _Record] = {}
        self._last: SourceScan | None = None

    def __repr__(self) -> str:
        return f"FolderSource({self._path!r}, trust={self._trust!r})"

    @property
    def path(self) -> Path:
        """The folder, absolute."""
        return Path(self._resolved())

    @property
    def label(self) -> str:
        return self._label or display_name(self._resolved()) or "root"

    @property
    def trust(self) -> Trust:
        return self._trust

    @property
    def limits(self) -> ReadLimits:
        """Bounds of walking and reading, for the files beside a skill as well."""
        return self._limits

    def check(self) -> None:
        """Make sure that the source can be read.

        Raises:
            LibraryNotFoundError: It does not exist, is neither a folder nor a SKILL.md file, or
                cannot be listed.
        """
        if os.path.isfile(self._path) and not is_skill_file(os.path.basename(self._path)):
            raise LibraryNotFoundError(
                f"Skill source {self._path!r} is a file.",
                "Pass a folder of skills, or a SKILL.md file.",
            )
        root = self._resolved()
        try:
            os.scandir(root).close()
        except FileNotFoundError:
            raise LibraryNotFoundError(
                f"Skill source {self._path!r} does not exist.", _nearby(root)
            ) from None
        except OSError as error:
            raise LibraryNotFoundError(
                f"Skill source {self._path!r} cannot be listed: {error.strerror or error}.",
                "It must be a folder that this process may read.",
            ) from error

    def scan(self, previous: SourceScan | None = None) -> SourceScan:
        """What the folder holds now; only files that changed are read.

        A file counts as changed when size, modification time (ns), change time (ns) or inode
        differ from when it was read. Returns `previous` itself when nothing changed. When the
        folder is gone, what was found last is kept and an error is added.
        """
        with self._lock:
            roots = self._roots()
            walked = walk(self._resolved(), self._limits, roots, self._follow_outside)
            if walked.listed:
                current = self._last = self._assemble(walked, roots)
            else:
                current = self._without_folder(previous)
            return _unless_same(previous, current)

    def read_body(self, skill: Skill) -> str:
        """The whole body as the file has it now, up to ``limits.file_bytes``.

        Raises:
            SkillFileError: The file is gone or may not be read.
        """
        return read_body(self._read_again(skill), skill.path, self._limits)

    def read_text(self, skill: Skill) -> str:
        """The whole file as it was read, hidden characters included, up to ``limits.file_bytes``.

        Raises:
            SkillFileError: The file is gone, may not be read, or is not the one of the last look.
        """
        data = self._read_again(skill)
        limit = self._limits.file_bytes
        text = decode(data[:limit], len(data) <= limit).text
        if hashlib.sha256(text.encode("utf-8")).hexdigest() != skill.content_hash:
            raise SkillFileError(
                f"The file of skill {skill.name!r} has just changed.", "Look the skill up again."
            )
        return text

    def base_dir(self, skill: Skill) -> Path | None:
        """The folder of the skill."""
        return skill.path.parent

    def _read_again(self, skill: Skill) -> bytes:
        try:
            return read_regular(str(skill.path), self._limits.file_bytes, self._roots())[0]
        except OSError as error:
            raise SkillFileError(
                f"The file of skill {skill.name!r} cannot be read: {error.strerror or error}.",
                "It may have been moved or deleted; look the skill up again.",
            ) from error

    def _resolved(self) -> str:
        """The absolute folder; found on first use, so that building a source touches no disk."""
        if self._root is None:
            path = os.path.abspath(self._path)
            names_file = is_skill_file(os.path.basename(path)) and not os.path.isdir(path)
            self._root = os.path.dirname(path) if names_file else path
        return self._root

    def _roots(self) -> list[str]:
        return [os.path.realpath(root) for root in (self._resolved(), *self._allowed)]

    def _assemble(self, walked: WalkResult, roots: list[str]) -> SourceScan:
        paths = {os.path.join(found.folder, found.file): found for found in walked.found}
        records = {path: self._still_valid(path) for path in paths}
        stale = [path for path, record in records.items() if record is None]
        for number, path in enumerate(stale):
            if self._progress and number % _PROGRESS_EVERY == 0:
                self._progress(number, len(stale))
            records[path] = self._read(path, paths[path], roots)
        if self._progress and stale:
            self._progress(len(stale), len(stale))
        self._records = {path: record for path, record in records.items() if record}
        return self._scan_of(walked)

    def _still_valid(self, path: str) -> _Record | None:
        known = self._records.get(path)
        if known is None or known.state is None:
            return None
        try:
            return known if known.state == _state(os.stat(path)) else None
        except OSError:  # reading it again reports why
            return None

    def _scan_of(self, walked: WalkResult) -> SourceScan:
        results = [record.result for record in self._records.values()]
        marks = "\n".join(record.mark for record in self._records.values())
        diagnostics = [*walked.diagnostics]
        for result in results:
            diagnostics += result.diagnostics
        return SourceScan(
            tuple(result.skill for result in results if result.skill is not None),
            tuple(diagnostics),
            fingerprint(marks, _marks(walked.diagnostics)),
        )

    def _read(self, path: str, found: Found, roots: list[str]) -> _Record:
        origin = Origin(
            Path(path),
            found.relative,
            display_name(found.folder if found.relative == "." else found.relative),
            self.label,
            self._trust,
            found.ignored,
        )
        state: tuple[int, ...] | None = None
        try:
            data, status = read_regular(path, self._limits.file_bytes, roots)
            result = read_skill(data, origin, self._limits, self._strict, status.st_size)
            state = None if _may_change_unseen(status) else _state(status)
        except OSError as error:
            message = f"{error.strerror or error}."
            result = ReadResult(None, (diagnostic(_code(error), origin.path, message),))
        except Exception as error:  # a bug in the reader must not take the whole library down
            log.warning("reading %s failed", path, exc_info=error)
            message = f"{type(error).__name__}: {error}"
            result = ReadResult(None, (diagnostic("reader-failed", origin.path, message),))
        skill = result.skill
        identity = [skill.id, skill.content_hash, found.relative] if skill else []
        return _Record(state, result, fingerprint(identity, path, _marks(result.diagnostics)))

    def _without_folder(self, previous: SourceScan | None) -> SourceScan:
        kept = self._last or previous or SourceScan(())
        gone = diagnostic(
            "source-missing", self.path, f"{len(kept.skills)} skills are kept from before."
        )
        if gone in kept.diagnostics:
            return kept
        mark = fingerprint("source-missing", kept.fingerprint)
        return SourceScan(kept.skills, (gone, *kept.diagnostics), mark)


class StaticSource:
    """Skills that are in memory already.

    Args:
        label: Name shown beside the skills.
        skills: In precedence order. An empty id, source or content hash is filled in.
        trust: Trust level of all of them.
    """

    def __init__(self, label: str, skills: Iterable[Skill], trust: Trust = "trusted") -> None:
        self._label = label
        self._trust: Trust = trust
        filled = tuple(self._fill(skill) for skill in skills)
        self._bodies = {skill.id: skill.body for skill in filled}
        self._scan = SourceScan(filled, (), fingerprint([_identity(skill) for skill in filled]))

    @property
    def label(self) -> str:
        return self._label

    @property
    def trust(self) -> Trust:
        return self._trust

    def scan(self, previous: SourceScan | None = None) -> SourceScan:
        """Always the same skills."""
        return _unless_same(previous, self._scan)

    def read_body(self, skill: Skill) -> str:
        """The body the skill was given."""
        return self._bodies.get(skill.id, skill.body)

    def base_dir(self, skill: Skill) -> Path | None:
        """None: there are no files."""
        return None

    def _fill(self, skill: Skill) -> Skill:
        name = nfc(skill.name)
        return replace(
            skill,
            id=skill.id or skill_id(name, name),
            name=name,
            source=self._label,
            trust=self._trust,
            content_hash=skill.content_hash or fingerprint(name, skill.description, skill.body),
        )


def _unless_same(previous: SourceScan | None, current: SourceScan) -> SourceScan:
    """`previous` where it says the same, so that callers can compare by identity."""
    if previous is not None and previous.fingerprint == current.fingerprint:
        return previous
    return current


def _identity(skill: Skill) -> list[str]:
    return [skill.id, skill.content_hash, skill.description, skill.body]


def _marks(diagnostics: Iterable[Diagnostic]) -> str:
    return "\n".join(f"{d.code} {d.path} {d.line} {d.message}" for d in diagnostics)


def _state(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)


def _may_change_unseen(status: os.stat_result) -> bool:
    """The file is so young that an edit right now might leave all its times as they are."""
    changed = max(status.st_mtime_ns, status.st_ctime_ns)
    tick = _COARSE_TICK_NS if changed % 1_000_000_000 == 0 else _TICK_NS
    return abs(time.time_ns() - changed) < tick


def _code(error: OSError) -> str:
    if isinstance(error, OutsideError):
        return "link-outside"
    return "not-a-regular-file" if isinstance(error, NotRegularError) else "file-unreadable"


def _nearby(path: str) -> str:
    """Siblings that look like the missing folder, or the nearest folder that does exist."""
    parent, missing = os.path.split(path)
    while parent and not os.path.isdir(parent) and os.path.dirname(parent) != parent:
        parent, missing = os.path.split(parent)
    try:
        names = sorted(os.listdir(parent))
    except OSError:
        names = []
    near = closest_names(missing, names)
    if near:
        return f"Did you mean {' or '.join(repr(os.path.join(parent, name)) for name in near)}?"
    return f"The nearest folder that exists is {parent!r}."
