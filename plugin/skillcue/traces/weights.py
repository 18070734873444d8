"""Weights of the gate from recorded turns: a little of what they say, as long as they are few.

The shipped weights are the prior. They are stretched to the traffic first (Platt, 1999), since how
far apart turns lie is another matter than which of them come first. From there each weight may move
as far as the turns bear it out, towards what its meaning allows only. Ten blocks of turns that follow
one another serve as folds, so that turns of one conversation are mostly in one; what is said about
the result, its levels included, is said about turns by weights that were fitted without them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skillcue.push.logistic import Floats, fit_logistic, log_losses
from skillcue.push.refitted import FeatureWeight, GateRefit
from skillcue.push.weights import AGAINST, gate_weights
from skillcue.traces.outcomes import JudgedTurn
from skillcue.traces.reading import TracedGate

__all__ = ["FEWEST_OF_EACH", "WeightsRefit", "refit_weights"]

FEWEST_OF_EACH = 20
"""So many turns that needed a skill, and as many that did not, are the least to fit weights to."""

STRENGTH = 100.0
"""Ridge: an effect of 0.1 on the score, by a feature one standard deviation off, is one of the
prior. About 40 turns move a weight by a twentieth of what they say, 2,000 by three quarters."""

STRETCH = 1.0
"""The same for the stretch, which decides nothing by itself and may follow the turns."""

FOLDS = 10

SURE = 1.645
"""The refit must be better by so many standard errors of the difference: by chance in one of 20."""

MOST_LEVELS = 2_000
"""More turns without a need are told by as many of them, spread evenly."""

DIGITS = 4
"""Of weights and scores: more are noise of the solver."""

Flags = np.ndarray[Any, np.dtype[np.bool_]]

Told = Callable[[str, int, int], None]
"""(what is done, how many are, of how many)"""


@dataclass(frozen=True, slots=True)
class WeightsRefit:
    """What came out.

    Attributes:
        gate: With the fitted weights.
        shipped: Weights that would decide without them, in the same units; stretched.
        stretch: By which the shipped weights were multiplied.
        turns: So many it was fitted to.
        needed: Of which so many needed a skill.
        log_loss: Nats a turn, by the shipped weights (stretched) and by the fitted ones, out of fold.
        auc: Chance that a turn that needed a skill scores higher than another; likewise.
        gain: By which the log loss falls.
        gain_error: Its standard error.
        effects: By feature, how many log-odds the new weight adds for one standard deviation.
        confidence: Of each turn by its id, out of fold.
    """

    gate: GateRefit
    shipped: Mapping[str, float]
    stretch: float
    turns: int
    needed: int
    log_loss: tuple[float, float]
    auc: tuple[float, float]
    gain: float
    gain_error: float
    effects: Mapping[str, float]
    confidence: Mapping[str, float]

    @property
    def better(self) -> bool:
        """The refit is better than the shipped weights, and hardly by chance."""
        return self.gain > SURE * self.gain_error


@dataclass(frozen=True, slots=True)
class _Turns:
    """Turns as numbers.

    Attributes:
        table: Features in units of turns that need nothing, of shape (turns, features).
        need: 1 where a skill was needed, else 0.
        known: Whether that is known: the others are scored, and not fitted to.
        prior: Shipped weight of each feature.
        signs: 1 or -1 for each.
    """

    table: Floats
    need: Floats
    known: Flags
    prior: Floats
    signs: tuple[int, ...]

    def part(self, kept: Flags) -> _Turns:
        return replace(self, table=self.table[kept], need=self.need[kept], known=self.known[kept])


@dataclass(frozen=True, slots=True)
class _Model:
    """The shipped weights stretched to some turns, and the fitted ones."""

    stretch: float
    shipped: tuple[float, Floats]
    fitted: tuple[float, Floats]


def refit_weights(
    judged: Sequence[JudgedTurn], mode: str, told: Told = lambda *_: None
) -> WeightsRefit | None:
    """Fit the weights, and look whether they are better.

    Args:
        judged: Turns of one mode and one gate, in the order they were decided.
        mode: The mode.
        told: Called with the progress.

    Returns:
        None where fewer than `FEWEST_OF_EACH` turns of either kind have a known outcome and say
        what the gate saw.
    """
    asked = [i for i in judged if i.turn.gate and (i.need is not None or i.unwanted)]
    needed = sum(item.need is True for item in asked)
    if min(needed, sum(item.need is False for item in asked)) < FEWEST_OF_EACH:
        return None
    newest = [item.turn.gate for item in asked if item.turn.gate][-1]
    scale = _scale(newest)
    turns = _turns(asked, newest.signals, scale)
    shipped, fitted = _out_of_fold(turns, told)
    gate = GateRefit(
        mode,
        newest.signals,
        newest.encoder,
        *_rounded(_fit(turns).fitted, scale),
        levels=_levels(fitted[[item.unwanted for item in asked]]),
        unmatched=sum(item.unwanted and "score" not in item.turn.features for item in judged),
    )
    confidence = {
        item.turn.id: gate.confidence(float(score))
        for item, score in zip(asked, fitted, strict=True)
    }
    return _compared(gate, turns, shipped, fitted, confidence)


def _compared(
    gate: GateRefit, turns: _Turns, shipped: Floats, fitted: Floats, confidence: Mapping[str, float]
) -> WeightsRefit:
    """The gate, and what it is worth."""
    known = turns.known
    need = turns.need[known]
    before, after = log_losses(shipped[known], need), log_losses(fitted[known], need)
    gains = before - after
    model = _fit(turns)
    names = [item.name for item in gate.weights]
    effects = (model.fitted[1] - model.shipped[1]) * turns.table[known].std(axis=0)
    return WeightsRefit(
        gate=gate,
        shipped=dict(zip(names, map(_digits, model.shipped[1]), strict=True)),
        stretch=_digits(model.stretch),
        turns=len(need),
        needed=int(need.sum()),
        log_loss=(_digits(before.mean()), _digits(after.mean())),
        auc=(_auc(shipped[known], need), _auc(fitted[known], need)),
        gain=_digits(gains.mean()),
        gain_error=_digits(gains.std(ddof=1) / math.sqrt(len(gains))),
        effects=dict(zip(names, map(_digits, effects), strict=True)),
        confidence=confidence,
    )


def _rounded(
    fitted: tuple[float, Floats], scale: Mapping[str, tuple[float, float]]
) -> tuple[float, tuple[FeatureWeight, ...]]:
    pairs = zip(scale.items(), fitted[1], strict=True)
    return _digits(fitted[0]), tuple(
        FeatureWeight(name, _digits(weight), *units) for (name, units), weight in pairs
    )


def _digits(value: float) -> float:
    return round(float(value), DIGITS) + 0.0  # no -0.0


def _scale(gate: TracedGate) -> dict[str, tuple[float, float]]:
    """Units of each feature: those of the user's library as recorded, else the shipped ones."""
    shipped = gate_weights(gate.signals)
    return {name: gate.scale.get(name, shipped.scale[name]) for name in shipped.weights}


def _turns(
    asked: Sequence[JudgedTurn], signals: str, scale: Mapping[str, tuple[float, float]]
) -> _Turns:
    weights = gate_weights(signals).weights
    rows = [
        [
            (item.turn.features.get(name, mean) - mean) / spread
            for name, (mean, spread) in scale.items()
        ]
        for item in asked
    ]
    return _Turns(
        np.array(rows),
        np.array([float(bool(item.need)) for item in asked]),
        np.array([item.need is not None for item in asked]),
        np.array([weights[name] for name in scale]),
        tuple(-1 if name in AGAINST else 1 for name in scale),
    )


def _fit(turns: _Turns) -> _Model:
    """Fitted in units of the turns' own spread, in which the prior is equally strong for all."""
    turns = turns.part(turns.known)
    middle, spread = turns.table.mean(axis=0), turns.table.std(axis=0)
    moves = spread > 1e-9  # a feature that is the same on all turns says nothing about its weight
    spread = np.where(moves, spread, 1.0)
    table = (turns.table - middle) / spread
    effect = turns.prior * spread
    score = table @ effect
    size = max(float(score.std()), 1e-9)
    level, stretched = fit_logistic(
        score[:, None] / size, turns.need, anchor=np.array([size]), signs=(1,), ridge=STRETCH
    )
    stretch = float(stretched[0]) / size
    anchor = stretch * effect
    intercept, weights = fit_logistic(
        table[:, moves],
        turns.need,
        anchor=anchor[moves],
        signs=[sign for sign, kept in zip(turns.signs, moves, strict=True) if kept],
        ridge=STRENGTH,
    )
    fitted = anchor.copy()
    fitted[moves] = weights

    def raw(at: float, effects: Floats) -> tuple[float, Floats]:
        return float(at - effects @ (middle / spread)), effects / spread

    return _Model(stretch, raw(level, anchor), raw(intercept, fitted))


def _out_of_fold(turns: _Turns, told: Told) -> tuple[Floats, Floats]:
    """Scores by the shipped and by the fitted weights, of turns that they were not fitted to."""
    shipped, fitted = np.zeros(len(turns.need)), np.zeros(len(turns.need))
    folds = np.array_split(np.arange(len(turns.need)), FOLDS)
    for number, fold in enumerate(folds):
        told("fitting", number, FOLDS)
        kept = np.ones(len(turns.need), dtype=np.bool_)
        kept[fold] = False
        model = _fit(turns.part(kept))
        for scores, (intercept, weights) in ((shipped, model.shipped), (fitted, model.fitted)):
            scores[fold] = turns.table[fold] @ weights + intercept
    return np.round(shipped, DIGITS), np.round(fitted, DIGITS)


def _levels(scores: Floats) -> tuple[float, ...]:
    """Ascending; of many the highest of each group, so that confidence is rather too low."""
    ordered = np.sort(scores)
    if len(ordered) > MOST_LEVELS:
        ends = np.ceil((np.arange(MOST_LEVELS) + 1) * len(ordered) / MOST_LEVELS).astype(int) - 1
        ordered = ordered[ends]
    return tuple(map(_digits, ordered))


def _auc(scores: Floats, need: Floats) -> float:
    """From ranks (Mann and Whitney, 1947); ties count half."""
    from scipy.stats import rankdata

    needed = need == 1.0
    count = int(needed.sum())
    ranks = rankdata(scores)[needed].sum()
    return _digits((ranks - count * (count + 1) / 2) / (count * (len(need) - count)))
