"""Connections to one database: opened on first use, shared by threads, renewed when they break.

A forked child never uses a connection of its parent: both would read each other's answers.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from skillcue_adapters.locks import ForkSafeLock
from skillcue_adapters.postgres.migrations import (
    MIGRATIONS,
    Connection,
    Names,
    extension_names,
    migrate,
    schema_version,
)
from skillcue_adapters.postgres.records import check_tenant
from skillcue_adapters.postgres.vectors import register_types
from skillcue_adapters.postgres.watchdog import watched
from skillcue_hooks.errors import ConfigurationError, IndexUnavailableError

__all__ = ["Connections", "Limits", "is_pooled"]

T = TypeVar("T")

GRACE_S = 2.0
"""A server has so much longer than a read may take before its connection is ended, seconds."""

CLOSE_S = 2.0
"""How long the threads of a pool are waited for, seconds."""

_KIND: dict[str, Any] = {"autocommit": True, "prepare_threshold": None}
"""Of connections. No statement is prepared: behind a pooler the next transaction is somebody else's
server connection, which has other statements under the same names; it would save 0.1 ms."""

_LOST = (psycopg.OperationalError, psycopg.InterfaceError, PoolClosed)

_GONE = (errors.UndefinedTable, errors.InvalidSchemaName, errors.UndefinedFunction)

log = logging.getLogger("skillcue.postgres")


@dataclass(frozen=True, slots=True)
class Limits:
    """How many connections there are, and how long things may take.

    Attributes:
        connections: Most that are open at a time.
        wait_s: Longest wait for a connection, new or free, seconds.
        read_s: Longest time a read may take, seconds.
        write_s: Longest time one statement of a change may take, seconds.
    """

    connections: int = 8
    wait_s: float = 5.0
    read_s: float = 10.0
    write_s: float = 600.0


class Connections:
    """Transactions for readers and writers.

    Args:
        url: As libpq takes it.
        schema: Of the tables.
        limits: Numbers and times.
        auto_migrate: Bring the tables up to date on first use.

    Attributes:
        location: Where it is, without a password.

    Raises:
        ConfigurationError: `url` cannot be read.
    """

    def __init__(self, url: str, schema: str, limits: Limits, auto_migrate: bool) -> None:
        self.schema = schema
        self._limits = limits
        self._auto_migrate = auto_migrate
        self._conninfo, self.location, self._password = _parsed(url, limits)
        self._lock = ForkSafeLock()  # held as long as a pool is opened
        self._swap = ForkSafeLock()
        self._pool: ConnectionPool[Connection] | None = None
        self._names: Names | None = None
        self._closed = False
        self._was_read = False
        self._pooled = False
        self._trying = False
        self._failed: tuple[float, IndexUnavailableError] | None = None
        _all.add(self)

    def read(
        self,
        tenants: Sequence[str],
        work: Callable[[Connection, Names], T],
        settings: Mapping[str, str] | None = None,
    ) -> T:
        """The result of `work` in a transaction of one state of the database.

        Once more from the beginning on a new connection where the first is found broken.

        Args:
            tenants: It sees their rows.
            work: What is read.
            settings: Further settings of the transaction, as texts by name.

        Raises:
            IndexUnavailableError: The server cannot be reached, or did not answer in time.
            ConfigurationError: It has no tables, or does not let this user read them.
        """
        every = {**_settings(tenants, self._limits.read_s), **(settings or {})}
        with self._explained(self._was_read):
            try:
                found = self._within(every, work)
            except _LOST as error:
                if isinstance(error, errors.QueryCanceled | PoolTimeout):
                    raise
                log.info("once more, for %s: %s", self.location, self._told(error))
                found = self._within(every, work)
            self._was_read = True
            return found

    def write(self, tenant: str, work: Callable[[Connection, Names], T]) -> T:
        """The result of `work` in a transaction that sees and may change `tenant`; never repeated.

        Raises: as `read`.
        """
        settings = _settings([tenant], self._limits.write_s)
        with self._explained():
            return self._within(settings, work, psycopg.IsolationLevel.READ_COMMITTED)

    @property
    def wait_s(self) -> float:
        """Longest wait for a connection, seconds."""
        return self._limits.wait_s

    def connect(self) -> Connection:
        """A connection of its own, in autocommit.

        Raises:
            psycopg.OperationalError: There is none.
        """
        return psycopg.connect(self._conninfo, **_KIND)

    def migrate(self) -> None:
        """Bring the tables up to date."""
        with self._explained(), self.connect() as connection:
            migrate(connection, self.schema)

    def explained(self) -> contextlib.AbstractContextManager[None]:
        """Within it errors of the database become those of skillcue."""
        return self._explained()

    def close(self) -> None:
        """Close all connections; there are no new ones."""
        self._closed = True
        with self._lock:
            self._discard(self._pool)

    def forget(self) -> None:
        """In a forked child: leave the connections to the parent."""
        self._trying = False  # a thread that does not exist here
        if self._pool is not None:
            _parents.append(self._pool)
            self._pool = None

    def _within(
        self,
        settings: Mapping[str, str],
        work: Callable[[Connection, Names], T],
        isolation: psycopg.IsolationLevel = psycopg.IsolationLevel.REPEATABLE_READ,
    ) -> T:
        pool, names = self._opened()
        # Of one state of the database, however many statements it takes; a writer must see what
        # those before it did.
        reads = isolation is psycopg.IsolationLevel.REPEATABLE_READ
        try:
            with pool.connection() as connection, self._watched(connection, reads):
                connection.isolation_level = isolation
                # Begin, settings and the first statement travel together; not through a pooler, some
                # of which lose track of such a pipeline and never answer.
                pipeline = reads and not self._pooled
                together = connection.pipeline() if pipeline else contextlib.nullcontext()
                with together, connection.transaction():
                    _set(connection, settings)
                    return work(connection, names)
        except PoolTimeout:
            if not pool.get_stats().get("pool_size"):
                self._discard(pool)  # the next one finds out at once what is wrong
            raise
        except _LOST as error:
            if not isinstance(error, errors.QueryCanceled):
                self._discard(pool)
            raise

    @contextlib.contextmanager
    def _watched(self, connection: Connection, reads: bool) -> Iterator[None]:
        """Within it a server that hangs is as one that says it took too long."""
        if not reads:  # a change may be of many statements, and none is repeated
            yield
            return
        with watched(connection, self._limits.read_s + GRACE_S) as watch:
            try:
                yield
            except _LOST as error:
                if not watch.expired:
                    raise
                self._discard(self._pool)
                raise errors.QueryCanceled("no answer") from error

    def _opened(self) -> tuple[ConnectionPool[Connection], Names]:
        arrived = time.monotonic()
        if self._trying:
            self._fail_as_others(0.0)
        with self._lock:
            if self._closed:
                raise IndexUnavailableError(
                    f"The index at {self.location} is closed.", "Open a new one."
                )
            pool, names = self._pool, self._names
            if pool is None or names is None:
                self._fail_as_others(arrived)
                self._trying = True
                try:
                    names = self._names = self._checked()
                    self._failed = None
                except _LOST as error:
                    self._failed = time.monotonic(), self._unreachable(error)
                    raise self._failed[1] from error
                finally:
                    self._trying = False
                pool = ConnectionPool(
                    self._conninfo,
                    kwargs=_KIND,
                    configure=partial(register_types, names=names),
                    min_size=1,
                    max_size=self._limits.connections,
                    timeout=self._limits.wait_s,
                    reconnect_timeout=self._limits.wait_s,
                    name=f"skillcue-{self.schema}",
                    open=True,
                )
                with self._swap:
                    self._pool = pool
            return pool, names

    def _fail_as_others(self, since: float) -> None:
        """Raise what was found out since then: all would wait for the same, one after the other."""
        failed = self._failed
        if failed is not None and failed[0] > since:
            raise IndexUnavailableError(failed[1].message, failed[1].cure)

    def _checked(self) -> Names:
        """Names to use, once the tables are there."""
        with self.connect() as connection, self._watched(connection, True):
            self._pooled = is_pooled(connection)
            names = extension_names(connection, self.schema)
            version = schema_version(connection, self.schema)
            if names is not None and version == len(MIGRATIONS):
                return names
            if not self._auto_migrate:
                raise ConfigurationError(
                    f"The tables in schema {self.schema!r} at {self.location} have version"
                    f" {version}, and this skillcue needs {len(MIGRATIONS)}.",
                    "Run PostgresIndex(url).migrate() as their owner.",
                )
            return migrate(connection, self.schema)

    def _discard(self, pool: ConnectionPool[Connection] | None) -> None:
        with self._swap:  # not the other one: who waits there tries next, one after the other
            if self._pool is pool:
                self._pool = None
        if pool is not None:
            pool.close(CLOSE_S)

    @contextlib.contextmanager
    def _explained(self, was_read: bool = False) -> Iterator[None]:
        """Within it errors of the database become those of skillcue.

        Args:
            was_read: What was allowed before and is no more is an outage to whoever reads, and no
                mistake of the set-up that would end the agent's turn.
        """
        mistake = IndexUnavailableError if was_read else ConfigurationError
        try:
            yield
        except PoolTimeout as error:
            raise IndexUnavailableError(
                f"None of {self._limits.connections} connections to {self.location} was free"
                f" within {self._limits.wait_s:g} s.",
                "Allow more connections, or answer fewer requests at a time in this process.",
            ) from error
        except errors.QueryCanceled as error:
            raise IndexUnavailableError(
                f"The index at {self.location} did not answer in time.",
                "Look for load or locks on the server, or allow more time (read_s, write_s).",
            ) from error
        except errors.InsufficientPrivilege as error:
            raise mistake(
                f"The user at {self.location} may not do that: {self._told(error)}.",
                "To make the tables a user needs the extension vector and the right to create in the"
                " database; to change skills it must own them; to read, the owner grants it:"
                " PostgresIndex(url).grant(role). A wrong schema looks the same.",
            ) from error
        except _GONE as error:
            raise mistake(
                f"The tables in schema {self.schema!r} at {self.location} are gone:"
                f" {self._told(error)}.",
                "Run PostgresIndex(url).migrate() as their owner, and publish again.",
            ) from error
        except errors.ProgramLimitExceeded as error:
            raise ConfigurationError(
                f"A skill does not fit into {self.location}: {self._told(error)}.",
                "Shorten the texts of the skill, or exclude it.",
            ) from error
        except errors.ReadOnlySqlTransaction as error:
            raise IndexUnavailableError(
                f"The server at {self.location} is a replica that only reads.",
                "Name the primary, or all of them with target_session_attrs=read-write.",
            ) from error
        except _LOST as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: BaseException) -> IndexUnavailableError:
        return IndexUnavailableError(
            f"The index at {self.location} cannot be reached: {self._told(error)}.",
            "Check that the server runs and that host, port, user and database are right.",
        )

    def _told(self, error: BaseException) -> str:
        """First line of an error, without the password."""
        text = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
        return text.replace(self._password, "***") if self._password else text


def is_pooled(connection: Connection) -> bool:
    """Whether something between answers in the name of the server, such as PgBouncer."""
    [(backend,)] = connection.execute("select pg_backend_pid()").fetchall()
    return bool(backend != connection.info.backend_pid)


def _settings(tenants: Sequence[str], seconds: float) -> dict[str, str]:
    escaped = (check_tenant(tenant).replace("\\", "\\\\").replace('"', '\\"') for tenant in tenants)
    return {
        "skillcue.tenants": "{" + ",".join(f'"{tenant}"' for tenant in escaped) + "}",
        "statement_timeout": str(int(seconds * 1000)),
    }


def _set(connection: Connection, settings: Mapping[str, str]) -> None:
    # Local to the transaction: between a pooler and the server, sessions belong to nobody.
    calls = ", ".join("set_config(%s, %s, true)" for _ in settings)
    connection.execute(f"select {calls}", [part for pair in settings.items() for part in pair])


def _parsed(url: str, limits: Limits) -> tuple[str, str, str]:
    """What libpq is given, where that is, and the password."""
    try:
        known = conninfo_to_dict(url)
        conninfo = make_conninfo(
            url,
            application_name=known.get("application_name", "skillcue"),
            connect_timeout=known.get("connect_timeout", max(2, round(limits.wait_s))),
            # A server that vanished without a word is noticed within a minute.
            keepalives_idle=known.get("keepalives_idle", 20),
            keepalives_interval=known.get("keepalives_interval", 5),
            keepalives_count=known.get("keepalives_count", 4),
        )
        ports = filter(None, str(known.get("port") or "").split(","))  # of several hosts one each
        # An @ in a host is one of a password that is not quoted.
        if "@" in str(known.get("host")) or not all(port.isdecimal() for port in ports):
            raise psycopg.ProgrammingError
    except psycopg.Error:
        # Without the cause, which quotes the url and with it the password.
        raise ConfigurationError(
            "The url of the index cannot be read.",
            "Write postgresql://user:password@host:5432/database, with percent-encoding where a"
            " part holds one of @ : / ? #.",
        ) from None
    user = f"{known['user']}@" if known.get("user") else ""
    host = known.get("host") or known.get("hostaddr") or "the local server"
    port = f":{known['port']}" if str(known.get("port") or "").strip(",") else ""
    database = f"/{known['dbname']}" if known.get("dbname") else ""
    return conninfo, f"{user}{host}{port}{database}", str(known.get("password") or "")


_all: weakref.WeakSet[Connections] = weakref.WeakSet()

_parents: list[ConnectionPool[Connection]] = []
"""Pools of the parent process: were they collected, their threads would be waited for, which do not
exist here."""


def _forget_all() -> None:
    for connections in list(_all):
        connections.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
