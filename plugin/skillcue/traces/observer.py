"""The built-in plugin that records: it watches decisions and loads through the observer hooks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from skillcue.push.settings import PushSettings
from skillcue.traces.conversation import conversation_of_load
from skillcue.traces.file import TraceFile
from skillcue.traces.identity import told_turns, turn_id
from skillcue.traces.records import load_record, turn_record
from skillcue.traces.settings import TraceSettings, TraceSink
from skillcue_hooks import Advice, LoadedSkill, hookimpl

__all__ = ["TraceObserver"]

log = logging.getLogger("skillcue.traces")

_advised: ContextVar[tuple[str, frozenset[str]]] = ContextVar(
    "skillcue_advised", default=("", frozenset())
)


class TraceObserver:
    """Records decisions and loads; never raises, and logs the first failure only.

    Args:
        settings: Where to, and what.
        push: How the advisor reads a conversation.
        generation: Gives the generation of the library now.
        shadow: Push injects nothing.
    """

    def __init__(
        self,
        settings: TraceSettings,
        *,
        push: PushSettings,
        generation: Callable[[], str],
        shadow: bool,
    ) -> None:
        self._settings = settings
        self._sink = _sink(settings)
        self._push = push
        self._generation = generation
        self._shadow = shadow
        self._failed = False

    @hookimpl
    def skillcue_advised(self, advice: Advice) -> None:
        """Record one decision."""
        if advice.turn is None:
            return
        _advised.set((turn_id(advice.turn), frozenset(hit.skill.id for hit in advice.hits)))
        record = turn_record(
            advice,
            advice.turn,
            generation=self._generation(),
            shadow=self._shadow,
            text=self._settings.text,
        )
        self._write(record)

    @hookimpl
    def skillcue_loaded(self, loaded: LoadedSkill) -> None:
        """Record that the instructions of a skill were read; further pages and files are not."""
        if loaded.file is None and loaded.page == 1:
            turn = self._turn_of(loaded)
            self._write(load_record(loaded, turn, generation=self._generation()))

    def close(self) -> None:
        """Close the file."""
        if isinstance(self._sink, TraceFile):
            self._sink.close()

    def _turn_of(self, loaded: LoadedSkill) -> str | None:
        """The turn in whose conversation the load happens.

        A program that loads by itself names no conversation; then it is the turn that was decided
        last in the same context, if that turn offered the skill.
        """
        turns = told_turns(conversation_of_load(), self._push)
        if turns:
            return turn_id(turns[-1])
        turn, offered = _advised.get()
        return turn if loaded.skill.id in offered else None

    def _write(self, record: Mapping[str, Any]) -> None:
        try:
            self._sink.write(record)
        except Exception as error:  # noqa: BLE001  # a full disk or a sink of the user's: no reason to stop an agent
            if not self._failed:
                self._failed = True
                log.warning("traces are not recorded: %r; further failures are not logged", error)


def _sink(settings: TraceSettings) -> TraceSink:
    if isinstance(settings.to, TraceSink):
        return settings.to
    return TraceFile(Path(settings.to).expanduser(), settings.max_bytes)
