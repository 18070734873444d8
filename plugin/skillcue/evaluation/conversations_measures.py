"""How good push is on labelled turns: trade-off curve, right first, repeats, per kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skillcue.evaluation.compare import CONFIDENCE
from skillcue.evaluation.conversations_run import TurnOutcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FALSE_SHARES", "ROUNDS", "PushScores"]

ROUNDS = 2_000
"""Resamples of conversations for every interval."""
FALSE_SHARES = (0.05, 0.1, 0.2)
"""Shares of false pushes at which the curve is read."""

Share = dict[str, Any]
"""``{"mean", "low", "high", "n"}``; the first three are None where there is nothing to count."""


@dataclass(frozen=True, slots=True)
class _Columns:
    """The outcomes as arrays, one row a turn."""

    need: NDArray[np.bool_]
    none: NDArray[np.bool_]
    given: NDArray[np.bool_]
    at_hand: NDArray[np.bool_]  # needed, and push had named a right skill before
    advised: NDArray[np.bool_]
    right: NDArray[np.bool_]  # a right skill was offered first
    first: NDArray[np.bool_]  # the best candidate is right, offered or not
    confidence: NDArray[np.float64]
    order: NDArray[np.float64]
    conversation: NDArray[np.int64]


class PushScores:
    """What the outcomes of one mode say. Intervals are bootstrapped over conversations, because
    turns of one conversation are no independent draws.

    Args:
        outcomes: One a labelled turn.
    """

    def __init__(self, outcomes: Sequence[TurnOutcome]) -> None:
        self._outcomes = outcomes
        self._rows = _columns(outcomes)
        self._weights = _resampled(self._rows.conversation)

    def auc(self) -> Share:
        """The chance that a turn that needs a skill scores higher than one that does not."""
        rows = self._rows
        n = int(rows.need.sum()), int(rows.none.sum())
        return self._interval(lambda weights: _auc(rows, weights), min(n))

    def area_samples(self) -> NDArray[np.float64]:
        """AUC of every resample, the same conversations for every mode."""
        import numpy as np

        return np.array([_auc(self._rows, weights) for weights in self._weights])

    def at_setting(self) -> dict[str, Share]:
        """Shares at the setting that was run, with the advisor's own history.

        A needed turn whose skill is at hand, since push named it earlier, is no unanswered need.
        Such turns are counted apart.
        """
        import numpy as np

        rows = self._rows
        repeated = [bool(item.repeated & item.label.right) for item in self._outcomes]
        found = [bool(set(item.offered) & item.label.right) for item in self._outcomes]
        again, shown = np.array(repeated), np.array(found)
        open_need = rows.need & ~rows.at_hand
        return {
            "advised": self._share(rows.advised, open_need),
            "false_pushes": self._share(rows.advised, rows.none),
            "right_first": self._share(rows.right, open_need & rows.advised),
            "right_offered": self._share(shown, open_need & rows.advised),
            "at_hand": self._share(rows.at_hand, rows.need),
            "at_hand_others": self._share(rows.advised & ~shown, rows.at_hand),
            "given_repeats": self._share(again, rows.given),
            "given_late": self._share(shown & ~again, rows.given),
            "given_others": self._share(rows.advised & ~shown, rows.given),
        }

    def at_false_shares(self) -> list[dict[str, Any]]:
        """The curve read at a few shares of false pushes."""
        rows = self._rows
        return [
            {
                "false": share,
                "advised": self._interval(
                    lambda weights, share=share: _told(rows, weights, share)[0],  # type: ignore[misc]  # bound now
                    int(rows.need.sum()),
                ),
                "right_first": self._interval(
                    lambda weights, share=share: _told(rows, weights, share)[1],  # type: ignore[misc]  # bound now
                    int(rows.need.sum()),
                ),
            }
            for share in FALSE_SHARES
        ]

    def curve(self) -> list[dict[str, float]]:
        """Every threshold: share of false pushes, of needed turns advised, of those right first.

        Several points may have the same confidence as `threshold`; see `_order`.
        """
        import numpy as np

        rows = self._rows
        if not rows.need.any() or not rows.none.any():
            return []
        points = []
        counted = rows.need | rows.none
        for least in np.unique(rows.order[counted])[::-1]:
            told = (rows.order >= least) & counted
            advised = told & rows.need
            points.append(
                {
                    "threshold": _finite(rows.confidence[told].min()),
                    "false": float(told[rows.none].mean()),
                    "advised": float(told[rows.need].mean()),
                    "right_first": float(rows.first[advised].mean()) if advised.any() else 0.0,
                }
            )
        return points

    def kinds(self) -> list[dict[str, Any]]:
        """Counts by kind of turn and by what it needs; of a need, those at hand apart."""
        groups: dict[tuple[str, str], list[TurnOutcome]] = {}
        for item in self._outcomes:
            groups.setdefault((item.label.kind, item.label.group), []).append(item)
        return [
            {
                "kind": kind,
                "group": group,
                "n": len(items),
                "advised": sum(bool(item.offered) and not _is_at_hand(item) for item in items),
                "right_first": sum(_is_right(item) and not _is_at_hand(item) for item in items),
                "at_hand": sum(map(_is_at_hand, items)),
            }
            for (kind, group), items in sorted(groups.items())
        ]

    def _share(self, hit: NDArray[np.bool_], among: NDArray[np.bool_]) -> Share:
        def measure(weights: NDArray[np.float64]) -> float:
            total = weights[among].sum()
            return float(weights[hit & among].sum() / total) if total else float("nan")

        return self._interval(measure, int(among.sum()))

    def _interval(self, measure: Callable[[NDArray[np.float64]], float], n: int) -> Share:
        import numpy as np

        mean = measure(np.ones(len(self._outcomes)))
        if n == 0 or np.isnan(mean):
            return {"mean": None, "low": None, "high": None, "n": n}
        drawn = np.array([measure(weights) for weights in self._weights])
        drawn = drawn[~np.isnan(drawn)]
        low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        return {"mean": mean, "low": float(low), "high": float(high), "n": n}


def _is_right(item: TurnOutcome) -> bool:
    return bool(item.offered) and item.offered[0] in item.label.right


def _is_at_hand(item: TurnOutcome) -> bool:
    return item.label.need and bool(item.at_hand)


def _order(item: TurnOutcome) -> float:
    """Where a turn stands among all.

    Not by confidence: that is a share of some hundred calibration turns, so that all turns above
    the highest of these tie. Confidence rises with the score, which does not. Named skills need no
    score; where the gate was not asked no setting makes push speak.
    """
    if item.always:
        return float("inf")
    return float("-inf") if item.score is None else item.score


def _columns(outcomes: Sequence[TurnOutcome]) -> _Columns:
    import numpy as np

    names = {name: n for n, name in enumerate(dict.fromkeys(o.conversation for o in outcomes))}
    groups = np.array([o.label.group for o in outcomes])
    return _Columns(
        need=groups == "need",
        none=groups == "none",
        given=groups == "given",
        at_hand=np.array([_is_at_hand(o) for o in outcomes]),
        advised=np.array([bool(o.offered) for o in outcomes]),
        right=np.array([_is_right(o) for o in outcomes]),
        first=np.array([o.first in o.label.right for o in outcomes]),
        confidence=np.array([np.inf if o.always else o.confidence for o in outcomes]),
        order=np.array([_order(o) for o in outcomes]),
        conversation=np.array([names[o.conversation] for o in outcomes]),
    )


def _resampled(conversation: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    """How often each turn counts in each resample; the same for every mode."""
    import numpy as np

    generator = np.random.default_rng(0)
    count = int(conversation.max()) + 1
    drawn = (
        np.bincount(generator.integers(0, count, count), minlength=count) for _ in range(ROUNDS)
    )
    return [picks[conversation].astype(np.float64) for picks in drawn]


def _auc(rows: _Columns, weights: NDArray[np.float64]) -> float:
    """Weighted area under the curve; ties count half."""
    import numpy as np

    needed, others = weights * rows.need, weights * rows.none
    if not needed.sum() or not others.sum():
        return float("nan")
    order = np.argsort(rows.order, kind="stable")
    values = rows.order[order]
    below = np.concatenate([[0.0], np.cumsum(others[order])])
    lower = below[np.searchsorted(values, values, side="left")]
    upto = below[np.searchsorted(values, values, side="right")]
    area = (needed[order] * (lower + upto) / 2).sum()
    return float(area / (needed.sum() * others.sum()))


def _told(rows: _Columns, weights: NDArray[np.float64], share: float) -> tuple[float, float]:
    """(share of needed turns advised, share of those right first) where at most `share` of the
    turns that need nothing are spoken on."""
    import numpy as np

    total = (weights * rows.none).sum()
    needed = weights * rows.need
    if not total or not needed.sum():
        return float("nan"), float("nan")
    order = np.argsort(-rows.order, kind="stable")
    values = rows.order[order]
    false = np.cumsum((weights * rows.none)[order]) / total
    last = np.searchsorted(-values, -values, side="right") - 1  # equal values are told together
    allowed = false[last] <= share + 1e-12
    told = needed[order] * allowed
    advised = told.sum()
    right = (told * rows.first[order]).sum() / advised if advised else float("nan")
    return float(advised / needed.sum()), float(right)


def _finite(value: float) -> float:
    """Turns that are spoken on at any threshold stand beyond all finite ones."""
    return float(value) if value < 1e300 else 1e300
