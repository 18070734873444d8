"""The token budgets and the settings of push."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillcue import GateSettings, PushSettings
from skillcue.push.budget import active_turns, estimate_tokens, shorten
from skillcue_hooks.errors import ConfigurationError

# the budget of all advice together

SIZES = st.lists(st.sampled_from([0, 0, 1, 30, 95, 200, 400, 900]), max_size=60)
BUDGETS = st.integers(1, 2_000)


@given(sizes=SIZES, budget=BUDGETS)
def test_replayed_advice_stays_within_the_budget(sizes, budget):
    active = active_turns(sizes, budget)
    assert len(active) == len(sizes)
    kept = [size for size, is_active in zip(sizes, active, strict=True) if is_active]
    assert 0 not in kept
    assert sum(kept) <= budget or len(kept) == 1
    spoken = [i for i, size in enumerate(sizes) if size]
    assert [i for i in spoken if active[i]] == spoken[len(spoken) - len(kept) :]  # the newest
    assert not spoken or active[spoken[-1]]


@given(sizes=SIZES, budget=BUDGETS)
def test_what_is_dropped_stays_dropped_and_frees_half(sizes, budget):
    before: list[bool] = []
    for end in range(len(sizes) + 1):
        now = active_turns(sizes[:end], budget)
        assert all(was or not is_ for was, is_ in zip(before, now, strict=False))
        if now[: len(before)] != before:
            kept = sum(s for s, a in zip(sizes[:end], now, strict=True) if a)
            assert kept <= budget // 2 or kept == sizes[end - 1]
        before = now


def test_dropping_is_rare():
    drops, before = 0, []
    for end in range(1, 201):
        now = active_turns([100] * end, 1_600)
        drops += now[: len(before)] != before
        before = now
    assert drops == 21  # not 184, as one at a time would be


@given(sizes=st.lists(st.sampled_from([0, 1]), max_size=400))
def test_many_small_blocks_are_counted_in_one_pass(sizes):
    assert sum(active_turns(sizes, 100)) == min(sum(sizes), _kept(sum(sizes), 100))


def _kept(blocks: int, budget: int) -> int:
    """Blocks of one token that stay, by the rule: full, then down to half."""
    return blocks if blocks <= budget else budget // 2 + (blocks - budget - 1) % (budget // 2 + 1)


# token counts and shortening


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("表格", 2), ("表格填写", 3), ("\ud800", 1)],
)
def test_tokens_are_estimated_from_characters(text, tokens):
    assert estimate_tokens(text) == tokens


@given(st.text(st.characters(exclude_categories=())), st.text())
def test_longer_texts_have_no_fewer_tokens(one, two):
    assert estimate_tokens(one + two) >= max(estimate_tokens(one), estimate_tokens(two))


@given(st.text(), st.integers(-1, 50))
def test_shortened_texts_fit_and_show_the_cut(text, limit):
    short = shorten(text, limit)
    assert len(short) <= max(limit, 0)
    if len(text) <= limit:
        assert short == text
    elif limit > 0:
        assert short.endswith("…") and text.startswith(short[:-1])


def test_texts_are_cut_between_words():
    assert shorten("fill in the form, please", 18) == "fill in the form…"
    assert shorten("incomprehensibilities", 10) == "incompreh…"


# settings


@pytest.mark.parametrize(
    "given_",
    [
        {"k": 0},
        {"k": 11, "depth": 20},
        {"k": 3, "depth": 2},
        {"k": "3"},
        {"k": 2.5},
        {"k": None},
        {"tokens_per_turn": 0},
        {"tokens_replayed": -1},
        {"history_turns": 0},
        {"memo_turns": 0},
        {"context_tokens": -1},
        {"query_tokens": "many"},
        {"gate": 3},
        {"gate": {"runner_up": 3}},
        {"count_tokens": 3},
    ],
    ids=str,
)
def test_push_settings_that_cannot_work_are_refused(given_: dict[str, Any]):
    with pytest.raises(ConfigurationError, match=next(iter(given_))):
        PushSettings(**given_)


@pytest.mark.parametrize(
    "given_",
    [
        {"max_false_push": "few"},
        {"max_false_push": math.nan},
        {"max_false_push": 5},
        {"max_false_push": True},
        {"runner_up": 1.1},
        {"runner_up": -0.1},
    ],
    ids=str,
)
def test_gate_settings_that_cannot_work_are_refused(given_: dict[str, Any]):
    with pytest.raises(ConfigurationError, match=next(iter(given_))):
        GateSettings(**given_)


def test_limits_of_the_settings_are_inside():
    PushSettings(k=10, depth=10, context_tokens=0, history_turns=1, memo_turns=1)
    GateSettings(max_false_push=0, runner_up=0)
    GateSettings(max_false_push=1.0, runner_up=1)
