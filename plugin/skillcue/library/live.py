"""A library that follows its files: each call gets the newest snapshot there is time for."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from skillcue.library.codes import diagnostic
from skillcue.library.composed_names import Composed
from skillcue.library.snapshot import Enrich, LibrarySnapshot, build_snapshot
from skillcue.library.whole import whole_text
from skillcue_adapters.locks import ForkSafeLock
from skillcue_hooks.contracts import Diagnostic, Skill, SourceScan
from skillcue_hooks.errors import ConfigurationError, IndexUnavailableError
from skillcue_hooks.protocols import SkillSource

__all__ = ["Ask", "Assessor", "LiveLibrary", "Recheck", "RecheckSettings", "check_recheck"]

Recheck = Literal["auto", "always", "background", "manual"]
"""When files are looked at again: ``auto`` decides by what the last look cost, ``always`` on
every call, ``background`` never makes a call wait, ``manual`` only in `LiveLibrary.refresh`."""

Ask = Callable[[Skill, str], tuple[Diagnostic, ...] | None]
"""Gives what is found in a skill and its whole text."""

_RECHECKS = ("auto", "always", "background", "manual")

log = logging.getLogger("skillcue.library")


@dataclass(frozen=True, slots=True)
class RecheckSettings:
    """How much time re-checking files may take.

    Attributes:
        free_s: Up to this cost (seconds) every call re-checks.
        slow_s: From this cost (seconds) on, re-checks run in the background.
        share: Between the two, and in the background, re-checks take at most this share of
            wall time, 0 to 1.
        first_guess: Cost of a re-check as a share of the cost of the first scan, used until one
            was measured; a re-check looks at states, the first scan reads everything.
        close_s: Seconds to wait for a running re-check when closing.
    """

    free_s: float = 0.020
    slow_s: float = 0.050
    share: float = 0.1
    first_guess: float = 0.02
    close_s: float = 5.0


def check_recheck(recheck: object) -> None:
    """Make sure that it is one of the values of `Recheck`.

    Raises:
        ConfigurationError: It is not.
    """
    if recheck not in _RECHECKS:
        raise ConfigurationError(f"recheck is {recheck!r}.", f"Use one of: {', '.join(_RECHECKS)}.")


class LiveLibrary:
    """The snapshots of a list of sources over time. Thread-safe; building one reads nothing.

    Args:
        sources: In precedence order, earlier first.
        assess: Called once for each skill id and content hash, with the whole text. A finding of
            severity ``error`` or an exception makes the skill untrusted, so that it is never
            pushed.
        enrich: Adds search terms to the skills of each snapshot.
        recheck: See `Recheck`.
        clock: Monotonic time in seconds.
        settings: Costs that ``auto`` goes by.
        composed: Skills that were composed of others.

    Raises:
        ConfigurationError: `recheck` is not one of its values.
    """

    def __init__(
        self,
        sources: Sequence[SkillSource],
        *,
        assess: Ask | None = None,
        enrich: Enrich | None = None,
        recheck: Recheck = "auto",
        clock: Callable[[], float] = time.monotonic,
        settings: RecheckSettings | None = None,
        composed: Composed | None = None,
    ) -> None:
        check_recheck(recheck)
        self._sources = tuple(sources)
        self._assessor = Assessor(assess) if assess else None
        self._composed = composed
        self._enrich = enrich
        self._recheck = recheck
        self._clock = clock
        self._settings = settings or RecheckSettings()
        self._order = itertools.count(1)
        self._scan_lock = ForkSafeLock()
        self._thread_lock = ForkSafeLock()
        self._thread: threading.Thread | None = None
        self._scans: list[SourceScan | None] = [None] * len(self._sources)
        self._failures: dict[int, Diagnostic] = {}
        self._current: LibrarySnapshot | None = None
        self._began = 0
        self._ended_at = 0.0
        self._cost: float | None = None
        self._closed = False

    @property
    def sources(self) -> tuple[SkillSource, ...]:
        return self._sources

    def snapshot(self) -> LibrarySnapshot:
        """The current snapshot; looks at the files first when that is due and cheap.

        The first call reads everything. Two calls without a change in between return the same
        object.
        """
        current = self._current
        if current is None:
            return self._check()
        if self._closed or not self._is_due():
            return current
        if self._in_background():
            self._start_thread()
            return current
        return self._check()

    def refresh(self) -> LibrarySnapshot:
        """Look at all files now; sees every change made before the call."""
        return self._check()

    def failed(self, error: IndexUnavailableError) -> None:
        """Nothing: it is in no index."""

    def close(self) -> None:
        """Stop re-checking. Snapshots stay usable."""
        self._closed = True
        with self._thread_lock:
            thread = self._thread
        if thread and thread is not threading.current_thread():
            thread.join(self._settings.close_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _is_due(self) -> bool:
        if self._recheck in ("always", "manual"):
            return self._recheck == "always"
        cost = self._cost or 0.0
        if cost < self._settings.free_s:
            return True
        pause = cost * (1.0 / self._settings.share - 1.0)
        return self._clock() - self._ended_at >= pause

    def _in_background(self) -> bool:
        slow = (self._cost or 0.0) >= self._settings.slow_s
        return self._recheck == "background" or (self._recheck == "auto" and slow)

    def _start_thread(self) -> None:
        with self._thread_lock:
            if self._closed or (self._thread and self._thread.is_alive()):
                return
            self._thread = threading.Thread(target=self._run, name="skillcue-library", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            self._check()
        except Exception:  # nobody waits for this thread; the last good snapshot stays
            log.exception("re-checking the library failed")

    def _check(self) -> LibrarySnapshot:
        """Scan, unless a scan that began after this call has done so already."""
        arrival = next(self._order)
        with self._scan_lock:
            if self._current is not None and self._began > arrival:
                return self._current
            self._began = next(self._order)
            started = self._clock()
            before = self._current
            current = self._scan()
            self._ended_at = self._clock()
            cost = self._ended_at - started
            if before is None:
                self._cost = cost * self._settings.first_guess
            elif before is current:  # reading what changed says nothing about the next look
                self._cost = cost
            self._current = current
            return current

    def _scan(self) -> LibrarySnapshot:
        scans: list[SourceScan | None] = []
        failures: dict[int, Diagnostic] = {}
        for number, source in enumerate(self._sources):
            before = self._scans[number]
            try:
                scans.append(source.scan(before))
            except Exception as error:  # sources fail apart; the last good scan stays
                log.warning("source %s failed: %r", source.label, error, exc_info=error)
                message = f"{source.label}: {type(error).__name__}: {error}"
                failures[number] = diagnostic("source-failed", Path(source.label), message)
                scans.append(before)
        current = self._current
        same = all(new is old for new, old in zip(scans, self._scans, strict=True))
        if current is not None and same and failures == self._failures:
            return current
        self._scans, self._failures = scans, failures
        return self._build()

    def _build(self) -> LibrarySnapshot:
        scans = [scan or SourceScan(()) for scan in self._scans]
        assess = self._assessor.assess if self._assessor else None
        snapshot = build_snapshot(
            self._sources, scans, assess, self._failures.values(), self._composed, self._enrich
        )
        if self._assessor:
            self._assessor.forget_others(snapshot.skills)
        if self._current is None or self._current.generation != snapshot.generation:
            _log_counts(snapshot)
        return snapshot


class Assessor:
    """Asks about each skill version once."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._known: dict[tuple[str, str], tuple[Diagnostic, ...]] = {}

    def assess(self, skill: Skill, source: SkillSource) -> tuple[Skill, tuple[Diagnostic, ...]]:
        """`skill`, with lower trust if need be, and what was found in it."""
        key = (skill.id, skill.content_hash)
        if key not in self._known:
            self._known[key] = self._findings(skill, source)
        findings = self._known[key]
        if any(item.severity == "error" for item in findings):
            return replace(skill, trust="untrusted", pushable=False), findings
        return skill, findings

    def forget_others(self, skills: Sequence[Skill]) -> None:
        """Keep answers about these skills only, so that edits do not pile up."""
        alive = {(skill.id, skill.content_hash) for skill in skills}
        self._known = {key: found for key, found in self._known.items() if key in alive}

    def _findings(self, skill: Skill, source: SkillSource) -> tuple[Diagnostic, ...]:
        try:
            return tuple(self._ask(skill, whole_text(source, skill)) or ())
        except Exception as error:  # a scanner that fails must not make a skill look safe
            log.warning("assessing %s failed: %r", skill.id, error, exc_info=error)
            message = f"{skill.id}: {type(error).__name__}: {error}"
            return (diagnostic("assessment-failed", skill.path, message),)


def _log_counts(snapshot: LibrarySnapshot) -> None:
    errors = sum(item.severity == "error" for item in snapshot.diagnostics)
    warnings = sum(item.severity == "warning" for item in snapshot.diagnostics)
    kept = len(snapshot.skills)
    log.info(
        "library %s: %d skills found, %d kept, %d dropped as copies; %d errors, %d warnings",
        snapshot.generation[:12],
        snapshot.found,
        kept,
        snapshot.found - kept,
        errors,
        warnings,
    )
