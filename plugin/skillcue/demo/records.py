"""What happened in a played conversation; every number comes from the frameworks' own events."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skillcue.push.budget import estimate_tokens

__all__ = ["PulledSkill", "Totals", "TurnLog", "totals"]


@dataclass(frozen=True, slots=True)
class PulledSkill:
    """One call of a tool.

    Attributes:
        tool: Name of the tool.
        arguments: What the model passed.
        tokens: Size of the result, tokens (estimated).
        error: The tool answered with an error.
    """

    tool: str
    arguments: Mapping[str, Any]
    tokens: int
    error: bool = False

    @classmethod
    def of(cls, tool: str, arguments: Mapping[str, Any], result: str, error: bool) -> PulledSkill:
        """The call whose result is the text `result`."""
        return cls(tool, dict(arguments), estimate_tokens(result), error)


@dataclass(slots=True)
class TurnLog:
    """One user turn, filled in while it runs.

    Attributes:
        user: The user's words.
        push: The ``skill_advice`` event of the stream; None when there was none.
        pulls: Tool calls, in order.
        reply: The agent's last words.
    """

    user: str
    push: Mapping[str, Any] | None = None
    pulls: list[PulledSkill] = field(default_factory=list)
    reply: str = ""


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over a run.

    Attributes:
        pushed: Tokens of all advice.
        pulled: Tokens of all tool results.
        spoke: Turns with advice.
        turns: All turns.
        retrieval_ms: Median time of a push decision, milliseconds; None without any.
    """

    pushed: int
    pulled: int
    spoke: int
    turns: int
    retrieval_ms: float | None


def totals(turns: Sequence[TurnLog]) -> Totals:
    """Add up a run."""
    events = [turn.push for turn in turns if turn.push is not None]
    times = [float(event["elapsed_ms"]) for event in events]
    return Totals(
        pushed=sum(int(event["tokens"]) for event in events),
        pulled=sum(pull.tokens for turn in turns for pull in turn.pulls),
        spoke=sum(event["decision"] != "abstain" for event in events),
        turns=len(turns),
        retrieval_ms=statistics.median(times) if times else None,
    )
