"""Where a turn stands between two landmarks of one library, and how rare that is.

The same words score differently over another library, in another mode or with another encoder. So two
kinds of turns are searched in the user's own library that should both be met with silence:

- bundled turns that need nothing (thanks, small talk, questions about the conversation, general
  knowledge, everyday requests), half of them as if they followed a request whose skill has just been
  supplied. They also give the units in which features are measured;
- descriptions of its skills, with the skill itself taken away (leave-one-out): tasks that look like
  the library's own and that it cannot serve.

The *level* of a turn is its score on the line on which the mean of the first kind is 0 and that of
the second 1. Tasks that score lower than over the example library do not lower the bar: the second
landmark is never nearer to the first than there. The constants hold the levels of labelled turns that need no skill, over the example
library. The share of them below the level of a turn is the gate's *confidence*. Speaking from
confidence ``1 - a`` on is split conformal prediction (Vovk, Gammerman and Shafer, 2005): of turns that
are exchangeable with the labelled ones, at most a share `a` is spoken on.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from skillcue.push.cues import CUES, text_cues
from skillcue.push.features import library_features, new_hits, signal_set
from skillcue.push.turn_type import bundled_turns
from skillcue.push.weights import GateWeights, gate_weights
from skillcue_hooks import Hit, Skill

__all__ = [
    "Calibration",
    "NullFeatures",
    "NullTurn",
    "calibrated",
    "fit_calibration",
    "null_features",
    "null_turns",
    "shipped_calibration",
]

FOREIGN_TURNS = 60
"""Skills whose descriptions are asked for, spread evenly over the library."""

REQUEST_CHARS = 200
"""Characters of a description that make a request."""

LEAST_SPREAD = 0.5
"""A spread is at least this share of the shipped one: few skills may show none."""

Search = Callable[[str, Sequence[str]], Sequence[Hit]]
"""(what the user says, what was said before) to candidates, best first."""

TurnType = Callable[[str, int | None], Mapping[str, float]]
"""(text, its number among the bundled turns that need nothing) to features; see `TurnTypes`."""

NullFeatures = tuple[bool, Mapping[str, float]]
"""(whether it is a task that the library cannot serve, its features)"""


@dataclass(frozen=True, slots=True)
class NullTurn:
    """A turn for which no skill should be offered.

    Attributes:
        text: What the user says.
        earlier: What was said before.
        hidden: Id of the skill that is not looked at; empty for none.
        number: Which of the bundled turns it is; None for a task without its skill.
    """

    text: str
    earlier: tuple[str, ...] = ()
    hidden: str = ""
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Calibration:
    """The gate fitted to one library and one way to search it.

    Attributes:
        signals: Which weights it uses; see `skillcue.push.features.SIGNAL_SETS`.
        scale: ``(mean, standard deviation)`` of each feature over turns that need nothing.
        nothing: Mean score of turns that need nothing.
        foreign: Mean score of tasks that the library cannot serve; above `nothing`.
        fitted: To the user's library; False for the shipped one.
    """

    signals: str
    scale: Mapping[str, tuple[float, float]]
    nothing: float
    foreign: float
    fitted: bool = True

    def score(self, features: Mapping[str, float]) -> float:
        """Log-odds that a turn with these features needs a skill; a missing one says nothing."""
        return _score(gate_weights(self.signals), self.scale, features)

    def level(self, score: float) -> float:
        """0 for a score like that of turns that need nothing, 1 like that of foreign tasks."""
        return (score - self.nothing) / (self.foreign - self.nothing)

    def confidence(self, score: float) -> float:
        """Share of labelled turns without a need that are below this level, 0 to below 1.

        One more of them is counted above it, as conformal prediction demands.
        """
        levels = gate_weights(self.signals).levels
        return round(bisect_left(levels, self.level(score)) / (len(levels) + 1), 4)


def shipped_calibration(signals: str) -> Calibration:
    """That of the example library, for as long as there is none of the user's."""
    weights = gate_weights(signals)
    return Calibration(signals, weights.scale, weights.nothing, weights.foreign, fitted=False)


def null_turns(skills: Sequence[Skill]) -> Iterable[NullTurn]:
    """The turns of a library for which it should be silent; equal for equal libraries.

    Args:
        skills: The library's, sorted by id.
    """
    for number, text in enumerate(bundled_turns("needs_nothing")):
        if number % 2 and skills:
            # Scattered, so that turns of one sort do not all follow the same skills; and nearly the
            # same ones after an edit of the library, whose vectors are remembered.
            given = skills[number * 619 % 1009 * len(skills) // 1009]
            yield NullTurn(text, (_request(given),), given.id, number)
        else:
            yield NullTurn(text, number=number)
    count = min(len(skills), FOREIGN_TURNS)
    for number in (i * len(skills) // count for i in range(count)):
        yield NullTurn(_request(skills[number]), hidden=skills[number].id)


def fit_calibration(skills: Sequence[Skill], search: Search, types: TurnType) -> Calibration | None:
    """Search a library for the turns of both kinds.

    Args:
        skills: The library's, sorted by id.
        search: Searches it.
        types: What kind of turn a text is.

    Returns:
        None for a library in which nothing is ever found.
    """
    signals, rows = null_features(skills, search, types)
    return calibrated(signals, rows, gate_weights(signals)) if signals else None


def null_features(
    skills: Sequence[Skill], search: Search, types: TurnType
) -> tuple[str, tuple[NullFeatures, ...]]:
    """What hits carry (empty when there are none), and the features of each of `null_turns`.

    Args:
        skills: The library's, sorted by id.
        search: Searches it.
        types: What kind of turn a text is.
    """
    rows: list[NullFeatures] = []
    signals = ""
    for turn in null_turns(skills):
        hits = new_hits(search(turn.text, turn.earlier), (turn.hidden,))
        found = {
            **library_features(hits),
            **text_cues(turn.text),
            **types(turn.text, turn.number),
        }
        signals = signals or (signal_set(hits) if hits else "")
        rows.append((turn.number is None, found))
    return signals, tuple(rows)


def calibrated(signals: str, rows: Sequence[NullFeatures], weights: GateWeights) -> Calibration:
    """Units and landmarks.

    Args:
        signals: What the hits carry.
        rows: From `null_features`.
        weights: Those for such hits.
    """
    bundled = [features for foreign, features in rows if not foreign]
    scale = {
        # Plain cues depend on no library, and turns that need nothing hardly ever show some of them.
        name: weights.scale[name]
        if name in CUES
        else _unit([f[name] for f in bundled if name in f], weights.scale[name])
        for name in weights.weights
    }
    nothing = _mean([_score(weights, scale, features) for features in bundled])
    others = [_score(weights, scale, features) for foreign, features in rows if foreign]
    least = nothing + weights.foreign - weights.nothing
    return Calibration(signals, scale, nothing, max(_mean(others) if others else least, least))


def _score(
    weights: GateWeights,
    scale: Mapping[str, tuple[float, float]],
    features: Mapping[str, float],
) -> float:
    total = weights.intercept
    for name, weight in weights.weights.items():
        if name in features:
            mean, spread = scale.get(name, weights.scale[name])
            total += weight * (features[name] - mean) / spread
    return total


def _unit(values: Sequence[float], shipped: tuple[float, float]) -> tuple[float, float]:
    """Mean and standard deviation."""
    if not values:
        return shipped
    mean = _mean(values)
    spread = math.sqrt(_mean([(value - mean) ** 2 for value in values]))
    return mean, max(spread, LEAST_SPREAD * shipped[1])


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _request(skill: Skill) -> str:
    """What somebody would say who wants what the skill is for: the start of its description."""
    text = skill.description or skill.name
    return text if len(text) <= REQUEST_CHARS else text[:REQUEST_CHARS].rpartition(" ")[0]
