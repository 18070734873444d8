"""What push may do to a request, over generated conversations in the messages of each framework."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from support.conversations import (
    FRAMEWORKS,
    PHRASES,
    Framework,
    Said,
    assistant,
    conversations,
    messy_messages,
    requests_of,
    tool_results,
    user,
    write_garden,
)

from skillcue import PushSettings, SkillCue
from skillcue.push.advisor import Advisor
from skillcue.push.messages import ADVICE_CLOSE, ADVICE_OPEN, view_messages
from skillcue.push.turn import user_turns

ROOMY = PushSettings(tokens_replayed=100_000)
"""No advice is dropped for want of room, so that nothing but growth changes a request."""
HOW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

every_framework = pytest.mark.parametrize("framework", FRAMEWORKS, ids=repr)


@pytest.fixture(scope="module")
def garden(tmp_path_factory) -> Path:
    return write_garden(tmp_path_factory.mktemp("garden"))


@pytest.fixture(scope="module")
def cue(garden):
    with SkillCue(garden, push=ROOMY) as cue:
        yield cue


def fresh_advisor(garden: Path, push: PushSettings = ROOMY) -> Advisor:
    """As in another process: nothing is remembered."""
    return SkillCue(garden, push=push, recheck="manual").advisor("skill_load")


def wires(framework: Framework, messages: list[Any]) -> list[str]:
    return [framework.wire(message) for message in messages]


@every_framework
@HOW
@given(said=messy_messages())
def test_a_request_changes_only_at_the_end_of_user_messages(cue, framework, said):
    messages = framework.messages(said)
    before = framework.copy(messages)
    plan = cue.advisor("skill_load").plan(messages)
    assert "push failed" not in plan.advice.reason
    placed = framework.place(messages, plan.placements)

    assert wires(framework, messages) == wires(framework, before)  # the input is what it was
    assert len(placed) == len(messages)
    blocks = dict(plan.placements)
    for position, (old, new) in enumerate(zip(messages, placed, strict=True)):
        if position not in blocks:
            assert new is old
            continue
        assert said[position].role == "user" and not said[position].made
        check_longer(framework, old, new, blocks[position])


def check_longer(framework: Framework, old: Any, new: Any, block: str) -> None:
    """Nothing but the content differs, and that by `block` at its end."""
    assert type(new) is type(old)
    if framework.name == "llamaindex":
        assert new.additional_kwargs == old.additional_kwargs and new.role == old.role
        if len(old.blocks) == 1 and hasattr(old.blocks[0], "text"):
            assert new.content == (f"{old.content}\n\n{block}" if old.content else block)
            assert len(new.blocks) == 1
        else:
            assert [*old.blocks, new.blocks[-1]] == list(new.blocks)
            assert new.blocks[-1].text == block
        return
    old, new = (m if isinstance(m, dict) else m.model_dump() for m in (old, new))
    content, longer = old.pop("content"), new.pop("content")
    assert old == new
    if isinstance(content, str):
        assert longer == (f"{content}\n\n{block}" if content else block)
    else:
        assert longer == [*content, {"type": "text", "text": block}]


@every_framework
@HOW
@given(said=messy_messages())
def test_an_advised_request_gives_the_same_digests_and_the_same_advice(cue, framework, said):
    """Applications store requests, and a second library may look at them."""
    messages = framework.messages(said)
    plan = cue.advisor("skill_load").plan(messages)
    placed = framework.place(messages, plan.placements)
    digests = [
        [(t.key, t.text, t.digest) for t in user_turns(view_messages(m), 1_200)]
        for m in (messages, placed)
    ]
    assert digests[0] == digests[1]
    again = cue.advisor("skill_load").plan(placed)
    assert again.placements == plan.placements
    assert again.records == plan.records
    if framework.name != "llamaindex":
        twice = framework.place(placed, again.placements)
        assert wires(framework, twice) == wires(framework, placed)


@every_framework
@HOW
@given(said=conversations())
def test_every_request_is_a_prefix_of_the_next_with_a_memo(cue, framework, said):
    advisor = cue.advisor("skill_load")
    check_prefixes(framework, said, lambda: advisor, keep_records=False)


@every_framework
@HOW
@given(said=conversations())
def test_every_request_is_a_prefix_of_the_next_with_records_only(garden, framework, said):
    check_prefixes(framework, said, lambda: fresh_advisor(garden), keep_records=True)


@every_framework
@HOW
@given(said=conversations())
def test_every_request_is_a_prefix_of_the_next_with_nothing_kept(garden, framework, said):
    check_prefixes(framework, said, lambda: fresh_advisor(garden), keep_records=False)


@every_framework
@HOW
@given(said=conversations())
def test_memo_records_and_nothing_agree(garden, cue, framework, said):
    """Over a conversation as it grows, where what is kept is really used."""
    remembering = cue.advisor("skill_load")
    records: dict[str, list[str]] = {}
    for end in requests_of(said):
        messages = framework.messages(said[:end])
        plans = [
            remembering.plan(messages),
            fresh_advisor(garden).plan(messages, records=records),
            fresh_advisor(garden).plan(messages),
        ]
        assert plans[0].placements == plans[1].placements == plans[2].placements
        assert plans[0].records == plans[1].records == plans[2].records
        records = json.loads(json.dumps(plans[1].records))


def check_prefixes(framework: Framework, said: list[Said], advisor: Any, keep_records: bool) -> int:
    """Send every request of a conversation; gives how many blocks the last one holds."""
    before: list[str] = []
    records: dict[str, list[str]] | None = None
    placements: tuple[tuple[int, str], ...] = ()
    for end in requests_of(said):
        messages = framework.messages(said[:end])
        plan = advisor().plan(messages, records=records)
        assert "push failed" not in plan.advice.reason
        placed = wires(framework, framework.place(messages, plan.placements))
        assert placed[: len(before)] == before
        assert plan.placements[: len(placements)] == placements
        assert len(json.dumps(plan.records, ensure_ascii=False).encode()) <= 1_000
        before, placements = placed, plan.placements
        if keep_records:
            records = json.loads(json.dumps(plan.records))
    return len(placements)


def long_conversation(turns: int) -> list[Said]:
    said: list[Said] = []
    for number in range(turns):
        said.append(user(PHRASES[number % 8]))
        said += tool_results((f"w{number}", "some result"))
        said.append(assistant(f"Answer {number}."))
    return said


@every_framework
def test_twenty_turns_are_worked_out_again_without_a_break(garden, framework):
    """The generated conversations are short; this one has as many turns as are looked back at."""
    said = long_conversation(20)
    assert check_prefixes(framework, said, lambda: fresh_advisor(garden), keep_records=False) == 8
    assert check_prefixes(framework, said, lambda: fresh_advisor(garden), keep_records=True) == 8


def test_beyond_the_window_it_moves_in_steps(garden):
    """Twice in forty turns, and not with every turn."""
    framework = FRAMEWORKS[0]
    said = long_conversation(40)
    breaks, before = 0, []
    for end in requests_of(said):
        messages = framework.messages(said[:end])
        plan = fresh_advisor(garden).plan(messages)
        placed = wires(framework, framework.place(messages, plan.placements))
        breaks += placed[: len(before)] != before
        before = placed
    assert breaks == 2


def test_the_budget_of_all_advice_is_kept_and_is_freed_in_jumps(garden):
    push = PushSettings(tokens_replayed=500)
    advisor = SkillCue(garden, push=push).advisor("skill_load")
    framework = FRAMEWORKS[0]
    said = long_conversation(40)
    breaks, before, dropped = 0, [], 0
    for end in requests_of(said):
        messages = framework.messages(said[:end])
        plan = advisor.plan(messages)
        assert sum(push.count_tokens(block) for _, block in plan.placements) <= 500
        placed = wires(framework, framework.place(messages, plan.placements))
        breaks += placed[: len(before)] != before
        dropped += len(before) > 0 and plan.placements[0][0] > 0
        before = placed
    assert 0 < breaks <= 12
    assert dropped


@HOW
@given(said=conversations())
def test_every_block_has_one_pair_of_delimiters(cue, said):
    plan = cue.advisor("skill_load").plan(FRAMEWORKS[0].messages(said))
    for _, block in plan.placements:
        assert block.count(ADVICE_OPEN) == block.count(ADVICE_CLOSE) == 1
        assert block.startswith(f"{ADVICE_OPEN}\n") and block.endswith(f"\n{ADVICE_CLOSE}")


@pytest.mark.parametrize(
    "messages",
    [
        None,
        3,
        "text",
        [None, 3, "text", object()],
        [("human", "hi")],
        [{}],
        [{"role": None, "content": None}],
        [{"role": "user"}],
        [{"role": "user", "content": b"bytes"}],
        [{"role": "user", "content": {"a": 1}}],
        [{"role": "user", "content": [None, 3, {"type": "text", "text": None}, {"text": ["x"]}]}],
        [{"role": "user", "content": "x", "additional_kwargs": "odd", "tool_calls": 3}],
        [{"role": ["user"], "content": "x", "id": {"a": 1}}],
        [{"role": "assistant", "tool_calls": [None, {"id": 1}, {"function": 3}]}],
        [{"role": "tool", "content": None, "tool_call_id": ["x"]}],
    ],
)
def test_messages_of_no_known_shape_give_no_advice_and_no_error(cue, messages):
    plan = cue.advisor("skill_load").plan(messages)
    assert plan.placements == ()
    assert plan.advice.decision == "abstain"
