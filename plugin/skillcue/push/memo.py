"""Decisions on user turns: kept in memory, and boiled down to what a thread persists."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from skillcue.push.declines import DECLINED_BYTES, DECLINED_KEY
from skillcue.push.settings import MAX_K
from skillcue_adapters.locks import ForkSafeLock
from skillcue_hooks import Advice

__all__ = [
    "LOAD_MARK",
    "OFFER_BYTES",
    "Decided",
    "Memo",
    "MemoKey",
    "Records",
    "bounded_records",
    "read_record",
    "record_size",
]

RECORD_BYTES = 1_000
"""Size of what is persisted for a thread, as JSON, bytes. Not a setting: threads outlive one."""
OFFER_BYTES = 740
"""Share of it that turns with advice may take, bytes; the rest is for declines and the newest."""

LOAD_MARK = ":load"
"""Stands before the id in the record of a body that was loaded at once; no skill has this id."""

Records = Mapping[str, Sequence[str]]
"""``{turn key: [mode, skill id, ...], "declined": [...]}``: plain JSON, all a thread persists."""

MemoKey = tuple[str, ...]


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
        durable: It may be persisted: not made on less than the whole index, and not failed.
        shown: Those of `skill_ids` that `text` names; others are gone, hidden or did not fit.
        evidence: How much spoke for each of `shown`, where the decision was made in this process.
        load: It was to give the body of the one skill.
        given: Ids of the skills whose body `text` holds; a body may not fit any more.
    """

    mode: str
    skill_ids: tuple[str, ...]
    generation: str
    text: str
    tokens: int
    advice: Advice | None = None
    durable: bool = True
    shown: tuple[str, ...] = ()
    evidence: tuple[float, ...] = ()
    load: bool = False
    given: tuple[str, ...] = ()

    def record(self) -> list[str]:
        """What a thread persists of it; see `read_record`."""
        return [self.mode, *([LOAD_MARK] if self.load else []), *self.skill_ids]


class Memo:
    """Least recently used decisions, safe to share between threads.

    Args:
        capacity: Entries kept; one decision may be kept under several keys.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._items: OrderedDict[MemoKey, Decided] = OrderedDict()
        self._lock = ForkSafeLock()
        self._deciding: dict[MemoKey, tuple[ForkSafeLock, list[int]]] = {}

    def get(self, key: MemoKey) -> Decided | None:
        """The decision under `key`, or None."""
        with self._lock:
            if key in self._items:
                self._items.move_to_end(key)
            return self._items.get(key)

    def put(self, key: MemoKey, decided: Decided) -> None:
        """Keep `decided`, dropping the decision that was used longest ago when full."""
        with self._lock:
            self._items[key] = decided
            self._items.move_to_end(key)
            while len(self._items) > self._capacity:
                self._items.popitem(last=False)

    @contextmanager
    def deciding(self, key: MemoKey) -> Iterator[None]:
        """Hold back other threads that want to decide on `key`, so that they find it decided."""
        with self._lock:
            turn, waiting = self._deciding.setdefault(key, (ForkSafeLock(), [0]))
            waiting[0] += 1
        try:
            with turn:
                yield
        finally:
            with self._lock:
                waiting[0] -= 1
                if not waiting[0]:
                    del self._deciding[key]


def read_record(records: Any, key: str) -> tuple[str, tuple[str, ...], bool] | None:
    """(mode, skill ids, whether a body was loaded) of a turn; None without a well-formed record.

    A record of an offer is ``[mode, id, ...]``, one of a body ``[mode, LOAD_MARK, id]``.
    """
    record = records.get(key) if isinstance(records, Mapping) else None
    if not isinstance(record, list | tuple) or not 1 <= len(record) <= 1 + MAX_K:
        return None
    if not all(isinstance(part, str) for part in record):
        return None
    if sum(map(len, record)) > RECORD_BYTES:  # never written by `bounded_records`
        return None
    load = len(record) == 3 and record[1] == LOAD_MARK
    return record[0], tuple(record[2 if load else 1 :]), load


def record_size(key: str, record: Sequence[str]) -> int:
    """Size of one record in what is persisted, bytes."""
    text = json.dumps({key: list(record)}, ensure_ascii=False)
    return len(text.encode("utf-8", "surrogatepass"))


def bounded_records(records: Records) -> dict[str, list[str]]:
    """The records that fit in `RECORD_BYTES`, in their order.

    The newest one comes first: a resumed turn needs its mode. Then those that name skills, newer
    ones before older, because replay needs them. A turn that stayed silent needs no record to
    stay silent; such records fill what room is left. The declines have a room of their own.
    """
    items = list(records.items())
    last = max((i for i, (key, _) in enumerate(items) if key != DECLINED_KEY), default=-1)

    def rank(i: int) -> tuple[bool, bool, bool, int]:
        key, record = items[i]
        declines = key == DECLINED_KEY and record_size(key, record) <= DECLINED_BYTES
        return not declines, i != last, len(record) < 2, -i

    order = sorted(range(len(items)), key=rank)
    kept: set[int] = set()
    room = RECORD_BYTES - 2
    for position in order:
        size = record_size(*items[position])
        if size <= room:
            room -= size
            kept.add(position)
    return {key: list(record) for i, (key, record) in enumerate(items) if i in kept}
