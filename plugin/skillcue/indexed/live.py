"""An index that is followed: told of a change, or asked now and then where it cannot tell."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from skillcue.indexed.connect import connect
from skillcue.indexed.snapshot import IndexSnapshot
from skillcue.indexed.source import IndexSource
from skillcue.library.composed_names import Composed
from skillcue.library.live import Recheck, check_recheck
from skillcue_adapters.locks import ForkSafeLock
from skillcue_adapters.threads import start_background
from skillcue_hooks.errors import IndexUnavailableError
from skillcue_hooks.protocols import SkillSource
from skillcue_hooks.skill_index import SkillIndex

__all__ = ["DOWN_S", "POLL_S", "LiveIndex", "live_index"]

POLL_S = 1.0
"""An index that does not tell of changes is asked for its revision this often, seconds."""
DOWN_S = 1.0
"""After an index could not be reached, nobody waits for it for so long, seconds."""

log = logging.getLogger("skillcue.index")


class LiveIndex:
    """The snapshots of an index over time. Thread-safe; building one asks nothing.

    Args:
        index: The index.
        tenants: Whose skills, in order of precedence.
        label: Name shown for the index.
        recheck: ``auto`` asks for the revision in the next call after a change was told,
            ``background`` meanwhile answers from the snapshot before, ``always`` asks every time,
            ``manual`` only in `refresh`.
        composed: Skills that were composed of others.
        owned: Close the index as well.
        clock: Monotonic time in seconds.

    Raises:
        ConfigurationError: `recheck` is not one of its values.
    """

    def __init__(
        self,
        index: SkillIndex,
        tenants: tuple[str, ...],
        label: str,
        *,
        recheck: Recheck = "auto",
        composed: Composed | None = None,
        owned: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        check_recheck(recheck)
        self._index = index
        self._tenants = tenants
        self._label = label
        self._recheck = recheck
        self._composed = composed
        self._owned = owned
        self._clock = clock
        self._lock = ForkSafeLock()
        self._checking = ForkSafeLock()
        self._current: IndexSnapshot | None = None
        self._told = 0  # changes that were told of
        self._seen = -1  # those that the current snapshot knows of
        self._asked_at = 0.0
        self._end: Callable[[], None] | None = None
        self._listens = False
        self._pid = 0
        self._down: tuple[float, IndexUnavailableError] | None = None
        self._asking = 0  # process in which somebody finds out whether it can be reached
        self._in_background = False
        self._closed = False

    @property
    def sources(self) -> tuple[SkillSource, ...]:
        """The index as a source."""
        return (IndexSource(self._index, self._tenants, self._label),)

    def snapshot(self) -> IndexSnapshot:
        """The current snapshot; asks for the revision when that is due.

        Raises:
            IndexUnavailableError: The index cannot be reached.
        """
        self._fail_if_down()
        current = self._current
        if current is None:
            return self._check()
        if self._closed or self._recheck == "manual" or not self._is_due():
            return current
        if self._recheck == "background":
            self._check_later()
            return current
        return self._check()

    def refresh(self) -> IndexSnapshot:
        """Ask for the revision now.

        Raises:
            IndexUnavailableError: The index cannot be reached.
        """
        return self._check()

    def failed(self, error: IndexUnavailableError) -> None:
        """Take note that the index cannot be reached: who comes next does not wait for that."""
        self._down = (self._clock(), error)

    def close(self) -> None:
        """Stop listening. Snapshots stay usable as long as the index is open."""
        self._closed = True
        with self._lock:
            end, self._end = self._end, None
        if end is not None:
            end()
        if self._owned:
            self._index.close()

    def _fail_if_down(self) -> None:
        down = self._down
        others = self._asking == os.getpid()
        if down is not None and (others or self._clock() - down[0] < DOWN_S):
            raise IndexUnavailableError(down[1].message, down[1].cure)

    def _is_due(self) -> bool:
        if self._recheck == "always" or self._told != self._seen or self._pid != os.getpid():
            return True
        return not self._listens and self._clock() - self._asked_at >= POLL_S

    def _check(self) -> IndexSnapshot:
        arrived = self._clock()
        with self._checking:
            if self._down is not None and self._down[0] > arrived:
                self._fail_if_down()  # somebody has found out while this call waited
            current = self._current
            if current is not None and self._asked_at > arrived and self._told == self._seen:
                return current  # somebody else asked after this call had come
            self._asking = os.getpid()
            try:
                current = self._asked(current)
            except IndexUnavailableError as error:
                self.failed(error)
                raise
            finally:
                self._asking = 0
            self._down = None
            self._current = current
            return current

    def _asked(self, current: IndexSnapshot | None) -> IndexSnapshot:
        self._listen()  # before the revision is read: no change falls between the two
        told, began = self._told, self._clock()
        revision = self._index.revision(self._tenants)
        if current is None or current.generation != revision:
            current = IndexSnapshot(self._index, self._tenants, self._label, self._composed)
            log.info("index %s: revision %s", self._label, current.generation[:12])
        self._seen, self._asked_at = told, began
        return current

    def _listen(self) -> None:
        """Once a process: the thread that would tell did not survive a fork."""
        if self._pid == os.getpid() or self._closed or self._recheck in ("manual", "always"):
            return
        self._listens = False
        # An index that cannot tell is asked now and then.
        with suppress(NotImplementedError):
            self._end = self._index.listen(self._changed)
            self._listens = True
        self._pid = os.getpid()

    def _changed(self, tenant: str) -> None:
        if tenant == "" or tenant in self._tenants:
            self._told += 1

    def _check_later(self) -> None:
        with self._lock:
            if self._in_background:
                return
            self._in_background = True
        start_background("skillcue-index", self._check_in_background, exit_wait_s=0.5)

    def _check_in_background(self) -> None:
        try:
            self._check()
        except IndexUnavailableError as error:
            log.warning("the index cannot be asked for its revision: %s", error)
        finally:
            self._in_background = False


def live_index(spec: Any, recheck: Recheck, composed: Composed) -> LiveIndex:
    """The index that a source of `SkillCue` stands for, followed.

    Args:
        spec: What `skillcue.indexed.connect.named_index` gave.
        recheck: See `LiveIndex`.
        composed: Skills that were composed of others.

    Raises:
        ConfigurationError: The address cannot be used.
        MissingExtraError: A package is missing.
    """
    check_recheck(recheck)  # before anything is opened
    connected = connect(spec)
    given = connected.indexed
    return LiveIndex(
        given.index,
        given.tenants,
        given.label,
        recheck=recheck,
        composed=composed,
        owned=connected.owned,
    )
