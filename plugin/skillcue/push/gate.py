"""The push gate: whether to speak on a turn, and about which skills.

Something is always the best hit, so a ranking alone says little. The gate estimates how likely it
is that the turn needs a skill of this library that is not at hand: a logistic regression over a few
features (`skillcue.push.features`, `skillcue.push.cues`, `skillcue.push.turn_type`), whose weights
were fitted on labelled conversations over the example skills. How much that must be is a question of
the library: `skillcue.push.calibration`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from skillcue.push.calibration import Calibration, shipped_calibration
from skillcue.push.features import signal_set
from skillcue.push.refitted import GateRefit
from skillcue_hooks import Hit, Ranking, Rejection
from skillcue_hooks.errors import ConfigurationError

__all__ = ["GateSettings", "Verdict", "judge", "suited"]

CLEARLY_AHEAD = 0.7
"""A body is loaded at once only if no other skill reaches this share of the score."""

CLEARLY_NEW = 0.5
"""A skill behind one that is at hand must reach this share of its score to be news."""


@dataclass(frozen=True, slots=True)
class GateSettings:
    """How readily the gate opens.

    Attributes:
        max_false_push: Share of the turns that need no skill on which push may speak, 0 to 1; 0
            is silent unless a skill is named, 1 speaks whenever anything is found.
        runner_up: A further skill is offered when its score reaches this share of the best one's,
            0 to 1.
        load_false_push: Share of the turns that need no skill on which a body may be loaded at
            once, 0 to 1; 0 loads only what is named. Has no effect without `load_tokens`.
        fitted: Weights of `skillcue.traces.calibrated_gate`; None takes the shipped ones.

    Raises:
        ConfigurationError: A share is no number from 0 to 1, or `fitted` is something else.
    """

    max_false_push: float = 0.05
    runner_up: float = 0.85
    load_false_push: float = 0.01
    fitted: GateRefit | None = None

    def __post_init__(self) -> None:
        for name in ("max_false_push", "runner_up", "load_false_push"):
            given = value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                value = math.nan
            if not 0 <= value <= 1:
                raise ConfigurationError(
                    f"Gate setting {name} is {given!r}.", "Use a share from 0 to 1."
                )
        if not isinstance(self.fitted, GateRefit | None):
            raise ConfigurationError(
                f"Gate setting fitted is a {type(self.fitted).__name__}.",
                "Use the gate that calibrated_gate(FILE) gives.",
            )

    @property
    def threshold(self) -> float:
        """The confidence that is needed."""
        return 1.0 - self.max_false_push

    @property
    def load_threshold(self) -> float:
        """The confidence that is needed to load a body at once; infinite where none is enough."""
        return 1.0 - self.load_false_push if self.load_false_push else math.inf


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says about a turn.

    Attributes:
        offered: Hits to offer, best first; empty to stay silent.
        rejected: The other hits, each with a reason.
        confidence: Share of turns that need nothing which look less like needing a skill.
        threshold: What it had to reach.
        reason: One sentence.
        features: The numbers that decided.
        sure: The best one stands out so clearly that its body may be loaded at once.
    """

    offered: tuple[Hit, ...]
    rejected: tuple[Rejection, ...]
    confidence: float
    threshold: float
    reason: str
    features: Mapping[str, float] = field(default_factory=dict)
    sure: bool = False


def suited(calibration: Calibration | None, hits: Sequence[Hit]) -> Calibration:
    """`calibration`, or the shipped one where there is none for hits with such signals."""
    signals = signal_set(hits)
    if calibration is None or calibration.signals != signals:
        return shipped_calibration(signals)
    return calibration


def judge(
    ranking: Ranking,
    limit: int,
    settings: GateSettings,
    visible: Collection[str],
    features: Mapping[str, float],
    calibration: Calibration | GateRefit,
) -> Verdict:
    """Decide which hits of `ranking` are worth a word.

    Args:
        ranking: Candidates that may be pushed, best first.
        limit: Offer at most this many.
        settings: How readily it opens.
        visible: Ids of skills the conversation shows already. They are not offered again.
        features: Of the turn, looked at without the visible skills.
        calibration: Turns the features into confidence.
    """
    threshold = settings.threshold
    new = [hit for hit in ranking.hits if hit.skill.id not in visible]
    if not new:
        reason = "no skill shares a word with the message"
        if ranking.hits:
            reason = "what fits is already in the conversation"
        return Verdict((), _at_hand(ranking.hits, visible), 0.0, threshold, reason, features)
    best = ranking.hits[0]
    if best.skill.id in visible and new[0].score < CLEARLY_NEW * best.score:
        reason = f"{best.skill.name} fits best and is already in the conversation"
        behind = tuple(Rejection(hit, f"behind {best.skill.name}") for hit in new)
        rejected = (*_at_hand(ranking.hits, visible), *behind)
        return Verdict((), rejected, 0.0, threshold, reason, features)
    score = calibration.score(features)
    confidence = calibration.confidence(score)
    numbers = {**features, "need": _logistic(score), "score": score}
    measure = f"confidence {confidence:.3f}" + ("" if calibration.fitted else ", not calibrated")
    if confidence < threshold:
        closed = tuple(Rejection(hit, "the gate stayed closed") for hit in new)
        rejected = (*_at_hand(ranking.hits, visible), *closed)
        reason = f"the turn does not seem to need a skill: {measure} is below {threshold:.3f}"
        return Verdict((), rejected, confidence, threshold, reason, numbers)
    offered, behind = _split(new, limit, settings)
    rejected = (*_at_hand(ranking.hits, visible), *behind)
    reason = f"{new[0].skill.name} stands out: {measure} reaches {threshold:.3f}"
    sure = confidence >= settings.load_threshold and new[0] is best and _alone(ranking.hits)
    return Verdict(offered, rejected, confidence, threshold, reason, numbers, sure)


def _at_hand(hits: Sequence[Hit], visible: Collection[str]) -> tuple[Rejection, ...]:
    return tuple(
        Rejection(hit, "already in the conversation") for hit in hits if hit.skill.id in visible
    )


def _alone(hits: Sequence[Hit]) -> bool:
    """The best hit is far ahead of all others, those at hand included."""
    best, *others = hits
    return best.score > 0 and all(hit.score < CLEARLY_AHEAD * best.score for hit in others)


def _split(
    hits: Sequence[Hit], limit: int, settings: GateSettings
) -> tuple[tuple[Hit, ...], tuple[Rejection, ...]]:
    """The hits near the best one, and the others."""
    best = hits[0]
    share = settings.runner_up if best.score > 0 else 1.0  # a share of a negative score is none
    offered: list[Hit] = []
    rejected: list[Rejection] = []
    for hit in hits:
        if hit.score < share * best.score:
            rejected.append(Rejection(hit, f"clearly behind {best.skill.name}"))
        elif len(offered) >= limit:
            rejected.append(Rejection(hit, "enough is offered"))
        else:
            offered.append(hit)
    return tuple(offered), tuple(rejected)


def _logistic(score: float) -> float:
    return 1.0 / (1.0 + math.exp(-score)) if score > -700.0 else 0.0
