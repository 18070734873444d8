"""Decisions on user turns: kept in memory, and boiled down to what a thread persists."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillcue_hooks import Advice

__all__ = ["Decided", "Memo", "Records", "bounded_records", "read_record"]

RECORD_BYTES = 1_000
"""Size of what is persisted for a thread, as JSON, bytes. Not a setting: threads outlive one."""

Records = Mapping[str, Sequence[str]]
"""``{turn key: [mode, skill id, ...]}``: plain JSON, all that a thread ever persists."""


@dataclass(frozen=True, slots=True)
class Decided:
    """The decision on one user turn.

    Attributes:
        mode: The mode it was made in.
        skill_ids: What was offered, best first; empty when silent.
        generation: The library generation `text` was rendered from.
        text: The advice block, "" when silent.
        tokens: Size of `text`, tokens.
        advice: The whole decision where it was made in this process, else None.
        durable: It may be persisted (a degraded or failed decision may not).
    """

    mode: str
    skill_ids: tuple[str, ...]
    generation: str
    text: str
    tokens: int
    advice: Advice | None = None
    durable: bool = True


class Memo:
    """Least recently used decisions, safe to share between threads.

    Args:
        capacity: Decisions kept.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._items: OrderedDict[tuple[str, str], Decided] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[str, str]) -> Decided | None:
        """The decision under `key`, or None."""
        with self._lock:
            if key in self._items:
                self._items.move_to_end(key)
            return self._items.get(key)

    def put(self, key: tuple[str, str], decided: Decided) -> None:
        """Keep `decided`, dropping the decision that was used longest ago when full."""
        with self._lock:
            self._items[key] = decided
            self._items.move_to_end(key)
            while len(self._items) > self._capacity:
                self._items.popitem(last=False)


def read_record(records: Any, key: str) -> tuple[str, tuple[str, ...]] | None:
    """(mode, skill ids) of a turn; None where there is no record or it is not well-formed."""
    record = records.get(key) if isinstance(records, Mapping) else None
    if not isinstance(record, list | tuple) or not record:
        return None
    if not all(isinstance(part, str) for part in record):
        return None
    return record[0], tuple(record[1:])


def bounded_records(records: Records) -> dict[str, list[str]]:
    """The newest records whose JSON text fits in `RECORD_BYTES`, in their order."""
    kept: list[tuple[str, list[str]]] = []
    size = 2
    for key, record in reversed(list(records.items())):
        size += len(json.dumps({key: list(record)}, ensure_ascii=False).encode())
        if size > RECORD_BYTES:
            break
        kept.append((key, list(record)))
    return dict(reversed(kept))
