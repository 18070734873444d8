"""A source that lies elsewhere: brought into a folder, then read like any folder of skills."""

from __future__ import annotations

import logging
import os
import threading
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TypedDict

from skillcue.library.codes import diagnostic
from skillcue.library.limits import DEFAULT_LIMITS, ReadLimits
from skillcue.library.source import FolderSource
from skillcue.remote.failures import RefusedError, SourceFetchError, UnreachableError
from skillcue.remote.limits import DEFAULT_FETCH_LIMITS, FetchLimits
from skillcue.remote.store import TOUCH_S, Entry, Last, SourceStore
from skillcue_adapters.locks import ForkSafeLock
from skillcue_adapters.threads import start_background
from skillcue_hooks.contracts import Diagnostic, Skill, SourceScan, Trust
from skillcue_hooks.errors import ConfigurationError, UnknownSettingError
from skillcue_hooks.fingerprint import fingerprint

__all__ = ["Fetched", "MirrorOptions", "MirroredSource", "SourceOptions", "mirror_options"]

RETRY_S = 30.0
"""After a failure the next attempt waits at most that long, seconds."""

EXIT_WAIT_S = 2.0
"""At exit a fetch is waited for so long, seconds; what it leaves half done is cleaned up later."""

log = logging.getLogger("skillcue.library")


@dataclass(frozen=True, slots=True)
class MirrorOptions:
    """What all sources that lie elsewhere have in common.

    Attributes:
        trust: Trust level of every skill in it. Only code can say ``trusted``, no text.
        label: Name shown beside its skills; None takes one from the place.
        cache: Folder that keeps what was fetched over restarts, shared by processes; None
            takes a temporary folder.
        refresh: Seconds between two looks at the place, 0 or more. After the first look they run
            in the background.
        strict: Reject every file about which there is a warning.
        fetch_limits: Bounds on what is fetched.
        read_limits: Bounds of reading the fetched files.

    Raises:
        ConfigurationError: A value is out of range.
    """

    trust: Trust = "untrusted"
    label: str | None = None
    cache: Path | None = None
    refresh: float = 300.0
    strict: bool = False
    fetch_limits: FetchLimits = DEFAULT_FETCH_LIMITS
    read_limits: ReadLimits = DEFAULT_LIMITS

    def __post_init__(self) -> None:
        if self.trust not in ("trusted", "untrusted"):
            raise ConfigurationError(f"trust is {self.trust!r}.", 'Use "trusted" or "untrusted".')
        if not isinstance(self.refresh, int | float) or not self.refresh >= 0:
            raise ConfigurationError(
                f"refresh is {self.refresh!r}.", "It is a number of seconds, 0 or more."
            )
        if self.cache is not None:  # a process may change its folder
            object.__setattr__(self, "cache", Path(self.cache).expanduser().absolute())


class SourceOptions(TypedDict, total=False):
    """The fields of `MirrorOptions` as keyword arguments of a source."""

    trust: Trust
    label: str | None
    cache: str | os.PathLike[str] | None
    refresh: float
    strict: bool
    fetch_limits: FetchLimits
    read_limits: ReadLimits


@dataclass(frozen=True, slots=True)
class Fetched:
    """The answer of one fetch.

    Attributes:
        entry: The content on disk.
        state: What tells the next fetch that nothing changed.
    """

    entry: Entry
    state: str = ""


class MirroredSource(ABC):
    """Base of the sources that are fetched. Thread-safe; building one touches nothing.

    The first look waits for the place, at most ``fetch_limits.seconds``; later ones run in the
    background, and what was fetched last stays until something new is complete. A failure is a
    diagnostic, never an exception.

    Args:
        options: What all such sources have in common.
        location: The place, fit to be shown: no credentials.
        identity: Everything that tells this source from others.
        label: Label where the options name none.
        name: Name of the folder that holds the files: the walker shows it for a skill at the root.
        pinned: Digest that never changes, where one was asked for.
        local: The place is on this machine, so that each look checks it at once.
    """

    def __init__(
        self,
        options: MirrorOptions,
        *,
        location: str,
        identity: str,
        label: str,
        name: str,
        pinned: str | None = None,
        local: bool = False,
    ) -> None:
        self.location = location
        self.options = options
        self._label = options.label or label
        self._pinned = pinned
        self._local = local
        self._store = SourceStore(options.cache, identity, name)
        self._fetching = ForkSafeLock()
        self._lock = ForkSafeLock()
        self._thread: threading.Thread | None = None
        self._entry: Entry | None = None
        self._reader: FolderSource | None = None
        self._failure: Diagnostic | None = None
        self._next_look: float | None = None
        self._touch_at = 0.0
        self._read: SourceScan | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.location!r}, trust={self.trust!r})"

    @property
    def label(self) -> str:
        return self._label

    @property
    def trust(self) -> Trust:
        return self.options.trust

    @property
    def digest(self) -> str:
        """What its skills were taken from: ``git:<commit>`` or ``sha256:<hex>``; empty before the
        first fetch."""
        return self._entry.digest if self._entry else ""

    @property
    def limits(self) -> ReadLimits:
        """Bounds of reading the fetched files."""
        return self.options.read_limits

    def scan(self, previous: SourceScan | None = None) -> SourceScan:
        """What was fetched last; looks at the place when that is due."""
        if self._is_due():
            if self._next_look is None or self._local:
                self._look()
            else:
                self._start_thread()
        with self._lock:
            current = self._answer()
        same = previous is not None and previous.fingerprint == current.fingerprint
        return previous if same and previous is not None else current

    def update(self) -> bool:
        """Fetch now and wait for it; True when the content changed. The next scan shows it."""
        before = self.digest
        self._look(anew=True)
        return self.digest != before

    def read_body(self, skill: Skill) -> str:
        """The whole body of a skill, up to ``read_limits.file_bytes``.

        Raises:
            SkillFileError: Its file is gone.
        """
        reader = self._reader or FolderSource(skill.path.parent, limits=self.limits)
        return reader.read_body(skill)

    def read_text(self, skill: Skill) -> str:
        """The whole SKILL.md, for assessors.

        Raises:
            SkillFileError: It is gone, or not the one of the last look.
        """
        reader = self._reader or FolderSource(skill.path.parent, limits=self.limits)
        return reader.read_text(skill)

    def base_dir(self, skill: Skill) -> Path | None:
        """The folder of the skill among what was fetched."""
        return skill.path.parent

    @abstractmethod
    def _fetch(self, last: Last | None) -> Fetched:
        """Bring what the place holds into the store.

        Args:
            last: The last good fetch.

        Raises:
            SourceFetchError: It failed.
        """

    def _seems_changed(self) -> bool:
        """A cheap look at a local place; True where it cannot tell."""
        return True

    def _is_due(self) -> bool:
        if self._next_look is None:
            return True
        if self._entry is not None and not self._entry.folder.is_dir():
            self._next_look = None  # somebody emptied the cache
            return True
        if time.monotonic() < self._next_look:
            return False
        return not self._local or self._seems_changed()

    def _start_thread(self) -> None:
        with self._lock:
            if self._thread and self._thread.is_alive():
                return
            self._thread = start_background("skillcue-fetch", self._look, EXIT_WAIT_S)

    def _look(self, anew: bool = False) -> None:
        asked = time.monotonic()
        with self._fetching:
            if not anew and self._next_look is not None and self._next_look > asked:
                return  # another thread has just looked
            failure: Diagnostic | None = None
            entry = self._entry
            try:
                entry = self._fetched(anew)
            except SourceFetchError as error:
                failure = self._note(error.code, f"{_sentence(error.message)} {error.cure}")
            except OSError as error:
                failure = self._note(UnreachableError.code, f"{error.strerror or error}.")
            except Exception as error:  # a bug or a hostile answer; the other sources go on
                log.warning("fetching %s failed: %r", self.location, error, exc_info=error)
                failure = self._note(RefusedError.code, f"{type(error).__name__}: {error}")
            if failure is not None and entry is None:
                entry = self._kept_on_disk()
            self._settle(entry, failure)

    def _fetched(self, anew: bool) -> Entry:
        pinned = self._store.get(self._pinned) if self._pinned else None
        recent = pinned or (None if anew else self._recent())
        if recent is not None:
            return recent
        with self._store.only_one(self.options.fetch_limits.seconds):
            recent = None if anew else self._recent()
            if recent is not None:
                return recent
            fetched = self._fetch(self._store.last())
            self._store.remember(Last(fetched.entry.digest, time.time(), fetched.state))
            return fetched.entry

    def _recent(self) -> Entry | None:
        """What another process, or this one before a restart, fetched less than `refresh` ago."""
        last = self._store.last()
        if last is None or self._local:
            return None
        fresh = 0 <= time.time() - last.at < self.options.refresh
        return self._store.get(last.digest) if fresh else None

    def _kept_on_disk(self) -> Entry | None:
        try:
            last = self._store.last()
            return self._store.get(last.digest) if last else None
        except OSError:
            return None

    def _settle(self, entry: Entry | None, failure: Diagnostic | None) -> None:
        with self._lock:
            if entry is not None and (self._entry is None or entry != self._entry):
                self._entry = entry
                self._reader = FolderSource(
                    entry.folder,
                    trust=self.trust,
                    label=self.label,
                    strict=self.options.strict,
                    limits=self.options.read_limits,
                    follow_links_outside=False,
                )
                self._read = None
            if failure is not None and failure != self._failure:
                log.warning("source %s: %s", self.label, failure.message)
            self._failure = failure
            wait = 0.0 if self._local else self.options.refresh
            if failure is not None:
                wait = min(wait, RETRY_S)
            elif self._pinned:
                wait = float("inf")
            self._next_look = time.monotonic() + wait

    def _answer(self) -> SourceScan:
        entry, reader = self._entry, self._reader
        found: list[Diagnostic] = []
        read = SourceScan(())
        if entry is not None and reader is not None:
            self._touch(entry)
            read = self._read = reader.scan(self._read)
            found = [self._left_out(item.path, item.reason) for item in entry.left_out]
        if self._failure is not None:
            kept = f" {len(read.skills)} skills are kept from before." if entry else ""
            first = self._failure
            found.insert(0, diagnostic(first.code, first.path, first.message + kept))
        marks = [[item.code, str(item.path), item.message] for item in found]
        mark = fingerprint(read.fingerprint, marks)
        return SourceScan(read.skills, (*found, *read.diagnostics), mark)

    def _touch(self, entry: Entry) -> None:
        now = time.monotonic()
        if now >= self._touch_at:
            self._touch_at = now + TOUCH_S
            with suppress(OSError):  # it is read as long as it is there
                self._store.get(entry.digest)

    def _note(self, code: str, message: str) -> Diagnostic:
        return diagnostic(code, Path(self.label), f"{self.location}: {message}".strip())

    def _left_out(self, path: str, reason: str) -> Diagnostic:
        return diagnostic("source-part-left-out", Path(self.label) / path, reason)


def _sentence(text: str) -> str:
    """`text`, which a server or a program may have said, with an end before the cure."""
    said = text.rstrip()
    return said if said.endswith((".", "!", "?")) else f"{said}."


def mirror_options(given: SourceOptions) -> MirrorOptions:
    """`MirrorOptions` of the keyword arguments of a source.

    Raises:
        UnknownSettingError: There is no such option.
        ConfigurationError: A value is out of range.
    """
    known = [item.name for item in fields(MirrorOptions)]
    for name in given:
        if name not in known:
            raise UnknownSettingError(name, known)
    return MirrorOptions(**given)  # type: ignore[arg-type]  # the path is made in __post_init__
