"""Whether a suggestion would have been right more often than search: measured, not assumed.

Every step of the history is predicted from the steps before it, and only then counted (prequential
evaluation: Dawid, 1984). So all of the history is held out once, and that the likeliest of many
skills looks better than it is does not count in its favour.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from skillcue.intervals import Paired, paired, wilson_bounds
from skillcue.successors.settings import NextSettings
from skillcue.successors.steps import Step
from skillcue.successors.transitions import Transitions

__all__ = ["NEWEST", "Evidence", "Why", "evaluate"]

NEWEST = 200
"""So many trials of a suggestion count, the newest: what people do changes."""

Why = Literal["better", "too-few", "not-better", "seldom", "ignored"]
"""``better``: it is suggested. Else: too few trials, search is as good as far as can be told, too
often nothing or something else follows, or it was shown and not taken."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about suggesting one skill after another.

    Attributes:
        after: Id of the skill that was read.
        then: Id of the one that would be suggested.
        support: How often it followed.
        share: Smoothed share of the loads of `after` that it follows, 0 to 1.
        trials: Held-out steps on which it was predicted and something was searched.
        q: Share of these on which it was read next.
        q_low: Lower bound of `q`, 0 to 1.
        q_high: Its upper bound.
        p: Share of these on which search had what was read next among its first results.
        margin: Lower bound of q - p, -1 to 1.
        shown: How often it was suggested and something was read next.
        taken: How often it was that.
        why: Whether it is suggested, and if not, why.
    """

    after: str
    then: str
    support: int
    share: float
    trials: int
    q: float
    q_low: float
    q_high: float
    p: float
    margin: float
    shown: int
    taken: int
    why: Why


class _Tried:
    """The newest trials of suggesting one skill after another."""

    def __init__(self) -> None:
        self.outcomes: deque[tuple[bool, bool]] = deque(maxlen=NEWEST)
        self.taken: deque[bool] = deque(maxlen=NEWEST)


def evaluate(steps: Iterable[Step], settings: NextSettings) -> dict[str, tuple[Evidence, ...]]:
    """By skill, what is known about the likeliest skills to follow it, likeliest first.

    Args:
        steps: In the order they were known.
        settings: What it takes to be suggested.
    """
    counted = Transitions()
    tried: dict[tuple[str, str], _Tried] = defaultdict(_Tried)
    for step in steps:
        for pair in dict.fromkeys(step.shown):
            if step.then is not None:
                tried[pair].taken.append(step.then == pair[1])
        if step.shown:
            continue
        if step.found is not None:
            for skill in counted.likeliest(step.after, settings.limit):
                tried[step.after, skill].outcomes.append((step.then == skill, step.found))
        counted.add(step)
    return {
        after: tuple(
            _evidence(counted, after, then, tried[after, then], settings)
            for then in counted.likeliest(after, settings.limit)
        )
        for after in counted.skills
    }


def _evidence(
    counted: Transitions, after: str, then: str, tried: _Tried, settings: NextSettings
) -> Evidence:
    compared = paired(tried.outcomes, settings.confidence)
    right = sum(right for right, _ in tried.outcomes)
    low, high = wilson_bounds(right, compared.n, settings.confidence)
    support, share = counted.count(after, then), counted.probability(after, then)
    return Evidence(
        after=after,
        then=then,
        support=support,
        share=share,
        trials=compared.n,
        q=compared.first,
        q_low=low,
        q_high=high,
        p=compared.second,
        margin=compared.low,
        shown=len(tried.taken),
        taken=sum(tried.taken),
        why=_why(compared, support, share, tried.taken, settings),
    )


def _why(
    compared: Paired, support: int, share: float, taken: Sequence[bool], settings: NextSettings
) -> Why:
    if min(support, compared.n) < settings.min_support:
        return "too-few"
    if compared.low <= 0:
        return "not-better"
    if share < settings.least_share:
        return "seldom"
    if wilson_bounds(sum(taken), len(taken), settings.confidence)[1] < compared.second:
        return "ignored"
    return "better"
