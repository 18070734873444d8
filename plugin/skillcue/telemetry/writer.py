"""Writes events in a thread of its own: a turn never waits for a disk or for another process."""

from __future__ import annotations

import atexit
import logging
import os
import queue
import threading
import weakref

from skillcue.telemetry.settings import EventSettings
from skillcue.telemetry.store import EventStore, Row
from skillcue_adapters.locks import ForkSafeLock

__all__ = ["EventWriter"]

log = logging.getLogger("skillcue.telemetry")

WAITING = 10_000
"""Most events that wait to be written; further ones are lost."""
BATCH = 500
"""Most events of one transaction."""
CLOSE_S = 10.0
"""How long the end of a process waits for what is not written yet, seconds."""

_Item = Row | threading.Event | None  # an event to set when what came before is written; the end


class EventWriter:
    """A queue and the thread that empties it, begun with the first event of each process.

    Nothing is raised: the first loss is logged, whatever its reason.

    Args:
        settings: Where to, and how much.
    """

    def __init__(self, settings: EventSettings) -> None:
        self._settings = settings
        self._lock = ForkSafeLock()
        self._pid = 0
        self._queue: queue.Queue[_Item] = queue.Queue(WAITING)
        self._thread: threading.Thread | None = None
        self._told = False
        _writers.add(self)

    def put(self, row: Row) -> None:
        """Take one row; returns at once."""
        try:
            self._running().put_nowait(row)
        except queue.Full:
            self._lost(f"more than {WAITING} events wait to be written")
        except RuntimeError as error:  # no thread can be started: the interpreter is going down
            self._lost(repr(error))

    def flush(self, timeout: float = CLOSE_S) -> bool:
        """Wait until what was put so far is written; False after `timeout` seconds."""
        if self._thread is None or self._pid != os.getpid():
            return True
        written = threading.Event()
        try:
            self._queue.put(written, timeout=timeout)
        except queue.Full:
            return False
        return written.wait(timeout)

    def close(self) -> None:
        """Write what waits and end the thread; a later `put` begins anew."""
        with self._lock:
            thread = self._thread if self._pid == os.getpid() else None
            self._thread = None
        if thread is None:
            return
        try:
            self._queue.put(None, timeout=CLOSE_S)
        except queue.Full:
            self._lost("the file does not take them")
        else:
            thread.join(CLOSE_S)

    def _running(self) -> queue.Queue[_Item]:
        with self._lock:
            if self._thread is None or self._pid != os.getpid():
                # In a forked child the parent's thread does not exist, and what waited is its.
                self._pid, self._queue = os.getpid(), queue.Queue(WAITING)
                self._thread = threading.Thread(
                    target=self._work, args=(self._queue,), name="skillcue-events", daemon=True
                )
                self._thread.start()
            return self._queue

    def _work(self, items: queue.Queue[_Item]) -> None:
        store: EventStore | None = None
        more = True
        while more:
            batch = _next(items)
            more = None not in batch
            rows = [item for item in batch if isinstance(item, dict)]
            try:
                store = store or EventStore(
                    self._settings.file, self._settings.max_bytes, self._settings.max_age_days
                )
                store.write(rows)
            except Exception as error:  # noqa: BLE001  # a thread that ends would lose all that comes
                self._lost(repr(error))
            for item in batch:
                if isinstance(item, threading.Event):
                    item.set()
        if store is not None:
            store.close()

    def _lost(self, why: str) -> None:
        if not self._told:
            self._told = True
            log.warning(
                "events are lost, %s: %s; further losses are not logged", self._settings.file, why
            )


def _next(items: queue.Queue[_Item]) -> list[_Item]:
    """What waits, at least one item, nothing behind the end."""
    batch = [items.get()]
    while len(batch) < BATCH and batch[-1] is not None:
        try:
            batch.append(items.get_nowait())
        except queue.Empty:
            break
    return batch


_writers: weakref.WeakSet[EventWriter] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for writer in list(_writers):
        writer.close()
