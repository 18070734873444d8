"""What is recorded, as plain JSON values. docs/reference/traces.md describes every field."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from skillcue.push.judge import NOT_JUDGED, gate_saw_all
from skillcue.traces.identity import turn_id
from skillcue_hooks.contracts import Advice, LoadedSkill, Turn

__all__ = ["SCHEMA", "load_record", "turn_record"]

SCHEMA = 1
"""Raised when a field changes its meaning or goes away; new fields may come without it."""


def turn_record(
    advice: Advice, turn: Turn, *, generation: str, shadow: bool, text: bool
) -> dict[str, Any]:
    """The decision on one user turn.

    Without `text` it holds no words of the conversation: `Advice.reason` is left out because an
    exception that it quotes may hold some.

    Args:
        advice: The decision.
        turn: Its turn.
        generation: Of the library.
        shadow: Nothing was injected.
        text: Add the words of the user.
    """
    record: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": "turn",
        "turn": turn_id(turn),
        "mode": advice.mode,
        "decision": advice.decision,
        "confidence": round(advice.confidence, 6),
        "threshold": round(advice.threshold, 6),
        "features": {name: round(value, 6) for name, value in _features(advice)},
        "gate": _gate(advice),
        "offered": [hit.skill.id for hit in advice.hits],
        "named": bool(turn.explicit),
        "candidates": len(advice.hits) + len(advice.rejected),
        "tokens": advice.tokens,
        "cost": asdict(advice.cost) if advice.cost.calls else {},
        "shadow": shadow,
        "degraded": not gate_saw_all(advice.degraded) or advice.reason.startswith("push failed"),
        "unjudged": NOT_JUDGED in (advice.degraded or ""),
        "generation": generation,
        "elapsed_ms": round(advice.elapsed_s * 1000, 3),
    }
    if text:
        record["text"] = turn.user_text
    return record


def load_record(loaded: LoadedSkill, turn: str | None, *, generation: str) -> dict[str, Any]:
    """The agent read a skill.

    Args:
        loaded: What it read.
        turn: The turn in which it did; None where that cannot be told.
        generation: Of the library.
    """
    return {
        "schema": SCHEMA,
        "kind": "load",
        "turn": turn,
        "skill": loaded.skill.id,
        "generation": generation,
    }


def _gate(advice: Advice) -> dict[str, Any]:
    facts = dict(advice.gate)
    if facts:
        scale = {
            name: [_digits(mean), _digits(spread)]
            for name, (mean, spread) in facts["scale"].items()
        }
        facts.update(
            nothing=_digits(facts["nothing"]), foreign=_digits(facts["foreign"]), scale=scale
        )
    return facts


def _digits(value: float) -> float:
    return round(value, 6)


def _features(advice: Advice) -> list[tuple[str, float]]:
    return sorted(getattr(advice, "features", {}).items())
