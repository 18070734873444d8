"""The echo rate and the helpfulness gap, by hand."""

from __future__ import annotations

import math

import pytest
from support.evaluations import write_lines

from skillcue.evaluation.echo import echo_rate
from skillcue.evaluation.outcomes import Outcome, helpfulness_gap, read_outcomes
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.testing import make_skill

BREAD = make_skill("bread-baking", "Bake bread with yeast.", "Knead the dough for ten minutes.")


@pytest.mark.parametrize(
    ("text", "rate", "heads"),
    [
        ("bake breads", 1.0, 1.0),  # stems, not words
        ("baking a cake", 0.5, 0.5),  # stop words do not count
        ("kneading dough", 1.0, 0.0),  # the body alone
        ("yeast dough oven flour", 0.5, 0.25),
        ("bread bread bread oven", 0.5, 0.5),  # each stem once
        ("oven", 0.0, 0.0),
        ("the of and", None, None),
        ("?!", None, None),
    ],
)
def test_echo_rate(text, rate, heads):
    assert echo_rate(text, [BREAD]) == rate
    assert echo_rate(text, [BREAD], heads=True) == heads


def test_gold_skills_count_together():
    assert echo_rate("bread tyres moon", [BREAD, make_skill("tyres", "Tyres.")]) == pytest.approx(
        2 / 3
    )


def runs(*rewards):
    return [Outcome(query, reward, mode) for query, reward, mode in rewards]


def test_the_gap_by_hand():
    outcomes = runs(("a", 1.0, None), ("a", 0.5, None), ("b", 0.0, None), ("c", 0.2, None))
    gap = helpfulness_gap(outcomes, {"a": 1.0, "b": 0.0, "c": 0.0}, "bm25")
    assert (gap.found, gap.missed) == (2, 2)
    assert (gap.mean_found, gap.mean_missed) == pytest.approx((0.75, 0.1))
    assert gap.interval.mean == pytest.approx(0.65)
    assert gap.interval.low <= 0.65 <= gap.interval.high
    assert gap.words == "too few queries to say: 3 of at least 20"


def many(found, missed, count=15):
    hit = {f"f{n}": 1.0 for n in range(count)} | {f"m{n}": 0.0 for n in range(count)}
    rewards = {name: found if value else missed for name, value in hit.items()}
    return runs(*((name, rewards[name] + n % 3 / 10, None) for n, name in enumerate(hit))), hit


@pytest.mark.parametrize(
    ("found", "missed", "word"),
    [(0.9, 0.2, "better"), (0.2, 0.9, "negative"), (0.5, 0.5, "near zero")],
)
def test_the_gap_in_words(found, missed, word):
    outcomes, hit = many(found, missed)
    gap = helpfulness_gap(outcomes, hit, "bm25")
    assert gap.interval.mean == pytest.approx(found - missed, abs=0.011)
    assert word in gap.words
    assert helpfulness_gap(outcomes, hit, "bm25") == gap


def test_runs_of_another_mode_do_not_count():
    outcomes = runs(("a", 1.0, "bm25"), ("b", 0.0, "bm25"), ("b", 5.0, "dense"))
    hit = {"a": 1.0, "b": 0.0}
    assert helpfulness_gap(outcomes, hit, "bm25").mean_missed == 0.0
    assert (
        helpfulness_gap(outcomes, hit, "dense").words
        == "no gap: there is no run whose skill was found"
    )
    assert helpfulness_gap([], hit, "bm25").words == "no runs"


def test_runs_of_one_query_are_no_independent_evidence():
    """A hundred runs of the same two queries say no more than two runs."""
    hit = {"a": 1.0, "b": 0.0, "c": 1.0, "d": 0.0}
    once = runs(("a", 1.0, None), ("b", 0.0, None), ("c", 0.2, None), ("d", 0.6, None))
    one, hundred = (helpfulness_gap(once * n, hit, "x").interval for n in (1, 100))
    assert (hundred.low, hundred.high) == pytest.approx((one.low, one.high))


def test_reading_outcomes(tmp_path):
    path = write_lines(
        tmp_path / "runs.jsonl.gz",
        [
            {"query": "a", "reward": 1},
            {"query": "a", "reward": True, "mode": "bm25"},
            {"query": "b", "reward": -0.5, "mode": "other"},
        ],
    )
    assert read_outcomes(path, {"a", "b"}, ["bm25"]) == runs(("a", 1.0, None), ("a", 1.0, "bm25"))


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"reward": 1}, "there is no 'query'"),
        ({"query": "z", "reward": 1}, "no judged query 'z'"),
        ({"query": "a"}, "'reward' is None"),
        ({"query": "a", "reward": "1"}, "'reward' is '1'"),
        ({"query": "a", "reward": math.inf}, "'reward' is inf"),
        ({"query": "a", "reward": 1, "mode": 3}, "'mode' is a int"),
    ],
)
def test_malformed_outcomes_are_named(tmp_path, record, said):
    path = write_lines(tmp_path / "runs.jsonl", [{"query": "a", "reward": 0}, record])
    with pytest.raises(ConfigurationError, match=rf"runs.jsonl:2: .*{said}"):
        read_outcomes(path, {"a"}, ["bm25"])
