"""What a difference between two modes is worth: paired bootstrap and McNemar's test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "CONFIDENCE",
    "FEWEST_QUERIES",
    "ROUNDS",
    "Difference",
    "Interval",
    "Verdict",
    "bootstrap",
    "compare",
    "mcnemar",
    "resampled",
]

ROUNDS = 10_000
"""Resamples of a bootstrap."""
CONFIDENCE = 0.95
"""Coverage of every interval."""
FEWEST_QUERIES = 20
"""With fewer queries the bootstrap interval is too narrow, so no difference is claimed."""

_BLOCK = 2_000_000  # indices drawn at a time, so that memory stays flat

Verdict = Literal["higher", "lower", "no difference shown", "too few queries"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its percentile bootstrap interval.

    Attributes:
        mean: Of the values.
        low: Lower end.
        high: Upper end.
    """

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """A mode against another on the same queries, for one measure.

    Attributes:
        measure: The measure.
        interval: Of the mean of the paired differences, mode minus baseline.
        better: Queries on which the mode is better.
        worse: Queries on which it is worse.
        n: Queries.
        p_value: McNemar's exact p for measures that are 0 or 1, else None.
        verdict: ``higher`` or ``lower`` only where the interval leaves 0 out and, where there is
            a p-value, that is below 1 minus the confidence.
    """

    measure: str
    interval: Interval
    better: int
    worse: int
    n: int
    p_value: float | None
    verdict: Verdict


def bootstrap(values: Sequence[float], seed: int = 0, rounds: int = ROUNDS) -> Interval:
    """Mean of `values` and its interval (Efron and Tibshirani, An Introduction to the Bootstrap,
    chapter 13: percentiles).

    Args:
        values: One a query, not empty. Paired differences give a paired bootstrap.
        seed: Of the random numbers; the same seed gives the same interval.
        rounds: Resamples.
    """
    import numpy as np

    numbers = np.asarray(values, dtype=np.float64)
    means = resampled(numbers[:, None], seed, rounds)[:, 0]
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(float(numbers.mean()), float(low), float(high))


def resampled(
    table: NDArray[np.float64], seed: int = 0, rounds: int = ROUNDS
) -> NDArray[np.float64]:
    """Means of the columns of `table` over resampled rows.

    Args:
        table: Shape ``(n, m)``, n 1 or more.
        seed: Of the random numbers.
        rounds: Resamples.

    Returns:
        Shape ``(rounds, m)``.
    """
    import numpy as np

    generator = np.random.default_rng(seed)
    count = len(table)
    step = max(1, _BLOCK // count)
    parts = []
    for start in range(0, rounds, step):
        picks = generator.integers(0, count, (min(step, rounds - start), count))
        parts.append(np.stack([column[picks].mean(axis=1) for column in table.T], axis=1))
    return np.concatenate(parts)


def mcnemar(better: int, worse: int) -> float:
    """Two-sided exact p-value of McNemar's test: are the queries on which the two differ split
    evenly?

    Args:
        better: Queries that only the first system answers.
        worse: Queries that only the second answers.
    """
    if better + worse == 0:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(better, better + worse, 0.5).pvalue)


def compare(measure: str, mode: Sequence[float], baseline: Sequence[float]) -> Difference:
    """Compare two modes, query by query.

    Args:
        measure: Name; hit@k is tested by McNemar as well.
        mode: Values of the mode, one a query.
        baseline: Values of the baseline for the same queries in the same order.
    """
    paired = [a - b for a, b in zip(mode, baseline, strict=True)]
    interval = bootstrap(paired)
    better, worse = sum(d > 0 for d in paired), sum(d < 0 for d in paired)
    p_value = mcnemar(better, worse) if measure.startswith("hit@") else None
    verdict = _verdict(interval, p_value, len(paired))
    return Difference(measure, interval, better, worse, len(paired), p_value, verdict)


def _verdict(interval: Interval, p_value: float | None, n: int) -> Verdict:
    if n < FEWEST_QUERIES:
        return "too few queries"
    if interval.low <= 0.0 <= interval.high:
        return "no difference shown"
    if p_value is not None and p_value >= 1 - CONFIDENCE:
        return "no difference shown"
    return "higher" if interval.low > 0.0 else "lower"
