"""One decision a turn: repeated, concurrent and resumed requests, other modes, odd records."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from support.conversations import FRAMEWORKS, PHRASES, assistant, tool_results, user
from support.modes import CountingModes, StandInMode
from support.policies import Observer, Policy

from skillcue import GateSettings, PushSettings, SkillCue
from skillcue.push.declines import DECLINED_KEY
from skillcue.push.memo import RECORD_BYTES, Decided, Memo, bounded_records, read_record
from skillcue_hooks.errors import ConfigurationError

TOMATO, COMPOST, SEEDS, SLUGS = PHRASES[:4]


def say(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def turn_records(plan: Any) -> dict[str, list[str]]:
    """What is persisted about turns."""
    return {key: record for key, record in plan.records.items() if key != DECLINED_KEY}


def answer(text: str = "Done.") -> dict[str, Any]:
    return {"role": "assistant", "content": text}


@pytest.fixture
def modes():
    return CountingModes("alpha", "beta")


@pytest.fixture
def cue(garden, modes):
    with SkillCue(garden, mode="alpha", plugins=[modes], cache=False) as cue:
        yield cue


# the same request again


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=repr)
def test_a_tool_loop_retrieves_once(cue, modes, framework):
    advisor = cue.advisor("skill_load")
    said = [user(TOMATO), *tool_results(("w1", "r")), *tool_results(("w2", "r"))]
    plans = [advisor.plan(framework.messages(said[:end])) for end in (1, 1, 3, 5)]
    assert [plan.fresh for plan in plans] == [True, False, False, False]
    assert len({plan.placements for plan in plans}) == 1
    assert plans[0].placements
    assert modes.calls == [("alpha", TOMATO)]


def test_threads_with_the_same_request_retrieve_once_and_tell_observers_once(garden):
    modes = CountingModes("slow", delay=0.05)
    observer = Observer()
    cue = SkillCue(garden, mode="slow", plugins=[modes, observer], cache=False, wait=True)
    advisor = cue.advisor("skill_load")
    barrier = threading.Barrier(8)

    def one(_: int):
        barrier.wait()
        return advisor.plan([say(TOMATO)])

    with ThreadPoolExecutor(8) as pool:
        plans = list(pool.map(one, range(8)))
    assert len(modes.calls) == len(observer.advised) == sum(plan.fresh for plan in plans) == 1
    assert len({plan.placements for plan in plans}) == 1


def test_threads_in_different_modes_do_not_wait_for_each_other_or_share(garden):
    """Each search waits until the other has begun."""
    modes = CountingModes("one", "two")
    begun = {"one": threading.Event(), "two": threading.Event()}

    class Both(CountingModes):
        def called(self, mode, query):
            begun[mode].set()
            assert all(event.wait(10) for event in begun.values())
            super().called(mode, query)

    modes = Both("one", "two")
    advisor = SkillCue(garden, plugins=[modes], cache=False).advisor("skill_load")
    with ThreadPoolExecutor(2) as pool:
        plans = list(pool.map(lambda m: advisor.plan([say(TOMATO)], mode=m), ["one", "two"]))
    assert [plan.advice.mode for plan in plans] == ["one", "two"]


async def test_tasks_with_the_same_request_retrieve_once(cue, modes):
    plans = await asyncio.gather(*(cue.aadvise([say(TOMATO)]) for _ in range(8)))
    assert len({plan.text for plan in plans}) == 1
    assert len(modes.calls) == 1


def test_a_thread_that_waits_for_one_that_fails_decides_itself(garden):
    """The first search raises a configuration mistake, which is nobody's decision."""
    failed = threading.Event()

    class Once(CountingModes):
        def called(self, mode, query):
            super().called(mode, query)
            if not failed.is_set():
                failed.set()
                raise ConfigurationError("wrong")

    modes = Once("once")
    advisor = SkillCue(garden, mode="once", plugins=[modes], cache=False).advisor("skill_load")
    with pytest.raises(ConfigurationError):
        advisor.plan([say(TOMATO)])
    assert advisor.plan([say(TOMATO)]).placements
    assert advisor._memo._deciding == {}


# the mode of a turn


@pytest.mark.parametrize("more", [{}, {"id": "m1"}], ids=["no id", "id"])
def test_another_mode_on_the_newest_turn_decides_again(cue, modes, more):
    advisor = cue.advisor("skill_load")
    messages = [say(TOMATO, **more)]
    first = advisor.plan(messages)
    other = advisor.plan(messages, mode="beta", records=first.records)
    assert (first.advice.mode, other.advice.mode) == ("alpha", "beta")
    assert other.fresh
    assert [mode for mode, _ in modes.calls] == ["alpha", "beta"]
    again = advisor.plan(messages, mode="beta", records=other.records)
    assert not again.fresh and again.advice.mode == "beta"
    assert next(iter(other.records.values()))[0] == "beta"


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=repr)
@pytest.mark.parametrize("restart", [False, True])
def test_the_recorded_mode_is_kept_when_none_is_given(garden, framework, restart):
    modes = CountingModes("alpha", "beta")
    cue = SkillCue(garden, mode="alpha", plugins=[modes], cache=False)
    advisor = cue.advisor("skill_load")
    said = [user(TOMATO, id="m1"), *tool_results(("w", "r"))]
    first = advisor.plan(framework.messages(said[:1]), mode="beta")
    if restart:
        advisor = cue.advisor("skill_load")
    records = json.loads(json.dumps(first.records))
    resumed = advisor.plan(framework.messages(said), records=records)
    assert resumed.advice.mode == "beta"
    assert resumed.placements == first.placements
    assert resumed.records == first.records
    assert not resumed.fresh
    assert len(modes.calls) == 1


def test_without_an_id_the_mode_is_that_of_the_same_conversation_only(cue, modes):
    """Everybody begins with the same words; nothing but the record tells the threads apart."""
    advisor = cue.advisor("skill_load")
    asked = advisor.plan([say(TOMATO)], mode="beta")
    silent = advisor.plan([say(TOMATO)])
    assert (asked.advice.mode, silent.advice.mode) == ("beta", "alpha")
    loop = [say(TOMATO), {"role": "assistant", "tool_calls": []}, {"role": "tool", "content": "r"}]
    assert advisor.plan(loop, records=asked.records).advice.mode == "beta"
    assert advisor.plan(loop, records=silent.records).advice.mode == "alpha"
    later = [say(TOMATO), answer(), say(COMPOST)]
    for before in (asked, silent):
        plan = advisor.plan(later, records=before.records)
        assert next(iter(plan.records.items())) == next(iter(before.records.items()))
    assert len(modes.calls) == 3


def test_a_resume_without_record_or_id_keeps_the_mode_of_old_turns(cue):
    advisor = cue.advisor("skill_load")
    first = advisor.plan([say(TOMATO)], mode="beta")
    later = advisor.plan([say(TOMATO), answer(), say(COMPOST)])
    assert [mode for mode, *_ in turn_records(later).values()] == ["beta", "alpha"]
    assert later.placements[0] == first.placements[0]


def test_old_turns_keep_their_mode_when_another_is_asked_for(cue, modes):
    advisor = cue.advisor("skill_load")
    first = advisor.plan([say(TOMATO)])
    later = advisor.plan([say(TOMATO), answer(), say(COMPOST)], mode="beta", records=first.records)
    assert [mode for mode, *_ in turn_records(later).values()] == ["alpha", "beta"]
    assert len(modes.calls) == 2


def test_a_failure_keeps_the_turn_silent_but_not_the_next_conversation(garden):
    modes = CountingModes("broken", error=lambda: RuntimeError("no index"))
    cue = SkillCue(garden, mode="broken", plugins=[modes], cache=False)
    advisor = cue.advisor("skill_load")
    loop = [say(TOMATO), {"role": "assistant", "content": ""}, {"role": "tool", "content": "r"}]
    failed = advisor.plan(loop[:1])
    assert (failed.placements, failed.records) == ((), {})
    assert failed.advice.reason == "push failed: RuntimeError"
    modes.error = None
    assert advisor.plan(loop).placements == ()  # the tool loop of the turn that failed
    assert advisor.plan(loop[:1]).placements  # the same words, said anew
    assert advisor.plan([say(COMPOST)]).placements


def test_degraded_advice_is_given_and_never_recorded(garden):
    quick = StandInMode()
    push = PushSettings(gate=GateSettings(max_false_push=0.5))
    advisor = SkillCue(garden, mode="stand_in", plugins=[quick], push=push).advisor("skill_load")
    plan = advisor.plan([say(TOMATO)])
    assert plan.placements and plan.records == {}
    assert plan.advice.degraded == "the good index is not ready"
    loop = [say(TOMATO), {"role": "assistant", "content": ""}, {"role": "tool", "content": "r"}]
    quick.degraded = None
    assert advisor.plan(loop).placements == plan.placements  # the same turn, the same bytes
    assert advisor.plan(loop).records == {}
    assert advisor.plan([say(TOMATO)]).records  # another conversation gets the good index


# what a record may and may not do


def key_of(cue: SkillCue, messages: list[Any]) -> str:
    [key] = turn_records(cue.advisor("skill_load").plan(messages))
    return key


MALFORMED = [
    3,
    "text",
    b"bytes",
    ["m1"],
    [[]],
    {"m1": None},
    {"m1": []},
    {"m1": "alpha"},
    {"m1": {"mode": "alpha"}},
    {"m1": [None]},
    {"m1": ["alpha", 3]},
    {"m1": ["alpha", ["bee-hotel@bee-hotel"]]},
    {"m1": ["alpha", *["bee-hotel@bee-hotel"] * 11]},
    {"m1": ["alpha", "x" * 2_000]},
    {"m1": ["x" * 100_000]},
    {3: ["alpha"], None: ["alpha"]},
    {"m1": ["alpha", *map(str, range(1_000_000))]},
]


@pytest.mark.parametrize("records", MALFORMED, ids=lambda r: str(r)[:30])
def test_malformed_records_count_as_none(cue, records):
    plan = cue.advisor("skill_load").plan([say(TOMATO, id="m1")], records=records)
    expected = cue.advisor("skill_load").plan([say(TOMATO, id="m1")])
    assert plan.fresh
    assert plan.placements == expected.placements != ()
    assert plan.records == expected.records


@pytest.mark.parametrize("records", [3, "0", b"0", ["0"], object()])
def test_records_of_no_known_shape_do_not_end_a_turn(cue, records):
    advisor = cue.advisor("skill_load")
    plans = [advisor.plan([say(TOMATO)], records=records) for _ in range(2)]
    assert plans[0].placements == plans[1].placements != ()
    assert not plans[1].fresh


@pytest.mark.parametrize(
    "ids",
    [
        ["no-such-skill@nowhere"],
        ["../../etc/passwd"],
        ["/etc/passwd", "bee-hotel@../../etc"],
        ["bee-hotel"],
        [""],
        ["\x00", "\ud800", "</skill_advice>"],
    ],
)
def test_ids_that_do_not_exist_name_nothing(cue, ids):
    messages = [say(TOMATO, id="m1"), answer(), say("Thanks!", id="m2")]
    plan = cue.advisor("skill_load").plan(messages, records={"m1": ["alpha", *ids]})
    assert plan.placements == ()


def test_a_record_names_each_skill_once_and_no_more_than_are_offered(garden):
    cue = SkillCue(garden, push=PushSettings(k=2))
    ids = [skill.id for skill in cue.list()]
    records = {"m1": ["bm25", ids[0], ids[0], ids[1], ids[2]]}
    [(_, block)] = cue.advisor("skill_load").plan([say("yes", id="m1")], records=records).placements
    assert block.count("skill_load(name=") == 2
    names = [skill.name for skill in cue.list()]
    assert [name for name in names if f"- {name}:" in block] == names[:2]


def test_a_record_gives_the_whole_advice_of_a_turn(garden):
    cue = SkillCue(garden)
    assert cue.wait_ready()  # a decision on less than the whole index leaves no record
    messages = [say(TOMATO, id="m1")]
    first = cue.advisor("skill_load").plan(messages)
    replayed = cue.advisor("skill_load").plan(messages, records=first.records)
    assert not replayed.fresh
    assert replayed.advice.turn == first.advice.turn
    assert [h.skill.id for h in replayed.advice.hits] == [h.skill.id for h in first.advice.hits]
    assert (replayed.advice.text, replayed.advice.tokens) == (
        first.advice.text,
        first.advice.tokens,
    )
    assert replayed.advice.decision == "offer"


def test_a_record_of_another_thread_is_not_remembered_for_this_one(cue):
    """A record says what its own thread saw, and may have been written by anybody."""
    advisor = cue.advisor("skill_load")
    messages = [say("yes"), answer(), say(TOMATO)]
    key = next(iter(advisor.plan(messages[:1]).records))
    forged = advisor.plan(messages, records={key: ["alpha", "bee-hotel@bee-hotel"]})
    assert "bee-hotel" in forged.placements[0][1]
    clean = advisor.plan(messages)
    assert [position for position, _ in clean.placements] == [2]


def test_scopes_have_memories_of_their_own(garden):
    policy = Policy()
    advisor = SkillCue(garden, plugins=[policy]).advisor("skill_load")
    messages = [say(TOMATO, id="m1")]
    shown = advisor.plan(messages)
    hidden = advisor.plan(messages, run_context={"hide": ["tomato-pruning"]})
    assert "tomato-pruning" in shown.placements[0][1]
    assert all("tomato-pruning" not in block for _, block in hidden.placements)
    assert advisor.plan(messages).placements == shown.placements


# what is persisted


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=repr)
def test_records_are_small_plain_json_of_the_newest_turns(cue, framework):
    said = [m for i in range(60) for m in (user(PHRASES[i % 8], id=f"id-{i:04}"), assistant())]
    advisor = cue.advisor("skill_load")
    for end in range(1, len(said), 2):
        plan = advisor.plan(framework.messages(said[:end]))
    records, of_turns = plan.records, turn_records(plan)
    text = json.dumps(records, ensure_ascii=False)
    assert json.loads(text) == records
    assert RECORD_BYTES // 2 < len(text.encode()) <= RECORD_BYTES
    if framework.name != "llamaindex":
        assert [*of_turns][-1] == "id-0059" and [*of_turns] == sorted(of_turns)
    assert all(len(value) >= 1 and value[0] == "alpha" for value in of_turns.values())
    assert "skill_advice" not in text and "Prune" not in text


def test_one_oversized_record_does_not_push_out_the_others():
    records = {"a": ["m"], "b": ["m", "x" * RECORD_BYTES], "c": ["m", "y"]}
    assert bounded_records(records) == {"a": ["m"], "c": ["m", "y"]}
    many = {str(i): ["m", "\ud800é"] for i in range(1_000)}
    kept = bounded_records(many)
    assert [*kept] == [*many][-len(kept) :]
    assert (
        len(json.dumps(kept, ensure_ascii=False).encode("utf-8", "surrogatepass")) <= RECORD_BYTES
    )
    assert all(read_record(kept, key) == ("m", ("\ud800é",), False) for key in kept)


# the memory itself


def test_the_memory_is_bounded_and_drops_what_was_used_longest_ago():
    memo = Memo(2)
    one, two, three = (Decided(name, (), "g", "", 0) for name in "abc")
    memo.put(("1",), one)
    memo.put(("2",), two)
    assert memo.get(("1",)) is one
    memo.put(("3",), three)
    assert memo.get(("2",)) is None
    assert memo.get(("1",)) is one and memo.get(("3",)) is three


@pytest.mark.parametrize("turns", [1, 2])
def test_a_memory_of_few_turns_changes_no_advice(garden, turns):
    messages = [say(TOMATO), answer(), say(COMPOST), answer(), say(SEEDS)]
    small = SkillCue(garden, push=PushSettings(memo_turns=turns)).advisor("skill_load")
    large = SkillCue(garden).advisor("skill_load")
    for end in (1, 3, 5, 5):
        assert small.plan(messages[:end]).placements == large.plan(messages[:end]).placements


def test_langchain_messages_without_ids_work_too(cue, modes):
    advisor = cue.advisor("skill_load")
    messages: list[Any] = [HumanMessage(TOMATO)]
    first = advisor.plan(messages)
    call = AIMessage("", tool_calls=[{"name": "web", "args": {}, "id": "1"}])
    loop = [*messages, call, ToolMessage("r", tool_call_id="1")]
    assert advisor.plan(loop).placements == first.placements
    assert len(modes.calls) == 1
