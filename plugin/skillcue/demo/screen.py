"""The demonstration on a terminal: what was pushed and why, what was pulled, what it cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from skillcue.commands.budget import LibraryCost
from skillcue.commands.output import Screen, fields
from skillcue.demo.records import PulledSkill, Totals, TurnLog
from skillcue.push.budget import shorten

__all__ = ["show_totals", "show_turn"]

USER_CHARS = 400
"""Longest user message shown, characters."""
REPLY_CHARS = 600
"""Longest reply shown, characters."""
ARGUMENT_CHARS = 120
"""Longest arguments of a tool call shown, characters."""


def show_turn(screen: Screen, number: int, turn: TurnLog) -> None:
    """One turn, as it was reported by the framework."""
    screen.heading(f"turn {number}")
    rows = [("user", shorten(_flat(turn.user), USER_CHARS))]
    rows += _push_rows(turn.push)
    rows += [("pull", _pull(pull)) for pull in turn.pulls]
    if not turn.pulls:
        rows.append(("pull", "nothing"))
    rows.append(("agent", shorten(_flat(turn.reply), REPLY_CHARS)))
    screen.show(fields(rows))


def show_totals(screen: Screen, totals: Totals, cost: LibraryCost, skills: int) -> None:
    """Sums of a run against the whole library in the prompt."""
    added = totals.pushed + totals.pulled
    share = f", {added / cost.everything:.1%} of the library" if cost.everything else ""
    median = "-" if totals.retrieval_ms is None else f"{totals.retrieval_ms:.2f} ms a turn (median)"
    whole = (
        f"{cost.everything:,} tokens: {skills} descriptions ({cost.descriptions:,}) "
        f"and bodies ({cost.bodies:,})"
    )
    rows = [
        ("push", f"{totals.pushed:,} tokens, {totals.spoke} of {totals.turns} turns"),
        ("pull", f"{totals.pulled:,} tokens of tool results"),
        ("together", f"{added:,} tokens{share}"),
        ("whole library", whole),
        ("retrieval", median),
    ]
    screen.heading("in total")
    screen.show(fields(rows))


def _push_rows(event: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    if event is None:
        return [("push", "no decision was reported")]
    spoke = event["decision"] != "abstain"
    what = f"{event['decision']} {', '.join(event['skills'])}" if spoke else "nothing"
    numbers = (
        f"confidence {event['confidence']:.2f}, threshold {event['threshold']:.2f}, "
        f"{event['tokens']} tokens, {event['elapsed_ms']:.2f} ms, mode {event['mode']}"
    )
    return [("push", what), ("", f"why: {event['reason']}"), ("", numbers)]


def _pull(pull: PulledSkill) -> str:
    arguments = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in pull.arguments.items()
    )
    outcome = "error, " if pull.error else ""
    return f"{pull.tool}({shorten(arguments, ARGUMENT_CHARS)}) → {outcome}{pull.tokens:,} tokens"


def _flat(text: str) -> str:
    return " ".join(text.split())
