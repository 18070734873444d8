"""The SQLite file of events: its table, how rows get in, what goes when it is full.

docs/reference/telemetry.md describes every column.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["COLUMNS", "SCHEMA", "EventStore", "Row", "row_of"]

Row = Mapping[str, Any]

SCHEMA = 1
"""``PRAGMA user_version``; raised when a column changes its meaning or goes away."""
BUSY_S = 5.0
"""How long a writer waits for another process, seconds."""
WAL_BYTES = 4 * 1024 * 1024
"""What is kept of the write-ahead log when it has been written back, bytes."""

FACTS = {
    "session": "skillcue.session",
    "mode": "skillcue.mode",
    "decision": "skillcue.decision",
    "skills": "skillcue.skills",
    "tokens": "skillcue.tokens",
    "confidence": "skillcue.confidence",
    "threshold": "skillcue.threshold",
    "named": "skillcue.named",
    "shadow": "skillcue.shadow",
    "degraded": "skillcue.degraded",
    "error": "error.type",
    "skipped": "skillcue.offset",
    "total": "skillcue.total",
    "miss": "skillcue.miss",
    "cached": "skillcue.cached",
    "file": "skillcue.file",
    "page": "skillcue.page",
    "calls": "skillcue.model.calls",
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "money": "skillcue.model.money",
    "text": "skillcue.text",
}
"""Column to fact, where they are the same thing."""
COLUMNS = ("at", "kind", "elapsed_ms", "turn", "generation", *FACTS)

_CREATE = f"""
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    {", ".join(name for name in COLUMNS if name not in ("at", "kind"))}
);
CREATE INDEX events_at ON events (at);
"""
_INSERT = (
    f"INSERT INTO events ({', '.join(COLUMNS)}) VALUES ({', '.join(f':{n}' for n in COLUMNS)})"
)


def row_of(facts: Mapping[str, Any], **further: Any) -> Row:
    """The row of one event.

    Args:
        facts: As `skillcue.telemetry.facts` tells them.
        further: The columns that are no facts.
    """
    row = {column: facts.get(name) for column, name in FACTS.items()}
    return {**row, "skills": json.dumps(row["skills"] or ()), **further}


class EventStore:
    """One connection to the file, to be used in one thread. Several processes may share the file.

    Args:
        path: The file; made when it is not there, for its owner only.
        max_bytes: Beyond it the oldest tenth of the events goes.
        max_age_days: Events that are older go.

    Raises:
        sqlite3.Error: The file cannot be used, or is of another schema.
        OSError: It cannot be made.
    """

    def __init__(self, path: Path, max_bytes: int, max_age_days: float) -> None:
        self._max_bytes = max_bytes
        self._max_age_s = max_age_days * 86_400
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        self._db = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
        try:
            self._prepare()
        except BaseException:  # whatever it is goes on; an open connection would keep a lock
            self._db.close()
            raise

    def write(self, rows: Sequence[Row]) -> None:
        """Add rows, and let go what is too old or too much; all of it or nothing.

        Raises:
            sqlite3.Error: It is not possible, such as on a full disk.
        """
        if not rows:
            return
        with _transaction(self._db):
            self._db.executemany(_INSERT, rows)
            newest = max(row["at"] for row in rows)
            self._db.execute("DELETE FROM events WHERE at < ?", (newest - self._max_age_s,))
            while self._used() > self._max_bytes and self._drop_oldest():
                pass

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def _prepare(self) -> None:
        version = self._number("PRAGMA user_version")
        if version != SCHEMA and self._number("SELECT count(*) FROM sqlite_master"):
            raise sqlite3.DatabaseError(f"schema {version} is not {SCHEMA}")  # nothing is changed
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")  # enough for WAL: no damage, at most a loss
        self._db.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
        with _transaction(self._db):
            version = self._number("PRAGMA user_version")  # another process may have made it
            if version == 0 and self._number("SELECT count(*) FROM sqlite_master") == 0:
                for statement in _CREATE.split(";"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version = {SCHEMA}")
            elif version != SCHEMA:
                raise sqlite3.DatabaseError(f"schema {version} is not {SCHEMA}")

    def _used(self) -> int:
        """Bytes that hold something; the space of what was deleted is used again."""
        pages = self._number("PRAGMA page_count") - self._number("PRAGMA freelist_count")
        return pages * self._number("PRAGMA page_size")

    def _drop_oldest(self) -> bool:
        tenth = max(self._number("SELECT count(*) FROM events") // 10, 1)
        dropped = self._db.execute(
            "DELETE FROM events WHERE id IN (SELECT id FROM events ORDER BY at, id LIMIT ?)",
            (tenth,),
        )
        return dropped.rowcount > 0

    def _number(self, query: str) -> int:
        return int(self._db.execute(query).fetchone()[0])


class _transaction:
    """A write transaction from its first moment: two processes must not both begin by reading."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        self._db.execute("COMMIT" if kind is None else "ROLLBACK")
