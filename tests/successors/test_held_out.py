"""What is counted, what it is worth, and when it is suggested."""

from __future__ import annotations

import random
from itertools import product
from math import comb

import pytest

from skillcue.intervals import paired, wilson_bounds
from skillcue.successors import NextSettings
from skillcue.successors.held_out import NEWEST, evaluate
from skillcue.successors.steps import Step
from skillcue.successors.transitions import MOST_LIKELY, STRENGTH, Transitions
from skillcue_hooks.errors import ConfigurationError

SETTINGS = NextSettings()


def steps(*thens, found=False, after="a", shown=()):
    """Steps from one skill, one a second; a text for each, "" where nothing followed."""
    return [
        Step(at, after, then or None, found if then else None, shown)
        for at, then in enumerate(thens)
    ]


def only(found):
    (evidence,) = found
    return evidence


# transitions


def test_a_probability_is_drawn_towards_what_follows_over_all_skills():
    counted = Transitions([*steps("b", "b", "b", "c"), *steps("c", "", after="k")])
    overall = 3 / 6
    assert counted.probability("a", "b") == pytest.approx((3 + STRENGTH * overall) / (4 + STRENGTH))
    assert counted.probability("k", "b") == pytest.approx((0 + STRENGTH * overall) / (2 + STRENGTH))
    assert counted.probability("nobody", "b") == pytest.approx(overall)
    assert (counted.loads("a"), counted.loads("k"), counted.count("a", "b")) == (4, 2, 3)


def test_nothing_is_likely_without_a_step():
    assert Transitions().probability("a", "b") == 0.0
    assert list(Transitions().likeliest("a", 2)) == []


def test_probabilities_of_all_that_may_follow_sum_to_one():
    counted = Transitions([*steps("b", "b", "c", ""), *steps("d", "c", after="k")])
    shares = [counted.probability("a", then) for then in "bcd"]
    ended = (1 + STRENGTH / 6) / (4 + STRENGTH)
    assert sum(shares) + ended == pytest.approx(1.0)


def test_the_likeliest_are_those_that_followed_most_often():
    rng = random.Random(3)
    thens = rng.choices("bcdefghij", weights=range(1, 10), k=500)
    counted = Transitions(steps(*thens))
    counts = {then: thens.count(then) for then in thens}
    expected = sorted(counts.values(), reverse=True)[:MOST_LIKELY]
    assert [counts[then] for then in counted.likeliest("a", MOST_LIKELY)] == expected
    assert list(counted.likeliest("a", 2)) == list(counted.likeliest("a", 5))[:2]


# bounds


def test_a_bound_covers_the_share_as_often_as_it_says():
    """Exactly, over all outcomes: with 40 trials the bound is above the share in about 5%."""
    for share in (0.3, 0.5, 0.735, 0.9):
        above = sum(
            comb(40, hits) * share**hits * (1 - share) ** (40 - hits)
            for hits in range(41)
            if wilson_bounds(hits, 40, 0.95)[0] > share
        )
        assert 0.01 < above < 0.07, share


def test_bounds_of_nothing_are_open():
    assert wilson_bounds(0, 0, 0.95) == (0.0, 1.0)
    assert paired([], 0.95).low == -1.0


@pytest.mark.parametrize("share", [0.5, 0.735, 0.9])
@pytest.mark.parametrize("together", [0.0, 0.5, -0.1])
def test_the_bound_of_a_difference_is_seldom_above_it(share, together):
    """Exactly, over all outcomes of 30 trials of two things that are right as often as each other."""
    covariance = together * share * (1 - share)
    both, neither = share**2 + covariance, (1 - share) ** 2 + covariance
    one = share * (1 - share) - covariance
    wrong = 0.0
    for a, b, c in product(range(31), repeat=3):
        d = 30 - a - b - c
        if d < 0:
            continue
        outcomes = [(True, True)] * a + [(True, False)] * b + [(False, True)] * c
        if b > c and paired([*outcomes, *[(False, False)] * d], 0.95).low > 0:
            ways = comb(30, a) * comb(30 - a, b) * comb(d + c, c)
            wrong += ways * both**a * one ** (b + c) * neither**d
    assert 0.005 < wrong < 0.065


def test_what_goes_together_is_told_apart_sooner():
    together = [(True, True)] * 30 + [(True, False)] * 8 + [(False, False)] * 12
    apart = [(True, True)] * 22 + [(True, False)] * 16 + [(False, True)] * 8
    apart += [(False, False)] * 4
    a, b = paired(together, 0.95), paired(apart, 0.95)
    assert (a.first, a.second, a.n) == (b.first, b.second, b.n)
    assert a.low > b.low


# the rule


def test_a_step_is_predicted_before_it_is_counted():
    evidence = only(evaluate(steps("b", "b", "b"), SETTINGS)["a"])
    assert (evidence.support, evidence.trials, evidence.q) == (3, 2, 1.0)


def test_that_the_likeliest_of_many_looks_good_does_not_count():
    """Each skill follows once or twice: in hindsight one is best, ahead of time none is right."""
    evidence = evaluate(steps(*"bcdefghijklmnopqrstuvwxyz", "b", found=False), SETTINGS)["a"][0]
    assert (evidence.then, evidence.support, evidence.why) == ("b", 2, "too-few")
    assert evidence.q <= 1 / evidence.trials


def test_it_is_suggested_where_it_is_right_more_often_than_search():
    evidence = only(evaluate(steps(*["b"] * 30), SETTINGS)["a"])
    assert (evidence.why, evidence.q, evidence.p) == ("better", 1.0, 0.0)
    assert evidence.q_low < evidence.q <= evidence.q_high and evidence.margin > 0


def test_it_is_not_suggested_where_search_is_as_good():
    evidence = only(evaluate(steps(*["b"] * 200, found=True), SETTINGS)["a"])
    assert (evidence.why, evidence.q, evidence.p) == ("not-better", 1.0, 1.0)


@pytest.mark.parametrize(("number", "why"), [(10, "too-few"), (11, "better")])
def test_the_least_support_holds_for_trials_as_well(number, why):
    assert only(evaluate(steps(*["b"] * number), SETTINGS)["a"]).why == why


def test_without_a_search_to_compare_with_nothing_is_suggested():
    evidence = only(evaluate(steps(*["b"] * 100, found=None), SETTINGS)["a"])
    assert (evidence.support, evidence.trials, evidence.why) == (100, 0, "too-few")


def test_it_is_not_suggested_where_mostly_nothing_follows():
    often = [*["b"] * 40, *[""] * 60]
    random.Random(1).shuffle(often)
    evidence = only(evaluate(steps(*often), SETTINGS)["a"])
    assert (evidence.why, evidence.q) == ("seldom", 1.0)
    lenient = only(evaluate(steps(*often), NextSettings(least_share=0.3))["a"])
    assert lenient.why == "better"


def test_several_are_suggested_where_each_is_better_than_search():
    both = ["b", "c"] * 60
    settings = NextSettings(least_share=0.3)
    found = evaluate(steps(*both), settings)["a"]
    assert [(e.then, e.why) for e in found] == [("b", "better"), ("c", "better")]
    assert len(evaluate(steps(*both), NextSettings(least_share=0.3, limit=1))["a"]) == 1


def test_what_followed_a_suggestion_is_no_evidence():
    alone = evaluate(steps(*["b"] * 30), SETTINGS)["a"]
    obeyed = steps(*["c"] * 300, shown=(("a", "c"),))
    after = evaluate([*steps(*["b"] * 30), *obeyed], SETTINGS)["a"]
    assert after == alone


def test_what_is_shown_and_not_taken_is_suggested_no_more():
    ignored = steps(*["c"] * 20, shown=(("a", "b"),))
    learned = steps(*["b"] * 30, found=False)
    half = [Step(s.at, s.after, s.then, s.at % 2 == 0) for s in learned]
    evidence = only(evaluate([*half, *ignored], SETTINGS)["a"])
    assert (evidence.why, evidence.shown, evidence.taken) == ("ignored", 20, 0)
    taken = steps(*["b"] * 20, shown=(("a", "b"),))
    assert only(evaluate([*half, *taken], SETTINGS)["a"]).why == "better"


def test_old_trials_fade():
    changed = [*["b"] * 300, *["c"] * NEWEST, *["b"] * 5]
    evidence = {e.then: e for e in evaluate(steps(*changed, found=True), SETTINGS)["a"]}
    assert evidence["b"].trials == NEWEST and evidence["b"].q < 0.1
    assert evidence["b"].why == "not-better"


# settings


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"learn": 1}, "learn"),
        ({"limit": 0}, "limit"),
        ({"limit": 6}, "limit"),
        ({"limit": True}, "limit"),
        ({"limit": 1.0}, "limit"),
        ({"min_support": 1}, "min_support"),
        ({"confidence": 0.5}, "confidence"),
        ({"confidence": 1}, "confidence"),
        ({"least_share": 1.1}, "least_share"),
        ({"k": 0}, "k"),
        ({"gap_s": 0}, "gap_s"),
        ({"gap_s": "1"}, "gap_s"),
        ({"gap_turns": -1}, "gap_turns"),
        ({"control": 1.0}, "control"),
        ({"history": 99}, "history"),
        ({"control": float("nan")}, "control"),
    ],
)
def test_a_wrong_setting_is_named(wrong, says):
    with pytest.raises(ConfigurationError, match=f"Next setting {says} is"):
        NextSettings(**wrong)
