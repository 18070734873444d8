"""News of changes: a connection of its own that waits for notifications.

Some servers have none to give: a standby cannot listen, and a pooler keeps for itself what arrives
between two transactions. Then whoever listens is told again and again that something may have
changed, and has to ask.
"""

from __future__ import annotations

import logging
import os
import select
import socket
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import psycopg
from psycopg import errors

from skillcue_adapters.postgres.connections import Connections, is_pooled
from skillcue_adapters.postgres.migrations import Connection, quoted
from skillcue_adapters.threads import is_ending, start_background

__all__ = ["Listener"]

CHECK_S = 15.0
"""So often a connection without news is tried: one that broke without a word has none either."""

RETRY_S = (0.2, 10.0)
"""Wait before the first and the last attempts to connect again, doubled in between, seconds."""

DEAF_S = 0.5
"""So often something may have changed where no news can come, seconds."""

DEAF_TRIES = 20
"""After so many of these it is tried again: a standby may have become the primary."""

log = logging.getLogger("skillcue.postgres")


class Listener:
    """Calls a function with the tenant after each change, until it is ended.

    Args:
        connections: Gives it a connection.
        changed: Called from another thread; with ``""`` when changes may have been missed.
    """

    def __init__(self, connections: Connections, changed: Callable[[str], None]) -> None:
        self._connections = connections
        self._changed = changed
        self._ended = False
        self.start()
        _all.add(self)

    def start(self) -> None:
        """Begin to listen; in a forked child again."""
        if self._ended:
            return
        self._listening = threading.Event()
        reads, self._wake = socket.socketpair()
        start_background("skillcue-postgres-listen", partial(self._run, reads), exit_wait_s=1.0)

    def wait_listening(self, seconds: float) -> bool:
        """Whether it listens by then: changes before may be missed."""
        return self._listening.wait(seconds)

    def end(self) -> None:
        """Call `changed` no more."""
        self._ended = True
        with suppress(OSError):  # a second time
            self._wake.send(b"x")
        self._wake.close()

    def _run(self, woken: socket.socket) -> None:
        with woken:
            self._listen(woken)

    def _listen(self, woken: socket.socket) -> None:
        wait = RETRY_S[0]
        first, told = True, False
        while not self._over():
            try:
                with self._connections.connect() as connection:
                    deaf = self._deaf(connection)
                    self._listening.set()
                    wait, told = RETRY_S[0], told and bool(deaf)
                    if not first:
                        self._tell("")
                    first = False
                    if not deaf:
                        self._follow(connection, woken)
                if deaf:
                    log.log(
                        logging.DEBUG if told else logging.INFO,
                        "no news of %s, which is asked instead: %s",
                        self._connections.location,
                        deaf,
                    )
                    told = True
                    self._go_on_deaf(woken)
            except psycopg.Error as error:
                if self._over():
                    return
                first = False
                log.log(
                    logging.DEBUG if told else logging.WARNING,
                    "no news of %s for now: %s",
                    self._connections.location,
                    next(iter(str(error).splitlines()), type(error).__name__),
                )
                told = True
                select.select([woken], [], [], wait)
                wait = min(2 * wait, RETRY_S[1])

    def _deaf(self, connection: Connection) -> str:
        """Why no news would come; empty where it listens from now on."""
        if is_pooled(connection):
            return "there is a pooler between"
        try:
            connection.execute(f"listen {quoted(self._connections.schema)}")
        except errors.ReadOnlySqlTransaction:
            return "it is a standby"
        return ""

    def _go_on_deaf(self, woken: socket.socket) -> None:
        for _ in range(DEAF_TRIES):
            if select.select([woken], [], [], DEAF_S)[0] or self._over():
                return
            self._tell("")

    def _follow(self, connection: Connection, woken: socket.socket) -> None:
        while not self._over():
            sockets = [connection.fileno(), woken.fileno()]
            ready, _, _ = select.select(sockets, [], [], CHECK_S)
            if not ready:
                connection.execute("select 1")
            for notice in connection.notifies(timeout=0):
                self._tell(notice.payload)

    def _tell(self, tenant: str) -> None:
        if self._over():
            return
        try:
            self._changed(tenant)
        except Exception:  # of whoever listens; others are told all the same
            log.exception("a listener raised")

    def _over(self) -> bool:
        return self._ended or is_ending()


_all: weakref.WeakSet[Listener] = weakref.WeakSet()


def _start_all() -> None:
    for listener in list(_all):
        listener.start()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_all)
