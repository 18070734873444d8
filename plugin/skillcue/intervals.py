"""Bounds of shares and of the difference of two shares of the same steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

__all__ = ["Paired", "paired", "wilson_bounds"]


@dataclass(frozen=True, slots=True)
class Paired:
    """Two shares of the same steps, and by how much the first exceeds the second.

    Attributes:
        n: Number of steps.
        first: The first share, 0 to 1.
        second: The second.
        low: Lower bound of their difference, -1 to 1.
    """

    n: int
    first: float
    second: float
    low: float


def wilson_bounds(hits: int, n: int, confidence: float) -> tuple[float, float]:
    """Lower and upper bound of a share, each with that confidence (Wilson, 1927).

    Args:
        hits: Counted.
        n: Of so many; 0 leaves the share open.
        confidence: One-sided, above 0.5, below 1.
    """
    if n == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(confidence)
    share, z2 = hits / n, z * z
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def paired(outcomes: Sequence[tuple[bool, bool]], confidence: float) -> Paired:
    """The shares of two things that were tried on the same steps.

    The bound is that of Newcombe ("Improved confidence intervals for the difference between binomial
    proportions based on paired data", Statistics in Medicine 17, 1998, method 10): Wilson bounds
    of both shares put together, with their correlation.

    Args:
        outcomes: Whether the first was right, and whether the second was.
        confidence: Of the lower bound, one-sided.
    """
    n = len(outcomes)
    if n == 0:
        return Paired(0, 0.0, 0.0, -1.0)
    both = sum(a and b for a, b in outcomes)
    first, second = sum(a for a, _ in outcomes), sum(b for _, b in outcomes)
    low = first / n - wilson_bounds(first, n, confidence)[0]
    high = wilson_bounds(second, n, confidence)[1] - second / n
    together = _correlation(both, first - both, second - both, n - first - second + both)
    spread = math.sqrt(max(low * low - 2 * together * low * high + high * high, 0.0))
    return Paired(n, first / n, second / n, (first - second) / n - spread)


def _correlation(both: int, only_first: int, only_second: int, neither: int) -> float:
    """Newcombe's: corrected for continuity where positive, 0 where a margin is empty."""
    margins = (both + only_first) * (only_second + neither) * (both + only_second)
    margins *= only_first + neither
    if margins == 0:
        return 0.0
    n = both + only_first + only_second + neither
    cross = both * neither - only_first * only_second
    if cross > 0:
        cross_corrected = max(cross - n / 2, 0.0)
    else:
        cross_corrected = cross
    return cross_corrected / math.sqrt(margins)
