"""Fusion and normalisation: pure functions, held to their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillcue_adapters.fusion import (
    best_positions,
    blend,
    evidence_gain,
    published_fusion,
    reciprocal_ranks,
)
from skillcue_adapters.normalization import min_max, spread, z_scores

NUMBERS = st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=40)
PAIRS = st.lists(
    st.tuples(st.floats(-100, 100, width=32), st.floats(0, 100, width=32)), min_size=2, max_size=40
)


# --- normalisation ------------------------------------------------------------------------


def test_z_scores_use_the_population_deviation() -> None:
    # Mean 5, deviation 2: the textbook example.
    found = z_scores(np.array([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]))
    assert found.tolist() == [-1.5, -0.5, -0.5, -0.5, 0.0, 0.0, 1.0, 2.0]


def test_min_max_spans_zero_to_one() -> None:
    assert min_max(np.array([2.0, 6.0, 3.0])).tolist() == [0.0, 1.0, 0.25]


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3, 1e-300])
@pytest.mark.parametrize("count", [1, 3, 7])
def test_equal_numbers_have_no_spread_at_all(value: float, count: int) -> None:
    # The mean of three times 0.1 is not 0.1, and a deviation of 1e-17 would blow up z.
    equal = np.full(count, value)
    assert spread(equal) == (value, 0.0)
    assert z_scores(equal).tolist() == [0.0] * count
    assert min_max(equal).tolist() == [0.0] * count


@given(NUMBERS)
def test_normalising_keeps_the_order(numbers: list[float]) -> None:
    values = np.array(numbers)
    order = np.argsort(values, kind="stable")
    for scaled in (z_scores(values), min_max(values)):
        assert np.isfinite(scaled).all()
        assert (np.diff(scaled[order]) >= 0.0).all()


# --- reciprocal ranks ---------------------------------------------------------------------


def test_reciprocal_ranks_by_hand() -> None:
    scores = np.array([0.2, 0.9, 0.9, 0.5, 1.0])
    matched = np.array([True, True, True, True, False])
    # Ranks: positions 1 and 2 tie and rank by position, then 3; 0 is below the depth.
    found = reciprocal_ranks(scores, matched, depth=3, k=60)
    assert found.tolist() == [0.0, 1 / 61, 1 / 62, 1 / 63, 0.0]


def test_depth_zero_and_nothing_matched_give_nothing() -> None:
    scores = np.array([1.0, 2.0])
    assert not reciprocal_ranks(scores, np.array([True, True]), 0, 60).any()
    assert not reciprocal_ranks(scores, np.array([False, False]), 5, 60).any()


def test_k_zero_lets_the_first_rank_stand_out() -> None:
    found = reciprocal_ranks(np.array([3.0, 2.0]), np.array([True, True]), 2, 0)
    assert found.tolist() == [1.0, 0.5]


# --- evidence -----------------------------------------------------------------------------


def test_an_accidental_word_gains_nothing() -> None:
    assert evidence_gain(np.array([0.0, 0.3, 0.5])).tolist() == [0.0, 0.0, 0.0]


def test_gain_is_logarithmic_above_the_offset() -> None:
    assert evidence_gain(np.array([1.5, 0.5 + math.e - 1.0])) == pytest.approx(
        np.array([math.log(2.0), 1.0])
    )


def test_gain_does_not_depend_on_the_other_candidates() -> None:
    alone = evidence_gain(np.array([1.2]))[0]
    assert evidence_gain(np.array([9.0, 1.2, 0.0]))[1] == alone


# --- fusions within candidates ------------------------------------------------------------


@given(PAIRS, st.integers(1, 10), st.floats(0, 1))
def test_candidates_stand_above_the_rest(
    pairs: list[tuple[float, float]], depth: int, alpha: float
) -> None:
    semantic, lexical = np.array(pairs).T
    candidates = best_positions(depth, semantic)
    outside = np.setdiff1d(np.arange(len(semantic)), candidates)
    for found in (
        blend(semantic, lexical, candidates, alpha),
        published_fusion(semantic, lexical, candidates),
    ):
        assert np.isfinite(found).all()
        if len(outside):
            assert found[outside].max() < found[candidates].min()
            order = np.argsort(semantic[outside], kind="stable")
            assert (np.diff(found[outside][order]) >= 0.0).all()


def test_alpha_moves_from_words_to_meaning() -> None:
    semantic, lexical = np.array([0.0, 1.0, 0.5]), np.array([4.0, 0.0, 1.0])
    every = np.arange(3)
    assert blend(semantic, lexical, every, 1.0).tolist() == [0.0, 1.0, 0.5]
    assert blend(semantic, lexical, every, 0.0).tolist() == [1.0, 0.0, 0.25]
    assert blend(semantic, lexical, every, 0.25).tolist() == [0.75, 0.25, 0.3125]


def test_published_fusion_never_punishes_missing_words() -> None:
    semantic = np.array([1.0, -1.0, 0.0, 0.0])
    found = published_fusion(semantic, np.array([0.0, 0.0, 0.0, 5.0]), np.arange(4))
    assert found[:3] == pytest.approx(z_scores(semantic)[:3])
    assert found[3] > found[0]


def test_best_positions_are_the_union_without_repeats() -> None:
    first, second = np.array([5.0, 4.0, 0.0, 1.0]), np.array([0.0, 9.0, 8.0, 1.0])
    assert best_positions(2, first, second).tolist() == [0, 1, 2]
    assert best_positions(99, first).tolist() == [0, 1, 2, 3]
