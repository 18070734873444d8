"""The stored events that tell in which order skills were read, and what search found before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from skillcue.telemetry.facts import NEXT
from skillcue.telemetry.reading import open_events, session_of_turn

__all__ = ["Happening", "newest_event", "read_history"]

_SKILL_READ = "kind = 'load' AND file IS NULL AND coalesce(page, 1) = 1"


@dataclass(frozen=True, slots=True)
class Happening:
    """One event of a conversation.

    Attributes:
        at: When, seconds since 1970.
        kind: ``load``, ``search``, ``next``, or ``silent``: a turn on which push said nothing.
        thread: The conversation; where it is not known, the turn.
        turn: Id of the turn; empty where it is not known.
        skills: Ids: what was read, what was found, best first, or the skill that was read and then
            what was suggested after it; none of a silent turn.
    """

    at: float
    kind: str
    thread: str
    turn: str
    skills: tuple[str, ...]


def newest_event(path: Path, after: int = 0) -> tuple[int, int]:
    """(id of the newest event, number of skills that were read in events after the one given).

    Raises:
        ValueError: It is of another version of skillcue.
        sqlite3.Error: It cannot be read.
    """
    with closing(open_events(path)) as db:
        newest = db.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()[0]
        query = f"SELECT count(*) FROM events WHERE id > ? AND {_SKILL_READ}"
        return int(newest), int(db.execute(query, (after,)).fetchone()[0])


def read_history(path: Path, loads: int) -> tuple[Happening, ...]:
    """What happened since the oldest of the newest `loads` loads, oldest first.

    What cannot be told to belong to a conversation is left out.

    Raises:
        sqlite3.Error: The file cannot be read.
        ValueError: It is of another version of skillcue, or damaged.
    """
    with closing(open_events(path)) as db:
        oldest = db.execute(
            f"SELECT at FROM events WHERE {_SKILL_READ} AND typeof(at) IN ('real', 'integer') "
            "ORDER BY at DESC LIMIT 1 OFFSET ?",
            (loads - 1,),
        ).fetchone()
        rows = db.execute(
            "SELECT at, kind, session, turn, decision, coalesce(shadow, 0), file, page, skills "
            "FROM events WHERE at >= ? AND typeof(at) IN ('real', 'integer') ORDER BY at, id",
            oldest or (0.0,),
        ).fetchall()
    sessions = session_of_turn((row[2] or "", row[3] or "") for row in rows)
    return tuple(
        Happening(at, kind, thread, turn or "", skills)
        for at, name, session, turn, decision, shadow, file, page, listed in rows
        if (thread := session or sessions.get(turn or "", "") or turn or "")
        for kind, skills in _told(name, decision, bool(shadow), file, page, _ids(listed))
    )


def _ids(listed: object) -> tuple[str, ...]:
    """The ids of one row; none where it is damaged, which is no reason to learn nothing."""
    try:
        ids = json.loads(listed) if isinstance(listed, str) else []
    except (ValueError, RecursionError):
        return ()
    return tuple(map(str, ids)) if isinstance(ids, list) else ()


def _told(
    name: str,
    decision: str | None,
    shadow: bool,
    file: str | None,
    page: int | None,
    skills: tuple[str, ...],
) -> Iterator[tuple[str, tuple[str, ...]]]:
    if name == "load" and (file or (page or 1) != 1):
        return
    if name in ("load", NEXT):
        if skills:
            yield name, skills
    elif name == "turn" and not skills:  # silence is no result of a search
        yield "silent", ()
    elif name in ("lookup", "turn"):
        yield "search", skills
        if decision == "load" and not shadow:  # push gave the body at once
            yield "load", skills[:1]
