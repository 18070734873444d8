"""Ends connections whose server does not answer: a time limit of the server is none where it hangs."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from typing import Any

from skillcue_adapters.locks import ForkSafeLock
from skillcue_adapters.threads import is_ending, start_background

__all__ = ["Watch", "watched"]

LOOK_S = 0.5
"""How often connections in use are looked at, seconds."""
IDLE_S = 30.0
"""The thread ends when it had nothing to look at for so long, seconds."""


class Watch:
    """One use of a connection.

    Attributes:
        expired: It took too long, and the connection was ended.
    """

    def __init__(self, connection: Any, seconds: float) -> None:
        self.expired = False
        self._connection = connection
        self._end = time.monotonic() + seconds

    def look(self, now: float) -> None:
        """End the connection where its time is up: whoever waits for an answer finds it closed."""
        if self.expired or now < self._end:
            return
        self.expired = True
        with (
            contextlib.suppress(Exception),  # it may have been closed at this moment
            socket.socket(fileno=os.dup(self._connection.fileno())) as end,
        ):
            end.shutdown(socket.SHUT_RDWR)


_lock = ForkSafeLock()
_watches: set[Watch] = set()
_pid = 0  # of the process in which a thread looks


@contextlib.contextmanager
def watched(connection: Any, seconds: float) -> Iterator[Watch]:
    """Within it the connection may be used for so long.

    Args:
        connection: A connection of psycopg.
        seconds: Longest time, seconds.
    """
    global _pid
    watch = Watch(connection, seconds)
    with _lock:
        if _pid != os.getpid():  # the first, or the thread did not survive a fork
            _watches.clear()
            _pid = os.getpid()
            start_background("skillcue-postgres-watch", _look, exit_wait_s=2 * LOOK_S)
        _watches.add(watch)
    try:
        yield watch
    finally:
        with _lock:
            _watches.discard(watch)


def _look() -> None:
    global _pid
    used = time.monotonic()
    while not is_ending():
        time.sleep(LOOK_S)
        now = time.monotonic()
        with _lock:
            watches = list(_watches)
            if watches:
                used = now
            elif now - used > IDLE_S:
                _pid = 0
                return
        for watch in watches:
            watch.look(now)
