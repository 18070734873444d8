"""What stands in the messages is not offered again; what is gone from them may be."""

from __future__ import annotations

from typing import Any

import pytest
from support.conversations import FRAMEWORKS, PHRASES, Said, assistant, tool_results, user

from skillcue import GateSettings, PushSettings, SkillCue, StaticSource
from skillcue.loading import PAGE_CHARS
from skillcue.push.messages import view_messages
from skillcue.push.turn import load_marks, user_turns
from skillcue_hooks import Skill

TOMATO, COMPOST, SEEDS = PHRASES[:3]
TOMATO_ID = "tomato-pruning@tomato-pruning"

every_framework = pytest.mark.parametrize("framework", FRAMEWORKS, ids=repr)


@pytest.fixture
def cue(garden):
    with SkillCue(garden, mode="bm25") as cue:
        yield cue


def page(cue: SkillCue, name: str, page: int = 1) -> str:
    """What the load tool answers."""
    return cue.tools().load(name, page=page).text


def offered(cue: SkillCue, messages: list[Any], load_tool: str | None = "skill_load") -> list[str]:
    plan = cue.advisor(load_tool).plan(messages)
    assert "failed" not in plan.advice.reason
    return [hit.skill.name for hit in plan.advice.hits]


@every_framework
def test_a_result_of_an_earlier_turn_is_not_offered(cue, framework):
    said = [user("yes"), *tool_results(("L1", page(cue, "tomato-pruning"))), assistant()]
    assert offered(cue, framework.messages([*said, user(TOMATO)])) == []
    cleared = [Said(s.role, "[cleared]", call=s.call) if s.call else s for s in said]
    assert offered(cue, framework.messages([*cleared, user(TOMATO)])) == ["tomato-pruning"]


@every_framework
@pytest.mark.parametrize("kept", [40, 120, 240])
def test_a_result_that_was_cut_to_its_beginning_is_gone(garden, framework, kept):
    path = garden / "tomato-pruning" / "SKILL.md"
    path.write_text(path.read_text("utf-8") + "Pinch out, water, wait.\n" * 100, "utf-8")
    with SkillCue(garden, mode="bm25") as cue:
        text = page(cue, "tomato-pruning")
        cut = f"{text[: text.index(']') + kept]} ..."
        for result, expected in ((text, []), (cut, ["tomato-pruning"])):
            said = [user("yes"), *tool_results(("L1", result)), assistant(), user(TOMATO)]
            assert offered(cue, framework.messages(said)) == expected
        messages = FRAMEWORKS[0].messages([user("yes"), *tool_results(("L1", cut))])
        again = cue.tools().load("tomato-pruning", messages=messages).text
        assert again.count("Pinch out, water, wait.") == 100


@every_framework
def test_a_body_that_was_loaded_page_by_page(garden, framework):
    path = garden / "tomato-pruning" / "SKILL.md"
    path.write_text(path.read_text("utf-8") + "Pinch out, water.\n" * 4_000, "utf-8")
    with SkillCue(garden, mode="bm25") as cue:
        first, second = page(cue, "tomato-pruning"), page(cue, "tomato-pruning", 2)
        assert len(second) > PAGE_CHARS // 2
        for results, expected in (
            ([first], []),
            ([first, second], []),
            ([second], ["tomato-pruning"]),  # its beginning was compacted away
        ):
            calls = [(f"L{number}", text) for number, text in enumerate(results)]
            said = [user("yes"), *tool_results(*calls), assistant(), user(TOMATO)]
            assert offered(cue, framework.messages(said)) == expected


def test_a_body_that_was_edited_since_is_offered_again(cue, garden):
    said = [user("yes"), *tool_results(("L1", page(cue, "tomato-pruning"))), assistant()]
    messages = FRAMEWORKS[0].messages([*said, user(TOMATO)])
    assert offered(cue, messages) == []
    path = garden / "tomato-pruning" / "SKILL.md"
    path.write_text(path.read_text("utf-8") + "Water in the morning.\n", "utf-8")
    cue.refresh()
    assert offered(cue, messages) == ["tomato-pruning"]


READY = GateSettings(max_false_push=0.5)
"""What is measured is not whether the gate opens."""


def test_equal_names_of_two_sources_are_two_skills():
    text = "Prune tomato side shoots on a trellis"
    mine = Skill("", "pruning", text, body="My way.", content_hash="a" * 64)
    theirs = Skill("", "pruning", f"{text} in winter", body="Their way.", content_hash="b" * 64)
    sources = [StaticSource("mine", [mine]), StaticSource("theirs", [theirs])]
    with SkillCue(sources, mode="bm25", push=PushSettings(k=1, gate=READY)) as cue:
        first, second = cue.list()
        assert first.name == second.name and first.id != second.id
        said = [user("yes"), *tool_results(("L1", page(cue, first.id))), assistant(), user(text)]
        plan = cue.advisor("skill_load").plan(FRAMEWORKS[0].messages(said))
        assert plan.advice.turn.visible_skills == {first.id}
        assert [hit.skill.id for hit in plan.advice.hits] == [second.id]


# agents of the ReAct kind


def action(tool: str = "skill_load") -> str:
    return f"Thought: I need it.\nAction: {tool}\nAction Input: {{'name': 'tomato-pruning'}}"


def whole_text(cue: SkillCue, tool: str = "skill_load") -> list[Said]:
    """As LlamaIndex remembers a turn: everything in one message of the assistant."""
    observed = f"{action(tool)}\nObservation: {page(cue, 'tomato-pruning')}"
    return [assistant(f"{observed}\nThought: I can answer.\nAnswer: Pinch them out.")]


def two_voices(cue: SkillCue, tool: str = "skill_load") -> list[Said]:
    """As it is said to the model: what a tool answered stands in user position."""
    observation = user(f"Observation: {page(cue, 'tomato-pruning')}")
    return [assistant(action(tool)), observation, assistant("Pinch them out.")]


@every_framework
@pytest.mark.parametrize("transcript", [whole_text, two_voices])
def test_what_a_react_agent_loaded_is_not_offered_again(cue, framework, transcript):
    said = [user("yes"), *transcript(cue), user(TOMATO)]
    assert offered(cue, framework.messages(said)) == []
    other = [user("yes"), *transcript(cue, "web_search"), user(TOMATO)]
    assert offered(cue, framework.messages(other)) == ["tomato-pruning"]


def test_an_observation_is_nobodys_turn(cue):
    messages = FRAMEWORKS[0].messages([user(TOMATO), *two_voices(cue)[:2]])
    plan = cue.advisor("skill_load").plan(messages)
    assert [position for position, _ in plan.placements] == [0]
    spoken = FRAMEWORKS[0].messages([assistant("Look!"), user("Observation: it rains")])
    assert [turn.text for turn in user_turns(view_messages(spoken), 0)] == ["Observation: it rains"]


def test_a_summary_that_quotes_a_load_is_not_the_load(cue):
    mark = page(cue, "tomato-pruning").partition("\n")[0]
    for text in (f"So far: {mark}", mark, f"{action()}\nObservation: {mark}\nThought: done"):
        for said in (Said("user", text, made=True), Said("system", text), assistant(text)):
            messages = FRAMEWORKS[0].messages([said, user(TOMATO)])
            assert offered(cue, messages) == ["tomato-pruning"]


def test_marks_tell_where_they_stand(cue):
    said = [user("yes"), *whole_text(cue), *tool_results(("L1", page(cue, "compost-heap")))]
    marks = [*load_marks(view_messages(FRAMEWORKS[0].messages(said)), "skill_load")]
    assert [(m.skill_id, m.position) for m in marks] == [
        (TOMATO_ID, 1),
        ("compost-heap@compost-heap", 3),
    ]


# histories without ids, trimmed from the front


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=repr)
def test_records_find_their_turns_after_the_history_was_trimmed(cue, framework):
    said = [
        one for text in (COMPOST, TOMATO, "Thanks!", SEEDS) for one in (user(text), assistant())
    ]
    before = cue.advisor("skill_load").plan(framework.messages(said[:-1]))
    records = {
        key: [record[0], "bee-hotel@bee-hotel"] if "seed-catalogue@" in str(record) else record
        for key, record in before.records.items()
    }  # something that would not be decided now
    trimmed = framework.messages([*said[2:], user("Thanks again!")])
    after = cue.advisor("skill_load").plan(trimmed, records=records)
    assert [position for position, _ in after.placements] == [4]
    assert "- bee-hotel:" in after.placements[0][1]


def test_records_of_an_earlier_version_are_read(cue):
    """It named messages without an id by position and text."""
    messages = [{"role": "user", "content": "yes"}]
    records = {"0:8a798890fe": ["bm25", "bee-hotel@bee-hotel"]}
    plan = cue.advisor("skill_load").plan(messages, records=records)
    assert "bee-hotel" in plan.placements[0][1]
    assert cue.advisor("skill_load").plan(messages, records=plan.records).placements == (
        plan.placements
    )


# user messages in a row


@pytest.mark.parametrize("framework", FRAMEWORKS[:2], ids=repr)  # LlamaIndex has no ids
def test_advice_stays_with_a_message_that_was_sent_before(cue, framework):
    """The model call failed, or the user said more before it answered."""
    said = [user(TOMATO, id="m1"), user("I mean the ones in pots", id="m2")]
    first = cue.advisor("skill_load").plan(framework.messages(said[:1]))
    second = cue.advisor("skill_load").plan(framework.messages(said), records=first.records)
    assert second.placements[: len(first.placements)] == first.placements
    third = framework.messages([*said, assistant(), user("Thanks!", id="m3")])
    again = cue.advisor("skill_load").plan(third, records=second.records)
    assert again.placements == second.placements


def test_messages_that_come_together_are_one_turn(cue):
    said = [user(TOMATO, id="m1"), user("The ones in pots", id="m2")]
    plan = cue.advisor("skill_load").plan(FRAMEWORKS[0].messages(said))
    assert [position for position, _ in plan.placements] == [1]
