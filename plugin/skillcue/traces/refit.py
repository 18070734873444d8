"""A threshold from recorded turns: how often push speaks where nothing is needed, and how to bound it.

The threshold is a split-conformal quantile (Vovk, Gammerman and Shafer, 2005) of the confidence of
recorded turns that needed no skill: if the turns to come are like those, at most the stated share
of them is spoken on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from skillcue.intervals import wilson_bounds
from skillcue.push.calibration import Calibration
from skillcue.traces.outcomes import JudgedTurn
from skillcue_hooks.errors import ConfigurationError

__all__ = ["FEWEST_TURNS", "Refit", "Share", "by_shipped", "refit", "wilson", "with_confidence"]

FEWEST_TURNS = 40
"""Fewer turns whose outcome is known say nothing worth a threshold."""
BINS = 5
"""Rows of the reliability table."""

_ONE_SIDED = 0.975  # of each bound, so that 95% lie between the two


@dataclass(frozen=True, slots=True)
class Share:
    """A share and its 95% Wilson interval.

    Attributes:
        hits: Counted.
        n: Of so many; 0 leaves the share open.
        low: Lower end, 0 to 1.
        high: Upper end, 0 to 1.
    """

    hits: int
    n: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Refit:
    """What came out.

    Attributes:
        before: Threshold of the newest recorded turn.
        threshold: The new one.
        spoke: Turns on which push spoke, of all.
        false_before: Turns on which advice was not wanted and it spoke.
        false_after: Those on which it would have, with the new threshold.
        advised_before: Turns that needed a skill on which it spoke.
        advised_after: Those on which it would have.
        silenced: Turns on which it spoke and would not.
        awakened: Turns on which it was silent and would not be.
        reliability: (lowest confidence, highest, share that needed a skill) of groups of equal
            size, ascending.
    """

    before: float
    threshold: float
    spoke: Share
    false_before: Share
    false_after: Share
    advised_before: Share
    advised_after: Share
    silenced: int
    awakened: int
    reliability: tuple[tuple[float, float, Share], ...]


def by_shipped(judged: Sequence[JudgedTurn]) -> list[JudgedTurn]:
    """The same turns with the confidence that the shipped weights give, whoever decided."""
    found = {}
    for turn in (item.turn for item in judged):
        gate = turn.gate
        if gate is not None and gate.refitted:
            shipped = Calibration(gate.signals, gate.scale, gate.nothing, gate.foreign)
            found[turn.id] = shipped.confidence(shipped.score(turn.features))
    return with_confidence(judged, found)


def with_confidence(
    judged: Sequence[JudgedTurn], confidence: Mapping[str, float]
) -> list[JudgedTurn]:
    """The same turns with another confidence where one is given, by id."""
    return [
        replace(item, turn=replace(item.turn, confidence=confidence[item.turn.id]))
        if item.turn.id in confidence
        else item
        for item in judged
    ]


def refit(
    judged: Sequence[JudgedTurn], max_false_push: float, threshold: float | None = None
) -> Refit:
    """The lowest threshold that keeps to `max_false_push` on turns like the recorded ones.

    Args:
        judged: Turns of one mode.
        max_false_push: Share of turns that need nothing on which push may speak, above 0, below 1.
        threshold: That of a gate whose confidence is such a share already; None finds one.

    Raises:
        ConfigurationError: Too few turns are known.
    """
    known = [item for item in judged if item.need is not None]
    none = [item.turn.confidence for item in judged if item.unwanted]
    least = math.ceil(1 / max_false_push - 1e-9) - 1
    if len(known) < FEWEST_TURNS or len(none) < least:
        raise ConfigurationError(
            f"Too few turns: the outcome of {len(known)} is known, and on {len(none)} advice was "
            f"not wanted; {FEWEST_TURNS} and {least} are needed for a share of {max_false_push:g}.",
            "Record more, label some with --labels, or allow more with --max-false-push.",
        )
    if threshold is None:
        threshold = _threshold(none, max_false_push)
    counted = [item for item in judged if item.need or item.unwanted]
    told = [item.turn.confidence >= threshold for item in counted]
    spoke = [item.spoke for item in counted]
    need = [not item.unwanted for item in counted]
    return Refit(
        before=judged[-1].turn.threshold,
        threshold=threshold,
        spoke=wilson(sum(item.spoke for item in judged), len(judged)),
        false_before=_among(spoke, need, needed=False),
        false_after=_among(told, need, needed=False),
        advised_before=_among(spoke, need, needed=True),
        advised_after=_among(told, need, needed=True),
        silenced=sum(was and not now for was, now in zip(spoke, told, strict=True)),
        awakened=sum(now and not was for was, now in zip(spoke, told, strict=True)),
        reliability=_reliability(known),
    )


def wilson(hits: int, n: int) -> Share:
    """A share with its interval (Wilson, 1927): sound for few turns and for shares near 0."""
    return Share(hits, n, *wilson_bounds(hits, n, _ONE_SIDED))


def _threshold(none: Sequence[float], max_false_push: float) -> float:
    """Just above as many of the highest as may not be spoken on.

    Of n turns k may be spoken on, where (k + 1) / (n + 1) is the share that is allowed: the one
    more is the turn to come.
    """
    allowed = math.floor(max_false_push * (len(none) + 1) + 1e-9) - 1
    highest = sorted(none, reverse=True)[allowed]
    return round(math.floor(highest * 1e6 + 1e-3) / 1e6 + 1e-6, 6)  # traces have six digits


def _among(told: Sequence[bool], need: Sequence[bool], *, needed: bool) -> Share:
    chosen = [t for t, n in zip(told, need, strict=True) if n == needed]
    return wilson(sum(chosen), len(chosen))


def _reliability(known: Sequence[JudgedTurn]) -> tuple[tuple[float, float, Share], ...]:
    ordered = sorted(known, key=lambda item: (item.turn.confidence, item.turn.id))
    size = math.ceil(len(ordered) / BINS)
    groups = [ordered[start : start + size] for start in range(0, len(ordered), size)]
    return tuple(
        (
            group[0].turn.confidence,
            group[-1].turn.confidence,
            wilson(sum(bool(item.need) for item in group), len(group)),
        )
        for group in groups
    )
