"""What became of a thread's offers, worked out turn by turn while a request is planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skillcue.push.declines import Declines
from skillcue.push.memo import Decided
from skillcue.push.messages import MessageView
from skillcue.push.turn import UserTurn, load_marks

__all__ = ["Followed"]


class Followed:
    """Brings the declines of a thread forward from the newest turn that it has a record of.

    Without a load tool nobody can tell whether a skill was taken, and nothing is counted.

    Args:
        records: What the thread has persisted.
        turns: The turns of the request.
        views: Its messages.
        load_tool: Name of the load tool.
        first: Index of the first turn that the persisted declines do not cover.
    """

    def __init__(
        self,
        records: Any,
        turns: Sequence[UserTurn],
        views: Sequence[MessageView],
        load_tool: str | None,
        first: int,
    ) -> None:
        self._declines = Declines.of(records)
        self._turns = turns
        self._views = views
        self._load_tool = load_tool
        self._first = first
        self._loaded: dict[int, set[str]] | None = None  # by message position
        self._given: dict[int, tuple[str, ...]] = {}  # bodies that push itself gave, by turn

    def begins(self, index: int) -> None:
        """Turn `index` begins, so that the one before it is over."""
        if self._load_tool is None or index <= self._first:
            return
        if self._declines.record():
            loaded = self._loaded_between(index - 1, index).union(self._given.get(index - 1, ()))
            self._declines.ended(self._turns[index - 1].key, loaded)

    def decided(self, index: int, decided: Decided) -> None:
        """Take note of what turn `index` was offered."""
        if self._load_tool is None or index < self._first or not decided.durable:
            return
        if decided.given:
            self._given[index] = decided.given
        elif decided.shown:
            known = dict(zip(decided.skill_ids, decided.evidence, strict=False))
            evidence = {skill_id: known.get(skill_id, 0.0) for skill_id in decided.shown}
            self._declines.offered(self._turns[index].key, evidence)

    def state(self) -> str:
        """What decisions depend on: equal for equal declines, "" as long as none is demoted."""
        return self._declines.record()[0] if self._declines.any_demoted() else ""

    def demoted(self, ids: Mapping[str, str]) -> dict[str, float]:
        """See `Declines.demoted`."""
        return self._declines.demoted(ids)

    def record(self) -> list[str]:
        """What to persist."""
        return self._declines.record()

    def _loaded_between(self, turn: int, following: int) -> set[str]:
        if self._loaded is None:
            self._loaded = {}
            for mark in load_marks(self._views, self._load_tool):
                self._loaded.setdefault(mark.position, set()).add(mark.skill_id)
        start, end = self._turns[turn].position, self._turns[following].position
        inside = [ids for position, ids in self._loaded.items() if start < position < end]
        return set().union(*inside)
