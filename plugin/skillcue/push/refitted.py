"""Weights that were fitted to one user's recorded turns, in place of the shipped ones.

They hold for the mode, the signals and the encoder that the turns were recorded with. Elsewhere the
shipped weights decide.
"""

from __future__ import annotations

import logging
import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from skillcue.push.calibration import Calibration
from skillcue.push.weights import GATE_VERSION

__all__ = ["FeatureWeight", "GateRefit", "gate_facts", "gate_in_use"]

log = logging.getLogger("skillcue.push")


class FeatureWeight(NamedTuple):
    """What one feature adds to the score: ``weight * (value - mean) / spread``."""

    name: str
    weight: float
    mean: float
    spread: float


@dataclass(frozen=True, slots=True)
class GateRefit:
    """A gate that ``skillcue calibrate`` made from traces.

    Attributes:
        mode: The retrieval mode it belongs to.
        signals: What the hits of that mode carry.
        encoder: Fingerprint of its encoder; empty without one.
        intercept: Log-odds of a turn whose features are all at their means.
        weights: By feature, in units of turns that need nothing over the user's library.
        levels: Scores of recorded turns that needed nothing, each by weights that were fitted without
            it, ascending.
        unmatched: Recorded turns that needed nothing and for which nothing was found: they stand
            below every level.
    """

    mode: str
    signals: str
    encoder: str
    intercept: float
    weights: tuple[FeatureWeight, ...]
    levels: tuple[float, ...]
    unmatched: int = 0

    @property
    def fitted(self) -> bool:
        """To the user's library, as `Calibration.fitted`."""
        return True

    def score(self, features: Mapping[str, float]) -> float:
        """Log-odds that a turn with these features needs a skill; a missing one says nothing."""
        return self.intercept + math.fsum(
            item.weight * (features[item.name] - item.mean) / item.spread
            for item in self.weights
            if item.name in features
        )

    def confidence(self, score: float) -> float:
        """Share of recorded turns without a need that are below this score, 0 to below 1.

        One more of them is counted above it, as conformal prediction demands.
        """
        below = self.unmatched + bisect_left(self.levels, score)
        return below / (self.unmatched + len(self.levels) + 1)


def gate_in_use(
    refit: GateRefit | None, calibration: Calibration, mode: str, encoder: str | None
) -> Calibration | GateRefit:
    """`refit` where it belongs to this mode, these signals and this encoder, else `calibration`.

    Args:
        refit: What the user set.
        calibration: For the hits at hand.
        mode: The retrieval mode.
        encoder: Fingerprint of its encoder; None while it is not known, and features are missing.
    """
    if refit is None or encoder is None:
        return calibration
    made = (refit.mode, refit.signals, refit.encoder)
    here = (mode, calibration.signals, encoder)
    if made == here:
        return refit
    _warn(made, here)
    return calibration


def gate_facts(
    calibration: Calibration, encoder: str | None, *, refitted: bool
) -> Mapping[str, Any]:
    """What the features of a decision are relative to; see `Advice.gate`."""
    return {
        "version": GATE_VERSION,
        "signals": calibration.signals,
        "encoder": encoder or "",
        "refitted": refitted,
        "nothing": calibration.nothing,
        "foreign": calibration.foreign,
        "scale": calibration.scale,
    }


@cache
def _warn(made: tuple[str, ...], here: tuple[str, ...]) -> None:
    """Once a process for each such pair: every turn would say it again."""
    differing = [
        f"{what} {was or 'none'} and not {now or 'none'}"
        for what, was, now in zip(("mode", "signals", "encoder"), made, here, strict=True)
        if was != now
    ]
    log.warning(
        "the refitted gate is for %s; the shipped weights decide. Calibrate on traces of this "
        "configuration",
        ", ".join(differing),
    )
