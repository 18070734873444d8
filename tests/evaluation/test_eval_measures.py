"""Measures against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from skillcue.evaluation.measures import measure_names, score_run
from skillcue_hooks.errors import PluginError

GOLD = {
    "one": {"a": 1},  # found first
    "two": {"a": 1, "b": 1},  # found third and sixth
    "graded": {"a": 3, "b": 1},  # the lesser one first
    "missed": {"z": 1},  # not found
    "silent": {"a": 1},  # the run has nothing
}
RUN = {
    "one": ["a", "x", "y"],
    "two": ["x", "y", "a", "v", "w", "b"],
    "graded": ["b", "a"],
    "missed": ["a", "b", "c"],
    "unasked": ["a"],
}


def gain(grade, rank):
    return grade / math.log2(rank + 1)


EXPECTED = {
    "R@1": [1, 0, 0.5, 0, 0],
    "R@2": [1, 0, 1, 0, 0],
    "R@3": [1, 0.5, 1, 0, 0],
    "R@5": [1, 0.5, 1, 0, 0],
    "R@6": [1, 1, 1, 0, 0],
    "hit@1": [1, 0, 1, 0, 0],
    "hit@5": [1, 1, 1, 0, 0],
    "nDCG@10": [
        1,
        (gain(1, 3) + gain(1, 6)) / (gain(1, 1) + gain(1, 2)),
        (gain(1, 1) + gain(3, 2)) / (gain(3, 1) + gain(1, 2)),
        0,
        0,
    ],
    "MRR": [1, 1 / 3, 1, 0, 0],
}


@pytest.mark.parametrize("measure", EXPECTED)
def test_measures_by_hand(measure):
    scores = score_run(GOLD, RUN, k=5, depth=6)
    assert list(scores[measure]) == list(GOLD)
    assert list(scores[measure].values()) == pytest.approx(EXPECTED[measure])


def test_a_query_that_the_run_misses_counts_as_zero():
    scores = score_run(GOLD, {"one": ["a"]}, k=5, depth=5)
    for values in scores.values():
        assert list(values.values()) == [1, 0, 0, 0, 0]


def test_the_order_counts_and_not_the_names():
    """The engine breaks ties by name; every rank has a score of its own."""
    names = [f"s{number:03}" for number in range(100)]
    for order in (names, names[::-1]):
        gold = {"q": {order[6]: 1}}
        scores = score_run(gold, {"q": order}, k=5, depth=10)
        assert scores["MRR"]["q"] == pytest.approx(1 / 7)
        assert (scores["R@6"]["q"], scores["R@7"]["q"]) == (0, 1)


def test_a_skill_ranked_twice_is_no_ranking():
    with pytest.raises(PluginError, match="'q' holds a skill twice"):
        score_run({"q": {"a": 1}}, {"q": ["b", "a", "a"]}, k=5, depth=5)


def test_names_may_hold_anything():
    names = ["", "a b", "a\tb", "a\0b", "a\0c", "\ud800", "\N{SNOWMAN}", "q\n"]
    gold = {name: {name: 1} for name in names}
    run = {name: [*(n for n in names if n != name), name] for name in names}
    scores = score_run(gold, run, k=5, depth=8)
    assert list(scores["MRR"]) == names
    assert list(scores["MRR"].values()) == pytest.approx([1 / 8] * 8)


@pytest.mark.parametrize("k", [1, 3, 5, 10])
def test_every_measure_of_the_table_is_computed(k):
    names = measure_names(k)
    assert len(set(names)) == len(names)
    assert set(names) <= set(score_run(GOLD, RUN, k=k, depth=max(k, 10)))
