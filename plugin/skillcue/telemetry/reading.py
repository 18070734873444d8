"""Stored events, read back."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillcue.telemetry.store import COLUMNS, SCHEMA
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.language import Usage

log = logging.getLogger("skillcue.telemetry")

__all__ = ["Event", "holds_events", "open_events", "read_events", "session_of_turn"]


@dataclass(frozen=True, slots=True)
class Event:
    """One stored event; docs/reference/telemetry.md describes what the columns mean.

    Attributes:
        at: When it ended, seconds since 1970.
        kind: ``turn``, ``lookup``, ``load`` or ``next``.
        session: Hash of the conversation; empty where it is not known.
        turn: Id of the turn; empty where it is not known.
        mode: Retrieval mode; empty for loads.
        decision: ``offer``, ``load`` or ``abstain``, of turns.
        skills: Ids: offered, found or loaded; of ``next``, what was loaded and then what was
            suggested after it.
        tokens: Of the advice, of the list of results, or of the text that was read.
        miss: ``none`` or ``weak``, of lookups; else empty.
        shadow: The advice was not shown.
        error: Kind of the exception that push failed with; else empty.
        file: The file beside the skill that was read; empty for the skill itself.
        page: Which page of it, from 1.
        cost: What language models took.
        text: Words of the user or of the query, where they are stored.
        elapsed_ms: Time spent, milliseconds.
    """

    at: float
    kind: str
    session: str = ""
    turn: str = ""
    mode: str = ""
    decision: str = ""
    skills: tuple[str, ...] = ()
    tokens: int = 0
    miss: str = ""
    shadow: bool = False
    error: str = ""
    file: str = ""
    page: int = 1
    cost: Usage = field(default_factory=Usage)
    text: str = ""
    elapsed_ms: float = 0.0


def read_events(path: Path, since: float = 0.0) -> tuple[Event, ...]:
    """The events of a file, oldest first.

    Args:
        path: The file; another process may be writing to it.
        since: Only those from then on, seconds since 1970.

    Raises:
        ConfigurationError: It cannot be read, or is of another version of skillcue.
    """
    cure = "Name the file that SkillCue(..., events=FILE) writes."
    if not path.is_file():
        raise ConfigurationError(f"There are no events in {path}: no such file.", cure)
    try:
        return tuple(_events(path, since))
    except (sqlite3.Error, ValueError, TypeError, KeyError) as error:
        raise ConfigurationError(f"The events {path} cannot be read: {error}.", cure) from error


def open_events(path: Path) -> sqlite3.Connection:
    """The file for reading; another process may be writing to it.

    Raises:
        sqlite3.Error: It cannot be read.
        ValueError: It is of another version of skillcue.
    """
    db = _connect(path)
    try:
        version = _version(db)
        if version != SCHEMA:
            raise ValueError(f"it is of schema {version}, not {SCHEMA}")
    except BaseException:  # whatever it is goes on
        db.close()
        raise
    return db


def holds_events(path: Path) -> bool:
    """Whether there is such a file, and whoever made it has begun to store.

    Raises:
        sqlite3.Error: It cannot be read.
    """
    if not path.is_file():
        return False
    with closing(_connect(path)) as db:
        return _version(db) != 0


def session_of_turn(known: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Turn to its session, where one session alone has it: calls may name no conversation.

    Args:
        known: (session, turn) of events; empty where they are not known.
    """
    sessions: dict[str, set[str]] = defaultdict(set)
    for session, turn in known:
        if session and turn:
            sessions[turn].add(session)
    return {turn: min(several) for turn, several in sessions.items() if len(several) == 1}


def _events(path: Path, since: float) -> Iterator[Event]:
    with closing(open_events(path)) as db:
        query = f"SELECT {', '.join(COLUMNS)} FROM events WHERE at >= ? ORDER BY at, id"
        for row in db.execute(query, (since,)):
            try:
                event = _event(dict(zip(COLUMNS, row, strict=True)))
            except (ValueError, TypeError, RecursionError):  # one damaged row is not the whole file
                log.warning("an event of %s is damaged and left out", path)
                continue
            yield event


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _event(row: dict[str, Any]) -> Event:
    texts = ("session", "turn", "mode", "decision", "miss", "error", "file", "text")
    return Event(
        at=float(row["at"]),
        kind=str(row["kind"]),
        **{name: str(row[name] or "") for name in texts},
        skills=tuple(map(str, json.loads(row["skills"]))),
        tokens=int(row["tokens"] or 0),
        shadow=bool(row["shadow"]),
        page=int(row["page"] or 1),
        cost=_cost(row),
        elapsed_ms=float(row["elapsed_ms"] or 0.0),
    )


def _cost(row: dict[str, Any]) -> Usage:
    """What was taken; where money is not known, calls were made without a price."""
    if not row["calls"]:
        return Usage()
    money = row["money"]
    return Usage(
        int(row["calls"]),
        int(row["input_tokens"]),
        int(row["output_tokens"]),
        None if money is None else float(money),
    )
