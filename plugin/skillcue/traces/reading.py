"""Traces, read back: decided turns, each with what was loaded in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from skillcue.push.features import SIGNAL_SETS
from skillcue.traces.records import SCHEMA
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.language import Usage

__all__ = ["TracedGate", "TracedTurn", "Traces", "join_records", "read_traces"]

LINES_TOLD = 1_000
"""So often progress is told, lines."""


@dataclass(frozen=True, slots=True)
class TracedGate:
    """By which gate a turn was decided.

    Attributes:
        version: Of the gate.
        signals: What the hits carried.
        encoder: Fingerprint; empty without one.
        refitted: Weights of a calibration file decided, not the shipped ones.
        nothing: Landmarks of the library for the shipped weights; see
            `skillcue.push.calibration.Calibration`.
        foreign: The other one.
        scale: Units of the features; see the same.
    """

    version: int
    signals: str
    encoder: str
    refitted: bool
    nothing: float
    foreign: float
    scale: Mapping[str, tuple[float, float]]

    @property
    def kind(self) -> tuple[int, str, str]:
        """Scores of gates of different kinds are not comparable."""
        return self.version, self.signals, self.encoder


@dataclass(frozen=True, slots=True)
class TracedTurn:
    """One decided user turn.

    Attributes:
        id: Its id.
        mode: The retrieval mode.
        decision: ``offer``, ``load`` or ``abstain``.
        confidence: The gate's number.
        threshold: What it had to reach.
        features: What the gate saw; empty for gates that do not say.
        offered: Ids of the skills that were offered.
        named: The user named a skill, which is offered without asking the gate.
        candidates: Number of candidates.
        degraded: A cheaper path answered, or push failed.
        generation: Of the library.
        shadow: What was offered was not shown to the model.
        gate: By which gate; None where it was not asked, or did not say.
        loaded: Ids of the skills that the agent loaded in this turn.
        tokens: Size of the advice.
        cost: What language models took for it.
    """

    id: str
    mode: str
    decision: str
    confidence: float
    threshold: float
    features: Mapping[str, float]
    offered: tuple[str, ...]
    named: bool
    candidates: int
    degraded: bool
    generation: str
    shadow: bool = False
    gate: TracedGate | None = None
    loaded: frozenset[str] = frozenset()
    tokens: int = 0
    cost: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Traces:
    """What a file holds.

    Attributes:
        turns: In the order in which they were decided.
        loaded: Ids of all skills that were loaded at all, in whatever turn.
        skipped: Lines that are no record of this schema, such as one that was cut off.
        spent: Mode to what language models took for its decisions.
        loads_elsewhere: Loads that belong to none of the turns.
    """

    turns: tuple[TracedTurn, ...]
    loaded: frozenset[str]
    skipped: int
    spent: Mapping[str, Usage] = field(default_factory=dict, hash=False)
    loads_elsewhere: int = 0


def read_traces(path: Path, told: Callable[[str, int, int], None] = lambda *_: None) -> Traces:
    """The records of a file, those of ``NAME.1`` beside it before them.

    Args:
        path: The file.
        told: Called with what is done, how many lines were read, and 0: of how many is not known.

    Raises:
        ConfigurationError: The file cannot be read.
    """
    older = path.with_name(f"{path.name}.1")
    files = [older, path] if older.is_file() else [path]
    return join_records(_parsed(line) for line in _counted(files, told))


def _counted(files: Iterable[Path], told: Callable[[str, int, int], None]) -> Iterator[bytes]:
    for number, line in enumerate(line for file in files for line in _lines(file)):
        if number % LINES_TOLD == 0:
            told("reading", number, 0)
        yield line


def join_records(records: Iterable[Any]) -> Traces:
    """Decisions with the loads that belong to them.

    A load belongs to the newest turn of its id before it. A turn that was decided again in another
    process, or in another mode, is counted once, as it was decided last; what language models took
    counts each time.

    Args:
        records: As they were written; anything else is counted as skipped.
    """
    turns: dict[str, TracedTurn] = {}
    loaded: set[str] = set()
    spent: dict[str, Usage] = {}
    skipped = elsewhere = 0
    for record in records:
        made = _turn(record)
        if made is not None:
            before = turns.pop(made.id, None)
            turns[made.id] = replace(made, loaded=before.loaded if before else frozenset())
            spent[made.mode] = spent.get(made.mode, Usage()) + made.cost
        elif _is(record, "load") and isinstance(record.get("skill"), str):
            loaded.add(record["skill"])
            turn = turns.get(str(record.get("turn")))
            if turn is None:
                elsewhere += 1
            else:
                turns[turn.id] = replace(turn, loaded=turn.loaded | {record["skill"]})
        else:
            skipped += 1
    return Traces(tuple(turns.values()), frozenset(loaded), skipped, spent, elsewhere)


def _is(record: Any, kind: str) -> bool:
    return (
        isinstance(record, Mapping)
        and record.get("schema") == SCHEMA
        and record.get("kind") == kind
    )


def _turn(record: Any) -> TracedTurn | None:
    if not _is(record, "turn"):
        return None
    try:
        return TracedTurn(
            id=_text(record["turn"]),
            mode=_text(record["mode"]),
            decision=_text(record["decision"]),
            confidence=float(record["confidence"]),
            threshold=float(record["threshold"]),
            features={str(name): float(v) for name, v in record["features"].items()},
            offered=_texts(record["offered"]),
            named=bool(record["named"]),
            candidates=int(record["candidates"]),
            degraded=bool(record["degraded"]),
            generation=_text(record["generation"]),
            shadow=bool(record.get("shadow")),
            gate=_gate(record.get("gate")),
            tokens=int(record.get("tokens", 0)),
            cost=_cost(record.get("cost")),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _gate(record: Any) -> TracedGate | None:
    if not record:
        return None
    if record["signals"] not in SIGNAL_SETS:
        raise ValueError("no such signals")
    scale = {str(n): (float(mean), float(spread)) for n, (mean, spread) in record["scale"].items()}
    if not all(spread > 0.0 for _, spread in scale.values()):
        raise ValueError("no units")
    return TracedGate(
        version=int(record["version"]),
        signals=record["signals"],
        encoder=_text(record["encoder"]),
        refitted=bool(record["refitted"]),
        nothing=float(record["nothing"]),
        foreign=float(record["foreign"]),
        scale=scale,
    )


def _cost(record: Any) -> Usage:
    """What was taken; nothing in lines that were written before there was this field."""
    if not record:
        return Usage()
    money = record["money"]
    return Usage(
        calls=int(record["calls"]),
        input_tokens=int(record["input_tokens"]),
        output_tokens=int(record["output_tokens"]),
        money=None if money is None else float(money),
        estimated=bool(record["estimated"]),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _texts(values: Sequence[Any]) -> tuple[str, ...]:
    return tuple(map(_text, values))


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from (line for line in file if line.strip())
    except OSError as error:
        raise ConfigurationError(
            f"The traces {path} cannot be read: {error.strerror or error}.",
            "Name the file that SkillCue(..., traces=FILE) writes.",
        ) from error


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
