"""What was learned from the stored events, fitted again as they grow. A load never waits for it."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skillcue.library.protocols import Snapshot
from skillcue.successors.held_out import Evidence, evaluate
from skillcue.successors.history import newest_event, read_history
from skillcue.successors.settings import NextSettings
from skillcue.successors.steps import find_steps
from skillcue.telemetry.reading import holds_events
from skillcue_adapters.locks import ForkSafeLock
from skillcue_adapters.threads import is_ending, start_background

__all__ = ["Learned", "NextModel", "fit", "is_control", "known_in"]

log = logging.getLogger("skillcue.next")

LOOK_S = 10.0
"""The file is looked at so seldom at most, seconds."""
GROWTH = 0.1
"""Share of new loads from which on it is fitted again."""
LEAST_NEW = 10
"""Fewer new loads are no reason to."""
CLOSE_S = 5.0
"""How long closing waits for a fit that is under way, seconds."""


@dataclass(frozen=True, slots=True)
class Learned:
    """One fit.

    Attributes:
        evidence: By skill, the likeliest to follow, likeliest first.
        newest: Id of the newest event that it knows.
        loads: Number of loads that it was fitted to.
        known: Ids of skills in the history that the library had.
        unknown: Those that it had not.
    """

    evidence: Mapping[str, tuple[Evidence, ...]] = field(default_factory=dict)
    newest: int = 0
    loads: int = 0
    known: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()

    def after(self, skill_id: str) -> Sequence[Evidence]:
        """What may be suggested after the skill."""
        return [item for item in self.evidence.get(skill_id, ()) if item.why == "better"]


Known = Callable[[Collection[str]], frozenset[str]]
"""Gives those of some ids that the library has a skill with."""


def fit(path: Path, settings: NextSettings, known_of: Known) -> Learned:
    """Learn from the events of a file; nothing where there is no file yet.

    Args:
        path: The events.
        settings: What it takes to be suggested.
        known_of: Says which skills the library has.

    Raises:
        sqlite3.Error: The file cannot be read.
        ValueError: It is of another version of skillcue, or damaged.
    """
    if not holds_events(path):
        return Learned()
    newest, _ = newest_event(path)
    history = read_history(path, settings.history)
    read = [happening.skills[0] for happening in history if happening.kind == "load"]
    known = known_of(frozenset(read))
    steps = find_steps(history, settings, known.__contains__)
    evidence = evaluate(steps, settings)
    return Learned(evidence, newest, len(read), known, frozenset(read) - known)


def known_in(snapshot: Snapshot) -> Known:
    """Tells which skills the library has, an index asked once; what was composed for a task is none."""
    library = snapshot.library

    def known_of(ids: Collection[str]) -> frozenset[str]:
        if library.index is not None:
            found = library.index.fetch(sorted(ids), library.tenants)
        else:
            found = {i: skill for i in ids if (skill := snapshot.get(i)) is not None}
        return frozenset(i for i, skill in found.items() if not skill.derived_from)

    return known_of


def is_control(session: str, share: float) -> bool:
    """Whether nothing that was learned is shown in a conversation, so that it can be measured on.

    Args:
        session: The hash of the conversation.
        share: Share of conversations, 0 to 1.
    """
    digest = hashlib.sha256(f"next {session}".encode()).digest()
    return int.from_bytes(digest[:8]) < share * 2**64


class NextModel:
    """The newest fit. Safe to share between threads; several processes may share the file.

    Args:
        path: The events; there may be no file yet.
        settings: What it takes to be suggested.
        snapshot: Gives the library now.
    """

    def __init__(
        self, path: Path, settings: NextSettings, snapshot: Callable[[], Snapshot]
    ) -> None:
        self._path = path
        self._settings = settings
        self._snapshot = snapshot
        self._lock = ForkSafeLock()
        self._fitting = ForkSafeLock()
        self._learned: Learned | None = None
        self._thread: threading.Thread | None = None
        self._looked_at = 0.0
        self._closed = False
        self._generation = ""  # of the library that was last compared with the history
        self._told = ""  # the last failure: it is tried again and again

    def learned(self) -> Learned:
        """What is known now; looks for more in the background when that is due."""
        with self._lock:
            now = time.monotonic()
            due = self._learned is None or now - self._looked_at >= LOOK_S
            at_work = self._thread is not None and self._thread.is_alive()  # never in a fork
            if due and not at_work and not self._closed:
                self._looked_at = now
                self._thread = start_background("skillcue-next", self.try_fit)
            return self._learned or Learned()

    def fit(self) -> Learned:
        """Fit now, if anything is new."""
        with self._fitting:
            before, snapshot = self._learned, self._snapshot()
            if before is None or self._has_grown(before, snapshot):
                self._learned = fit(self._path, self._settings, known_in(snapshot))
            self._generation = snapshot.generation
        return self._learned or Learned()

    def try_fit(self) -> None:
        """As `fit`; where that fails, what was learned before stays, and the reason is logged."""
        try:
            self.fit()
        except Exception as error:  # noqa: BLE001  # whatever the file does, loads go on
            if repr(error) != self._told and not is_ending():
                self._told = repr(error)
                log.warning("learning what comes next from %s failed: %r", self._path, error)
            with self._lock:
                self._learned = self._learned or Learned()

    def close(self) -> None:
        """Fit nothing any more, and wait for what is under way."""
        self._closed = True
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(CLOSE_S)

    def _has_grown(self, before: Learned, snapshot: Snapshot) -> bool:
        if not holds_events(self._path):
            return before.loads > 0
        new = newest_event(self._path, before.newest)[1]
        if new >= max(LEAST_NEW, GROWTH * before.loads):
            return True
        if snapshot.generation == self._generation:
            return False
        return known_in(snapshot)(before.known | before.unknown) != before.known
