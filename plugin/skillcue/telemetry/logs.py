"""One log line a decision, a lookup and a load."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from skillcue.push.render import escape
from skillcue.telemetry.facts import Facts, advice_facts, load_facts, lookup_facts
from skillcue_hooks import Advice, LoadedSkill, Query, Ranking, hookimpl
from skillcue_hooks.errors import ConfigurationError

__all__ = ["LogEvents"]

log = logging.getLogger("skillcue.telemetry")

TOLD = ("skillcue.mode", "skillcue.skills", "skillcue.tokens", "skillcue.miss", "error.type")
"""What the line itself says, where it is known; the rest is in the fields of the record."""


class LogEvents:
    """Writes to the logger ``skillcue.telemetry``, with what is told as fields of each record.

    The fields have the names of docs/reference/telemetry.md with ``_`` for ``.``, and
    ``skillcue_event`` and ``skillcue_elapsed_ms``, so that a formatter that writes JSON has them
    all. The line is in one piece whatever skills are called.

    Args:
        text: Add the words of the user, of queries and of reasons. Off: no message text is logged.
        level: Level of the records, a number of `logging`.

    Raises:
        ConfigurationError: An argument has the wrong type.
    """

    def __init__(self, *, text: bool = False, level: int = logging.INFO) -> None:
        if not isinstance(text, bool):
            raise ConfigurationError(f"text is {text!r}.", "Use True or False.")
        if not isinstance(level, int):
            raise ConfigurationError(f"level is {level!r}.", "Use a number: logging.INFO.")
        self._text = text
        self._level = level

    @hookimpl
    def skillcue_advised(self, advice: Advice, context: Mapping[str, Any]) -> None:
        """Log one decision."""
        facts = advice_facts(advice, context, text=self._text)
        self._log("advise", advice.decision, advice.elapsed_s, facts)

    @hookimpl
    def skillcue_looked_up(
        self, query: Query, ranking: Ranking, context: Mapping[str, Any]
    ) -> None:
        """Log one lookup."""
        facts = lookup_facts(query, ranking, context, text=self._text)
        self._log("lookup", f"{len(ranking.hits)} of {ranking.total}", ranking.elapsed_s, facts)

    @hookimpl
    def skillcue_loaded(self, loaded: LoadedSkill, context: Mapping[str, Any]) -> None:
        """Log one load."""
        what = f"page {loaded.page} of {loaded.pages}"
        self._log("load", what, loaded.elapsed_s, load_facts(loaded, context))

    def _log(self, event: str, what: str, elapsed_s: float, facts: Facts) -> None:
        if not log.isEnabledFor(self._level):
            return
        elapsed_ms = round(elapsed_s * 1000, 3)
        fields = {name.replace(".", "_"): value for name, value in facts.items()}
        fields |= {"skillcue_event": event, "skillcue_elapsed_ms": elapsed_ms}
        told = " ".join(_told(name, facts[name]) for name in TOLD if facts.get(name))
        log.log(self._level, "%s: %s %s %.1f ms", event, what, told, elapsed_ms, extra=fields)


def _told(name: str, value: Any) -> str:
    shown = ",".join(value) if isinstance(value, tuple) else str(value)
    return f"{name.rpartition('.')[2]}={escape(shown)}"
