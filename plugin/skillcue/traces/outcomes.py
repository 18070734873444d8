"""What recorded turns say about whether advice was needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from skillcue.evaluation.files import read_records
from skillcue.push.weights import GATE_VERSION
from skillcue.traces.reading import TracedTurn, Traces

__all__ = ["OFTEN", "REASONS", "JudgedTurn", "judge_turns", "of_gate", "of_mode", "read_labels"]

Reason = Literal[
    "label",
    "loaded",
    "pulled",
    "ignored",
    "quiet",
    "unclear",
    "named",
    "degraded",
    "at hand",
    "other gate",
    "given",
]

REASONS: Mapping[Reason, str] = {
    "label": "labelled by hand",
    "loaded": "offered and loaded: needed",
    "pulled": "the agent found a skill by itself that was not offered: needed",
    "ignored": "offered only what was offered twice or more and never loaded: not needed",
    "quiet": "silent or shadowed, and nothing was loaded: taken for not needed",
    "unclear": "offered and not loaded, though some other time it was: not wanted, and not fitted to",
    "named": "the user named a skill, which asks no gate: left out",
    "degraded": "decided on less than the whole index: left out",
    "at hand": "what fits stood in the conversation: left out",
    "other gate": "decided by a gate of another version, other signals or another encoder: left out",
    "given": "the body was loaded at once, so the agent had no choice: left out",
}
"""Why a turn counts as it does."""

OFTEN = 2
"""Offered on so many turns and never loaded, a skill was not wanted there."""


@dataclass(frozen=True, slots=True)
class JudgedTurn:
    """A recorded turn.

    Attributes:
        turn: The turn.
        need: It needed a skill; None where that is not known.
        reason: A key of `REASONS`.
    """

    turn: TracedTurn
    need: bool | None
    reason: Reason

    @property
    def spoke(self) -> bool:
        """Something was offered."""
        return bool(self.turn.offered)

    @property
    def unwanted(self) -> bool:
        """Advice on it would not be, or was not, taken.

        Unclear turns are among them: only turns on which push spoke can be unclear, and without them
        the threshold would come down with every calibration.
        """
        return self.need is False or self.reason == "unclear"


def read_labels(path: Path) -> dict[str, bool]:
    """Lines of ``{"turn": id, "need": true}``; the last one of a turn counts.

    Raises:
        ConfigurationError: The file cannot be read, or a line is something else.
    """
    labels = {}
    for record in read_records(path):
        need = record.values.get("need")
        if not isinstance(need, bool):
            raise record.error(f"'need' is {need!r}.", "Write true or false.")
        labels[record.name("turn")] = need
    return labels


def judge_turns(traces: Traces, labels: Mapping[str, bool]) -> list[JudgedTurn]:
    """What is known of each turn. A label wins over what happened.

    Args:
        traces: As recorded.
        labels: Turn id to whether it needed a skill.
    """
    given = {s for turn in traces.turns if turn.decision == "load" for s in turn.offered}
    offers = Counter(skill for turn in traces.turns for skill in turn.offered)
    taken = traces.loaded | given
    unwanted = {s for s, count in offers.items() if count >= OFTEN and s not in taken}
    return [_judged(turn, labels.get(turn.id), unwanted) for turn in traces.turns]


def _judged(turn: TracedTurn, label: bool | None, unwanted: set[str]) -> JudgedTurn:
    if turn.named:
        return JudgedTurn(turn, None, "named")
    if turn.degraded:
        return JudgedTurn(turn, None, "degraded")
    if not turn.offered and turn.candidates and turn.confidence >= turn.threshold:
        return JudgedTurn(turn, None, "at hand")
    if label is not None:
        return JudgedTurn(turn, label, "label")
    if turn.decision == "load":
        return JudgedTurn(turn, None, "given")
    if turn.loaded:
        return JudgedTurn(turn, True, "loaded" if turn.loaded & set(turn.offered) else "pulled")
    if not turn.offered or turn.shadow:
        return JudgedTurn(turn, False, "quiet")
    if unwanted.issuperset(turn.offered):
        return JudgedTurn(turn, False, "ignored")
    return JudgedTurn(turn, None, "unclear")


def of_mode(judged: Sequence[JudgedTurn], mode: str) -> list[JudgedTurn]:
    """Those decided in one mode; confidence of different modes is not comparable."""
    return [item for item in judged if item.turn.mode == mode]


def of_gate(judged: Sequence[JudgedTurn]) -> list[JudgedTurn]:
    """The same turns, those left out that another gate decided than this version's newest one."""
    gates = [item.turn.gate for item in judged if item.turn.gate is not None]
    kinds = [gate.kind for gate in gates if gate.version == GATE_VERSION]
    return [
        item
        if item.turn.gate is None or item.turn.gate.kind in kinds[-1:]
        else JudgedTurn(item.turn, None, "other gate")
        for item in judged
    ]
