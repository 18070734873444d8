"""Generated conversations under budgets that are reached, and messages of odd kinds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.conversations import (
    FRAMEWORKS,
    PHRASES,
    Framework,
    Said,
    conversations,
    requests_of,
    user,
    write_garden,
)

from skillcue import PushSettings, SkillCue
from skillcue.placement import place, remove_advice
from skillcue.push.budget import active_turns

TIGHT = PushSettings(tokens_per_turn=150, tokens_replayed=250)
"""Room for two pieces of advice."""
HOW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

every_framework = pytest.mark.parametrize("framework", FRAMEWORKS, ids=repr)


@pytest.fixture(scope="module")
def cue(tmp_path_factory):
    folder: Path = write_garden(tmp_path_factory.mktemp("garden"))
    with SkillCue(folder, mode="bm25", push=TIGHT, recheck="manual") as cue:
        yield cue


@every_framework
@HOW
@given(said=conversations(most_turns=9))
def test_advice_is_dropped_from_the_front_only_and_the_ways_agree(cue, framework, said):
    """In one process, in a new one with the records, and in a new one without."""
    one = cue.advisor("skill_load")
    records: dict[str, list[str]] = {}
    before: tuple[tuple[int, str], ...] = ()
    for end in requests_of(said):
        messages = framework.messages(said[:end])
        plan = one.plan(messages)
        for other in (records, None):
            again = cue.advisor("skill_load").plan(messages, records=other)
            assert (again.placements, again.records) == (plan.placements, plan.records)
        dropped = len(before) - sum(placed in plan.placements for placed in before)
        assert plan.placements[: len(before) - dropped] == before[dropped:]
        assert sum(TIGHT.count_tokens(block) for _, block in plan.placements) <= 250
        check_nothing_at_hand_is_offered(plan)
        records, before = json.loads(json.dumps(plan.records)), plan.placements


def check_nothing_at_hand_is_offered(plan: Any) -> None:
    advice = plan.advice
    if plan.fresh:
        ids = {hit.skill.id for hit in advice.hits} - set(advice.turn.explicit)
        assert not ids & advice.turn.visible_skills
        assert not ids & set(advice.turn.declined)


_PARTS = st.one_of(
    st.sampled_from(
        [
            "words",
            {"type": "text", "text": "How do I prune tomato plants on a trellis?"},
            {"type": "input_text", "text": "compost"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
            {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
            {"type": "tool_use", "id": "a", "name": "skill_load", "input": {}},
            {"type": "tool_result", "tool_use_id": "a", "content": "x"},
            {"type": "text"},
            {},
            None,
            3,
        ]
    ),
    st.dictionaries(st.sampled_from(["type", "text", "id"]), st.text(max_size=5), max_size=3),
)
_CONTENTS = st.one_of(st.sampled_from(PHRASES), st.none(), st.lists(_PARTS, max_size=4))
_CALLS = st.one_of(
    st.none(),
    st.just([{"id": "a", "type": "function", "function": {"name": "skill_load"}}]),
    st.just([{"id": "a", "name": "skill_load", "args": {}}]),
    st.just([None, 3, {"id": 4}]),
)
_ROLES = st.sampled_from(
    ["user"] * 4
    + ["human", "assistant", "ai", "model", "system", "developer", "tool", "function", "USER"]
    + ["critic", "", None, 3]
)
_DICTS = st.lists(
    st.fixed_dictionaries(
        {"role": _ROLES, "content": _CONTENTS},
        optional={
            "id": st.one_of(st.text(max_size=4), st.none(), st.integers()),
            "tool_calls": _CALLS,
            "tool_call_id": st.sampled_from(["a", "b", None]),
            "name": st.sampled_from(["skill_load", "me", None]),
            "additional_kwargs": st.sampled_from([{}, {"lc_source": "summarization"}, None, 3]),
        },
    ),
    max_size=8,
)


@settings(HOW, max_examples=200)
@given(messages=_DICTS)
def test_odd_messages_change_in_user_position_only_and_only_once(cue, messages):
    before = json.dumps(messages)
    plan = cue.advisor("skill_load").plan(messages)
    placed = place(messages, plan.placements)
    assert json.dumps(messages) == before
    assert "failed" not in plan.advice.reason
    assert len(placed) == len(messages)
    advised = {position for position, _ in plan.placements}
    for position, (old, new) in enumerate(zip(messages, placed, strict=True)):
        if position not in advised:
            assert new is old
            continue
        assert str(old["role"]).lower() in ("user", "human")
        assert {key: new[key] for key in new if key != "content"} == {
            key: old[key] for key in old if key != "content"
        }
    again = cue.advisor("skill_load").plan(placed)
    assert again.placements == plan.placements
    assert json.dumps(place(placed, again.placements)) == json.dumps(placed)
    longer = [*messages, {"role": "assistant", "content": "Done."}]
    assert cue.advisor("skill_load").plan(longer).placements == plan.placements


@settings(HOW, max_examples=200)
@given(sizes=st.lists(st.integers(0, 300), max_size=30), budget=st.integers(1, 1_000))
def test_the_budget_of_replayed_advice(sizes, budget):
    active: list[bool] = []
    for end in range(1, len(sizes) + 1):
        before, active = active, active_turns(sizes[:end], budget)
        kept = [size for size, stays in zip(sizes, active, strict=False) if stays]
        newest = next((size for size in reversed(sizes[:end]) if size), 0)
        assert sum(kept) <= max(budget, newest)
        assert active[-1] == bool(sizes[end - 1])  # the newest always stays
        assert all(was or not is_ for was, is_ in zip(before, active, strict=False))  # none returns
        first = active.index(True) if any(active) else end
        assert all(active[i] for i in range(first, end) if sizes[i])  # the oldest goes first
        if [*before, True] != active and sizes[end - 1] <= budget // 2 and any(before):
            gone = sum(was and not is_ for was, is_ in zip(before, active, strict=False))
            assert not gone or sum(kept) <= budget // 2 + sizes[end - 1]


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=repr)
@pytest.mark.parametrize("tokens", [1, 60])
def test_a_budget_that_holds_no_advice_is_silence_with_a_reason(tmp_path, framework, tokens):
    push = PushSettings(tokens_per_turn=tokens)
    with SkillCue(write_garden(tmp_path), mode="bm25", push=push) as cue:
        plan = cue.advisor("skill_load").plan(framework.messages([user(PHRASES[0])]))
    assert plan.placements == ()
    assert plan.advice.reason == "the advice does not fit in the token budget"
    assert [r.reason for r in plan.advice.rejected][-1] == "no room in the token budget"
    assert "declined" not in plan.records  # nothing was offered


def test_a_replay_budget_below_one_advice_still_gives_the_newest(tmp_path):
    push = PushSettings(tokens_replayed=1)
    with SkillCue(write_garden(tmp_path), mode="bm25", push=push) as cue:
        said = [Said("user", PHRASES[0], id="a"), Said("assistant", "Done."), user(PHRASES[1])]
        for framework in FRAMEWORKS:
            check_newest_only(cue, framework, said)


def check_newest_only(cue: SkillCue, framework: Framework, said: list[Said]) -> None:
    advisor = cue.advisor("skill_load")
    for end in (1, 3):
        plan = advisor.plan(framework.messages(said[:end]))
        assert [position for position, _ in plan.placements] == [end - 1]


def test_removing_what_was_placed_gives_back_the_messages(cue):
    messages = FRAMEWORKS[1].messages([user(PHRASES[0]), user(PHRASES[1], shape="blocks")])
    plan = cue.advisor("skill_load").plan(messages)
    assert remove_advice(place(messages, plan.placements)) == messages
