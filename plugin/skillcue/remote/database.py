"""Skills from the rows of a database."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, Unpack
from urllib.parse import quote

from skillcue.remote.failures import SourceFetchError, UnreachableError
from skillcue.remote.mirror import Fetched, MirroredSource, SourceOptions, mirror_options
from skillcue.remote.rows import RowWriter
from skillcue.remote.store import Last
from skillcue.remote.tree import TreeWriter
from skillcue_hooks.errors import ConfigurationError

__all__ = ["Connection", "Cursor", "DatabaseSource", "SqliteSource"]

_TABLE = re.compile(r"[^\W\d]\w{0,127}")
_ROWS_AT_ONCE = 200
_STEPS = 10_000
"""Steps of SQLite's machine between two looks at the clock."""
_TICK_NS = 2_000_000_000
"""A database younger than this (nanoseconds) may change once more without its time changing."""


class Cursor(Protocol):
    """The part of a PEP 249 cursor that is used."""

    @property
    def description(self) -> Any: ...

    def execute(self, operation: str, /) -> Any: ...

    def fetchmany(self, size: int, /) -> Sequence[Sequence[Any]]: ...


class Connection(Protocol):
    """The part of a PEP 249 connection that is used."""

    def cursor(self) -> Any: ...

    def close(self) -> Any: ...


class DatabaseSource(MirroredSource):
    """The rows of one query over any connection of the Python database API (PEP 249).

    Columns are told by name, whatever their case: either ``name``, ``description`` and ``body``,
    with ``metadata`` (a JSON object of further front matter) if there is any, or ``text`` with
    whole SKILL.md texts. ``files`` is a JSON object of path to text. Other columns are ignored.

    Args:
        connect: Opens a connection; called in any thread, once for a look. Let it set time limits.
        query: What selects the rows. Of rows with one name the first gets the bare folder name.
        changed: A cheap query whose rows change whenever those of `query` do, such as
            ``SELECT max(updated_at), count(*) FROM skills``; without it all rows are read again
            every `refresh` seconds.
        options: `trust`, `label`, `cache`, `refresh`, `strict`, `fetch_limits`, `read_limits`: see
            `MirrorOptions`. With a cache a label is needed: it tells two databases apart.

    Raises:
        ConfigurationError: An argument cannot be used.
    """

    def __init__(
        self,
        connect: Callable[[], Connection],
        query: str,
        *,
        changed: str | None = None,
        **options: Unpack[SourceOptions],
    ) -> None:
        if not callable(connect):
            raise ConfigurationError(
                f"connect is a {type(connect).__name__}.",
                "Pass a function that opens a connection: lambda: psycopg.connect(...).",
            )
        if not isinstance(query, str) or not query.strip():
            raise ConfigurationError("The query is empty.", "Pass SELECT name, description, ...")
        if options.get("cache") is not None and not options.get("label"):
            raise ConfigurationError(
                "A database that is kept in a cache has no label.",
                "Pass label=...: it tells databases apart, whatever `connect` opens.",
            )
        label = options.get("label") or "database"
        self._prepare(connect, query, changed)
        super().__init__(
            mirror_options(options),
            location=f"database {label}",
            identity=f"database {label} {query}",
            label=label,
            name=label,
        )

    def _prepare(self, connect: Callable[[], Connection], query: str, changed: str | None) -> None:
        self._connect = connect
        self._query = query
        self._changed_query = changed

    def _fetch(self, last: Last | None) -> Fetched:
        try:
            connection = self._connect()
            try:
                return self._read_rows(connection, last)
            finally:
                connection.close()
        except SourceFetchError:
            raise
        except Exception as error:  # each driver has errors of its own
            raise UnreachableError(
                f"{type(error).__name__}: {error}", "Look at the database and at the query."
            ) from error

    def _read_rows(self, connection: Connection, last: Last | None) -> Fetched:
        state = self._state_of_rows(connection)
        if last is not None and state and state == last.state:
            known = self._store.get(last.digest)
            if known is not None:
                return Fetched(known, state)
        limits = self.options.fetch_limits
        cursor = connection.cursor()
        cursor.execute(self._query)
        columns = [str(column[0]).casefold() for column in cursor.description or ()]

        def fill(tree: TreeWriter) -> str:
            writer = RowWriter(tree, columns, limits)
            while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                for row in rows:
                    writer.add(row)
            return f"sha256:{writer.digest}"

        return Fetched(self._store.put_unnamed(fill, limits), state)

    def _state_of_rows(self, connection: Connection) -> str:
        if self._changed_query is None:
            return ""
        cursor = connection.cursor()
        cursor.execute(self._changed_query)
        state = hashlib.sha256(self._query.encode())
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            for row in rows:
                state.update(repr([repr(value) for value in row]).encode())
        return state.hexdigest()


class SqliteSource(DatabaseSource):
    """A table or view of an SQLite file, opened for reading only.

    Its file is looked at before every use, and read again when it changed.

    Args:
        path: The file.
        table: Its name: letters, digits and ``_``. Columns: see `DatabaseSource`.
        options: As `DatabaseSource`.

    Raises:
        ConfigurationError: An argument cannot be used.
    """

    def __init__(
        self, path: str | os.PathLike[str], table: str, **options: Unpack[SourceOptions]
    ) -> None:
        if not _TABLE.fullmatch(table):
            raise ConfigurationError(
                f"{table!r} is no name of a table.", "Letters, digits and _ are allowed."
            )
        self._path = Path(path).expanduser().absolute()
        self._seen: tuple[tuple[int, ...], ...] | None = None
        self._prepare(self._open, f'SELECT * FROM "{table}"', None)
        MirroredSource.__init__(
            self,
            mirror_options(options),
            location=f"sqlite:///{self._path}?table={table}",
            identity=f"sqlite {self._path} {table}",
            label=self._path.stem or "sqlite",
            name=table,
            local=True,
        )

    @property
    def is_there(self) -> bool:
        """The file exists."""
        return self._path.is_file()

    def _seems_changed(self) -> bool:
        return self._seen is None or self._seen != self._state()

    def _fetch(self, last: Last | None) -> Fetched:
        self._seen = self._state()
        return super()._fetch(None)

    def _open(self) -> sqlite3.Connection:
        end = time.monotonic() + self.options.fetch_limits.seconds
        connection = sqlite3.connect(
            f"file:{quote(str(self._path))}?mode=ro", uri=True, timeout=5.0, isolation_level=None
        )
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, self.options.fetch_limits.total_bytes)
        # A file of a stranger may hold a view that never ends, or one that calls functions.
        connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA query_only = ON")
        return connection

    def _state(self) -> tuple[tuple[int, ...], ...] | None:
        """What tells one content from the next; None where it may change unseen."""
        found: list[tuple[int, ...]] = []
        for path in (self._path, Path(f"{self._path}-wal")):
            try:
                state = path.stat()
            except OSError:
                found.append(())
                continue
            newest = max(state.st_mtime_ns, state.st_ctime_ns)
            if abs(time.time_ns() - newest) < _TICK_NS:
                return None
            found.append((state.st_size, newest, state.st_ino))
        return tuple(found)
