"""The built-in plugin that records: it watches decisions and loads through the observer hooks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from skillcue.push.settings import PushSettings
from skillcue.traces.conversation import decided_now, turn_of_load
from skillcue.traces.file import TraceFile
from skillcue.traces.records import load_record, turn_record
from skillcue.traces.settings import TraceSettings, TraceSink
from skillcue_hooks import Advice, LoadedSkill, hookimpl

__all__ = ["TraceObserver"]

log = logging.getLogger("skillcue.traces")


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
        decided_now(advice)
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
            turn = turn_of_load(loaded, self._push)
            self._write(load_record(loaded, turn, generation=self._generation()))

    def close(self) -> None:
        """Close the file."""
        if isinstance(self._sink, TraceFile):
            self._sink.close()

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
