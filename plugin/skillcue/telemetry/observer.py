"""The built-in plugin that stores events."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from skillcue.push.settings import PushSettings
from skillcue.telemetry.facts import NEXT, Facts, advice_facts, load_facts, lookup_facts, next_facts
from skillcue.telemetry.settings import EventSettings
from skillcue.telemetry.store import row_of
from skillcue.telemetry.writer import EventWriter
from skillcue.traces.conversation import decided_now, turn_of_load, turn_of_lookup
from skillcue.traces.identity import turn_id
from skillcue_hooks import Advice, LoadedSkill, Query, Ranking, hookimpl

__all__ = ["EventObserver"]


class EventObserver:
    """Stores decisions, lookups and loads; see `EventWriter` for what happens when it cannot.

    Args:
        settings: Where to, and what.
        push: How the advisor reads a conversation.
        generation: Gives the generation of the library now.
    """

    def __init__(
        self, settings: EventSettings, *, push: PushSettings, generation: Callable[[], str]
    ) -> None:
        self._text = settings.text
        self._push = push
        self._generation = generation
        self._writer = EventWriter(settings)

    @hookimpl
    def skillcue_advised(self, advice: Advice, context: Mapping[str, Any]) -> None:
        """Store one decision."""
        decided_now(advice)
        facts = advice_facts(advice, context, text=self._text)
        turn = None if advice.turn is None else turn_id(advice.turn)
        self._put("turn", facts, advice.elapsed_s, turn)

    @hookimpl
    def skillcue_looked_up(
        self, query: Query, ranking: Ranking, context: Mapping[str, Any]
    ) -> None:
        """Store one lookup."""
        facts = lookup_facts(query, ranking, context, text=self._text)
        self._put("lookup", facts, ranking.elapsed_s, turn_of_lookup(self._push))

    @hookimpl
    def skillcue_loaded(self, loaded: LoadedSkill, context: Mapping[str, Any]) -> None:
        """Store one load, further pages and files included."""
        facts = load_facts(loaded, context)
        self._put("load", facts, loaded.elapsed_s, turn_of_load(loaded, self._push))

    def suggested(self, read: str, shown: Sequence[str], context: Mapping[str, Any]) -> None:
        """Store what was suggested after a load, so that it does not count as what agents do by
        themselves.

        Args:
            read: Id of the skill that was loaded.
            shown: Ids of the skills that were suggested.
            context: Run-time values of the framework.
        """
        facts = next_facts(read, shown, context)
        self._put(NEXT, facts, 0.0, turn_of_lookup(self._push))

    def flush(self) -> bool:
        """Wait until everything is written; False where that takes too long."""
        return self._writer.flush()

    def close(self) -> None:
        """Write what waits, and close the file."""
        self._writer.close()

    def _put(self, kind: str, facts: Facts, elapsed_s: float, turn: str | None) -> None:
        self._writer.put(
            row_of(
                facts,
                at=time.time(),
                kind=kind,
                elapsed_ms=round(elapsed_s * 1000, 3),
                turn=turn,
                generation=self._generation(),
            )
        )
