"""diskcache, restricted to text: what it would pickle is refused, in both directions.

diskcache unpickles whatever stands in its database, so that whoever can write to a cache folder
can run code in its readers (CVE-2025-69872, no fixed release). Imported only when a `DiskStore`
is first used.
"""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import diskcache
from diskcache.core import DBNAME, MODE_RAW

__all__ = ["ForeignDatabaseError", "TextDisk", "discard_damaged", "open_text_cache"]

APPLICATION_ID = 0x534B4355
"""Stands in the header of databases made here; others are left alone."""

log = logging.getLogger("skillcue.cache")


class ForeignDatabaseError(Exception):
    """The folder holds the database of another program."""


class TextDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache ships no types
    """Keys and values are text, stored in the row itself; no files, no pickles."""

    def put(self, key: Any) -> tuple[str, bool]:
        return _text(key), True

    def get(self, key: Any, raw: bool) -> str:
        return _text(key)

    def store(self, value: Any, read: bool, key: Any = None) -> tuple[int, int, None, str]:
        return 0, MODE_RAW, None, _text(value)

    def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> str | None:
        """The text, or None for anything else: some other program put it there."""
        if mode == MODE_RAW and isinstance(value, str):
            return value
        log.warning("a cache entry in %s is not text and is ignored", self._directory)
        return None

    def remove(self, file_path: str) -> None:
        """Nothing: no entry made here has a file, and a name in the database proves nothing."""


def open_text_cache(path: Path, size_limit_bytes: int, lock_wait_s: float) -> Any:
    """A `diskcache.Cache` over `path` that holds text only; the folder is made if need be.

    Raises:
        ForeignDatabaseError: The database in `path` was not made here.
        sqlite3.Error: It is locked for longer than `lock_wait_s`, corrupt, or not writable.
        OSError: The folder cannot be made.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    _claim(path / DBNAME, lock_wait_s)
    return diskcache.Cache(
        str(path),
        timeout=lock_wait_s,
        disk=TextDisk,
        size_limit=size_limit_bytes,
        eviction_policy="least-recently-stored",
        statistics=0,
    )


def _claim(database: Path, lock_wait_s: float) -> None:
    """Mark an empty database as made here, refuse one that was not.

    It also finds out early that the database is locked or broken: diskcache itself would retry
    for a minute.
    """
    with closing(sqlite3.connect(database, timeout=lock_wait_s, isolation_level=None)) as link:
        # Takes effect in an empty database only; without it deleted entries leave its size as it
        # is, and diskcache, which looks at the size, would go on deleting.
        link.execute("PRAGMA auto_vacuum = FULL")
        link.execute("BEGIN IMMEDIATE")
        ((owner,),) = link.execute("PRAGMA application_id").fetchall()
        ((tables,),) = link.execute("SELECT count(*) FROM sqlite_master").fetchall()
        if owner == 0 and tables == 0:
            link.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        elif owner != APPLICATION_ID:
            raise ForeignDatabaseError(f"{database} belongs to another program")
        link.execute("COMMIT")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"only text is cached, not {type(value).__name__}")
    return value


def discard_damaged(database: Path, error: Exception) -> bool:
    """Delete a database that `error` says is damaged, if it was made here.

    Args:
        database: The file; what SQLite keeps beside it goes as well.
        error: What an operation on it raised.

    Returns:
        Whether it was deleted. A lock, a full disk and a stranger's file are no reason.
    """
    if not isinstance(error, sqlite3.DatabaseError) or isinstance(error, sqlite3.OperationalError):
        return False
    try:
        with database.open("rb") as file:
            header = file.read(72)
        if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
            return False
        for suffix in ("", "-wal", "-shm"):
            database.with_name(database.name + suffix).unlink(missing_ok=True)
    except OSError:
        return False
    return True
