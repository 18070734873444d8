"""The constants of the gate, as `tests/bench/fit_gate.py` makes them from labelled conversations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

__all__ = ["AGAINST", "GATE_VERSION", "GateWeights", "gate_weights"]

GATE_VERSION = 1
"""Raised whenever the same turn over the same library gets other features or another score."""

AGAINST = ("question", "thanks")
"""Features that may only count against a need; the others may only count for one."""


@dataclass(frozen=True, slots=True)
class GateWeights:
    """A logistic regression over features, for retrievers whose hits carry the same signals.

    Attributes:
        intercept: Log-odds of a turn whose features are all like those of turns that need nothing.
        weights: By feature; none has the sign that its meaning forbids.
        scale: ``(mean, standard deviation)`` of each feature over turns that need nothing and the
            example library, used where those of the user's library are not known.
        nothing: Mean score of turns that need nothing, over the example library.
        foreign: Mean score of descriptions of skills that are not there, over the same.
        levels: Levels of labelled turns without a need, over the same, ascending.
    """

    intercept: float
    weights: Mapping[str, float]
    scale: Mapping[str, tuple[float, float]]
    nothing: float
    foreign: float
    levels: tuple[float, ...]


@cache
def gate_weights(signals: str) -> GateWeights:
    """The constants for one of `skillcue.push.features.SIGNAL_SETS`."""
    text = files("skillcue.push").joinpath("gate_weights.json").read_text("utf-8")
    record = json.loads(text)["sets"][signals]
    scale = {name: (mean, spread) for name, (mean, spread) in record.pop("scale").items()}
    return GateWeights(**{**record, "scale": scale, "levels": tuple(record["levels"])})
