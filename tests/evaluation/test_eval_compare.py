"""Intervals and tests against scipy, and claims that are not made."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from scipy import stats

from skillcue.evaluation.compare import (
    FEWEST_QUERIES,
    bootstrap,
    compare,
    mcnemar,
    resampled,
)


def values(seed, count=60):
    rng = random.Random(seed)
    return [rng.choice([0, 0.25, 0.5, 1, 1]) for _ in range(count)]


def test_the_interval_is_that_of_scipy():
    numbers = values(1)
    interval = bootstrap(numbers)
    known = stats.bootstrap(
        (numbers,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(5)
    ).confidence_interval
    assert interval.mean == pytest.approx(sum(numbers) / len(numbers))
    assert (interval.low, interval.high) == pytest.approx((known.low, known.high), abs=0.006)


def test_two_values_by_hand():
    """Resamples of 0 and 1 have the means 0, 1/2 and 1, a quarter, a half and a quarter."""
    means = resampled(np.array([[0.0], [1.0]]), rounds=40_000)[:, 0]
    shares = [float((means == value).mean()) for value in (0.0, 0.5, 1.0)]
    assert shares == pytest.approx([0.25, 0.5, 0.25], abs=0.01)


def test_the_same_seed_gives_the_same_interval_and_another_gives_another():
    numbers = [math.sqrt(n) for n in range(40)]
    assert bootstrap(numbers) == bootstrap(numbers)
    assert bootstrap(numbers, seed=1) != bootstrap(numbers)


def test_columns_are_resampled_together():
    table = np.array([[n, 10.0 - n] for n in range(11)])
    sums = resampled(table, rounds=200).sum(axis=1)
    assert sums == pytest.approx(np.full(200, 10.0))


def test_many_rows_are_drawn_in_blocks():
    """More than fit into one block of random numbers; the whole number of rounds comes out."""
    assert resampled(np.ones((30_000, 1)), rounds=150).shape == (150, 1)


@pytest.mark.parametrize(
    ("better", "worse", "p"),
    [(0, 0, 1.0), (5, 0, 0.0625), (6, 0, 0.03125), (3, 3, 1.0), (8, 2, 0.109375), (0, 6, 0.03125)],
)
def test_mcnemar_by_hand(better, worse, p):
    """Twice the tail of the binomial distribution: (8, 2) is 2 * (45 + 10 + 1) / 1024."""
    assert mcnemar(better, worse) == pytest.approx(p)


def test_a_difference_inside_the_interval_is_not_claimed():
    base = [0.0, 1.0] * 20
    found = compare("R@5", [1.0, 1.0, *base[2:]], base)
    assert (found.better, found.worse, found.n) == (1, 0, 40)
    assert found.interval.mean == pytest.approx(1 / 40)
    assert found.verdict == "no difference shown"


def test_a_difference_outside_is():
    base, better = [0.0] * 40, [1.0] * 12 + [0.0] * 28
    assert compare("R@5", better, base).verdict == "higher"
    assert compare("R@5", base, better).verdict == "lower"
    found = compare("hit@5", better, base)
    assert (found.verdict, found.p_value) == ("higher", pytest.approx(2 / 2**12))


def test_equal_runs_differ_in_nothing():
    found = compare("hit@5", [1.0] * 30, [1.0] * 30)
    assert (found.interval.low, found.interval.high, found.p_value) == (0, 0, 1)
    assert found.verdict == "no difference shown"


def test_hits_need_mcnemar_as_well():
    """Five against none: the bootstrap leaves 0 out, the exact test does not."""
    base, better = [0.0] * 40, [1.0] * 5 + [0.0] * 35
    found = compare("hit@5", better, base)
    assert found.interval.low > 0
    assert found.p_value == pytest.approx(0.0625)
    assert found.verdict == "no difference shown"
    assert compare("MRR", better, base).p_value is None


def test_nothing_is_claimed_from_a_handful_of_queries():
    few = FEWEST_QUERIES - 1
    assert compare("R@5", [1.0] * few, [0.0] * few).verdict == "too few queries"
    assert compare("R@5", [1.0] * (few + 1), [0.0] * (few + 1)).verdict == "higher"


def test_modes_are_compared_on_the_same_queries():
    with pytest.raises(ValueError, match="zip"):
        compare("R@5", [1.0], [1.0, 0.0])
