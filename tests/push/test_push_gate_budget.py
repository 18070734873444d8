"""The gate, the token budget and the settings of push."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillcue import GateSettings, PushSettings
from skillcue.push.budget import active_turns, estimate_tokens, shorten
from skillcue.push.gate import judge
from skillcue_hooks import Hit, Ranking, Skill
from skillcue_hooks.errors import ConfigurationError

GATE = GateSettings()


def ranking(*scores: float, **signals: tuple[float, ...]) -> Ranking:
    hits = tuple(
        Hit(
            Skill(f"s{i}@s{i}", f"s{i}", "d"),
            score,
            i + 1,
            {name: values[i] for name, values in signals.items() if i < len(values)},
        )
        for i, score in enumerate(scores)
    )
    return Ranking(hits, "m", total=len(hits))


def offered(verdict) -> list[str]:
    return [hit.skill.name for hit in verdict.offered]


def reasons(verdict) -> dict[str, str]:
    return {item.hit.skill.name: item.reason for item in verdict.rejected}


# the gate


def test_nothing_matches():
    verdict = judge(ranking(), 3, GATE)
    assert (verdict.offered, verdict.rejected, verdict.confidence) == ((), (), 0.0)
    assert verdict.threshold == GATE.min_evidence
    assert verdict.reason == "no skill shares a word with the message"


@pytest.mark.parametrize(
    ("head", "body", "passes"),
    [
        (1.5, 1.5, True),  # one and a half rare terms in a head
        (1.0, 2.0, True),  # one there and two in a body
        (1.0, 1.0, False),
        (0.0, 3.0, False),  # a body alone says little
        (0.0, 5.0, True),
    ],
)
def test_evidence_decides_where_the_retriever_has_it(head, body, passes):
    verdict = judge(ranking(9.0, evidence=(head,), evidence_body=(body,), z=(0.0,)), 3, GATE)
    strength = math.log1p(head) + math.log1p(max(head, body))
    assert verdict.confidence == pytest.approx(strength)
    assert (strength >= 1.75) == passes == bool(verdict.offered)
    assert verdict.reason.startswith("s0 stands out: evidence") == passes


def test_evidence_is_the_largest_among_the_candidates():
    """The best score may have a long body, and another skill the telling head."""
    verdict = judge(ranking(9.0, 8.9, evidence=(0.0, 4.0), evidence_body=(2.0,)), 3, GATE)
    assert offered(verdict) == ["s0", "s1"]
    assert verdict.confidence == pytest.approx(2 * math.log1p(4.0))
    found = ranking(9.0, 8.9, evidence=(1.0, 0.0), evidence_body=(0.0, 5.0))
    assert judge(found, 3, GATE).confidence == pytest.approx(math.log1p(1.0) + math.log1p(5.0))


@pytest.mark.parametrize(("z", "passes"), [(4.0, True), (3.99, False), (-1.0, False)])
def test_z_decides_where_there_is_no_evidence(z, passes):
    verdict = judge(ranking(0.9, z=(z,)), 3, GATE)
    assert (verdict.confidence, verdict.threshold) == (z, GATE.min_z)
    assert bool(verdict.offered) == passes


@pytest.mark.parametrize(
    ("scores", "confidence"),
    [
        ((0.5,), 1.0),  # nothing to compare with: the best passes
        ((0.5, 0.4), 1.0),
        ((0.5, 0.5, 0.5), 0.0),
        ((0.9, 0.5, 0.5), 1.0),
        ((3.0, 2.0, 1.0), 3.0),
        ((-1.0, -2.0, -3.0), 3.0),
        ((2.0, 2.0, 0.0), 1.0),
        ((1.1, 1.1, 0.0, 0.9), 0.9),
    ],
)
def test_the_lead_decides_where_there_are_no_signals(scores, confidence):
    verdict = judge(ranking(*scores), 3, GateSettings(runner_up=0.0))
    assert verdict.threshold == 1.0
    assert verdict.confidence == pytest.approx(confidence, abs=0.05)
    assert bool(verdict.offered) == (verdict.confidence >= 1.0)


def test_a_closed_gate_names_its_numbers_and_rejects_all():
    verdict = judge(ranking(5.0, 4.0, evidence=(0.5, 0.1)), 3, GATE)
    assert verdict.offered == ()
    assert reasons(verdict) == dict.fromkeys(["s0", "s1"], "the gate stayed closed")
    assert "0.81 is below 1.75" in verdict.reason


def test_min_evidence_zero_speaks_whenever_anything_matches():
    verdict = judge(ranking(0.1, evidence=(0.0,)), 3, GateSettings(min_evidence=0.0))
    assert offered(verdict) == ["s0"]


def test_runners_up_must_be_near_and_are_limited():
    found = ranking(10.0, 9.0, 8.0, 7.0, 6.9, z=(9.0,))
    verdict = judge(found, 3, GATE)
    assert offered(verdict) == ["s0", "s1", "s2"]
    assert reasons(verdict) == {"s3": "enough is offered", "s4": "clearly behind s0"}
    assert offered(judge(found, 1, GATE)) == ["s0"]
    assert offered(judge(found, 9, GateSettings(runner_up=1.0))) == ["s0"]
    assert len(offered(judge(found, 9, GateSettings(runner_up=0.0)))) == 5


@pytest.mark.parametrize("scores", [(-1.0, -1.0, -1.1), (0.0, 0.0, -0.1)])
def test_a_share_of_a_score_that_is_not_positive_is_no_share(scores):
    assert offered(judge(ranking(*scores, z=(9.0,)), 3, GATE)) == ["s0", "s1"]


def test_a_visible_skill_is_not_offered_and_still_counts_as_the_best():
    found = ranking(10.0, 9.0, 2.0, z=(9.0,))
    verdict = judge(found, 3, GATE, visible={"s0@s0"})
    assert offered(verdict) == ["s1"]
    assert reasons(verdict)["s0"] == "already in the conversation"
    assert reasons(verdict)["s2"] == "clearly behind s0"
    only = judge(ranking(10.0, 2.0, z=(9.0,)), 3, GATE, visible={"s0@s0"})
    assert only.offered == ()
    assert only.reason == "what fits is already in the conversation"


def test_visible_skills_take_no_place():
    verdict = judge(ranking(10.0, 9.9, 9.8, z=(9.0,)), 2, GATE, visible={"s0@s0"})
    assert offered(verdict) == ["s1", "s2"]


@given(
    scores=st.lists(st.floats(-10, 10), max_size=6),
    evidence=st.lists(st.floats(0, 20), max_size=6),
    z=st.lists(st.floats(-5, 9), max_size=6),
    limit=st.integers(1, 10),
    visible=st.sets(st.sampled_from([f"s{i}@s{i}" for i in range(6)])),
)
def test_the_gate_splits_its_candidates(scores, evidence, z, limit, visible):
    found = ranking(*sorted(scores, reverse=True), evidence=tuple(evidence), z=tuple(z))
    verdict = judge(found, limit, GATE, visible)
    both = [*verdict.offered, *(item.hit for item in verdict.rejected)]
    assert sorted(h.rank for h in both) == [h.rank for h in found.hits]
    assert len(verdict.offered) <= limit
    assert [h.rank for h in verdict.offered] == sorted(h.rank for h in verdict.offered)
    assert not visible & {h.skill.id for h in verdict.offered}
    assert (verdict.confidence >= verdict.threshold) or not verdict.offered
    assert verdict.reason and all(item.reason for item in verdict.rejected)


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
        {"context_chars": -1},
        {"query_chars": "many"},
        {"gate": 3},
        {"gate": {"min_z": 3}},
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
        {"min_evidence": "high"},
        {"min_evidence": math.nan},
        {"min_z": math.inf},
        {"runner_up": 1.1},
        {"runner_up": -0.1},
    ],
    ids=str,
)
def test_gate_settings_that_cannot_work_are_refused(given_: dict[str, Any]):
    with pytest.raises(ConfigurationError, match=next(iter(given_))):
        GateSettings(**given_)


def test_limits_of_the_settings_are_inside():
    PushSettings(k=10, depth=10, context_chars=0, history_turns=1, memo_turns=1)
    GateSettings(min_evidence=0, min_z=-1, runner_up=0)
    GateSettings(runner_up=1)
