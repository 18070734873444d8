"""What recorded turns cost, by mode: tokens that advice added, calls, tokens and money of models.

That is push. Of pull, traces know which skills were loaded in a turn; searches by the agent, what
their model took and the size of what was loaded are in none of these numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from skillcue.traces.reading import TracedTurn, Traces
from skillcue_hooks.language import Usage

__all__ = ["ModeSpending", "spending"]


@dataclass(frozen=True, slots=True)
class ModeSpending:
    """What the turns of one mode cost.

    Attributes:
        mode: The mode.
        turns: Turns that were decided.
        spoken: Turns with advice.
        tokens: Tokens of all advice together; turns in shadow count as if it had been shown.
        largest: Tokens of the largest advice.
        loads: Skills that the agent loaded itself in these turns, each once a turn.
        cost: What language models took for the decisions.
    """

    mode: str
    turns: int
    spoken: int
    tokens: int
    largest: int
    loads: int
    cost: Usage = field(default_factory=Usage)

    @property
    def tokens_per_turn(self) -> float:
        """Mean over all turns, silent ones included."""
        return self.tokens / self.turns if self.turns else 0.0


def spending(traces: Traces) -> tuple[ModeSpending, ...]:
    """The turns summed up by mode, sorted by its name.

    A mode without turns is one whose turns were all decided again in another.
    """
    by_mode: dict[str, list[TracedTurn]] = {mode: [] for mode in traces.spent}
    for turn in traces.turns:
        by_mode.setdefault(turn.mode, []).append(turn)
    return tuple(
        ModeSpending(
            mode=mode,
            turns=len(turns),
            spoken=sum(turn.tokens > 0 for turn in turns),
            tokens=sum(turn.tokens for turn in turns),
            largest=max((turn.tokens for turn in turns), default=0),
            loads=sum(len(turn.loaded) for turn in turns),
            cost=traces.spent.get(mode, Usage()),
        )
        for mode, turns in sorted(by_mode.items())
    )
