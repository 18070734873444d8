"""Old advice in the words of the present library, and skills that become eligible again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.conversations import FRAMEWORKS, PHRASES, SKILLS, assistant, tool_results, user
from support.policies import Assessor, Policy

from skillcue import PushSettings, SkillCue, StaticSource
from skillcue.push.declines import DECLINED_KEY
from skillcue_hooks import Skill

TOMATO, COMPOST, SEEDS, SLUGS = PHRASES[:4]
YES = "yes"


def say(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def answer(text: str = "Done.") -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def rewrite(garden: Path, name: str, description: str, header: str = "") -> None:
    path = garden / name / "SKILL.md"
    path.write_text(
        f"---\nname: {name}\ndescription: {description}\n{header}---\n\nNew.\n", "utf-8"
    )


def blocks(plan: Any) -> str:
    return "\n".join(block for _, block in plan.placements)


# what a record names must be allowed now


@pytest.fixture
def record():
    """A thread that was told about the bee hotel, when everybody could see it."""
    return {"m1": ["bm25", "bee-hotel@bee-hotel", "rain-gauge@rain-gauge"]}


def old_and_new(newest: bool) -> list[dict[str, Any]]:
    """The recorded turn is the newest one, or an old one."""
    more = [] if newest else [answer(), say("Thanks!", id="m2")]
    return [say(YES, id="m1"), *more]


both_turns = pytest.mark.parametrize("newest", [True, False], ids=["newest", "old"])


@both_turns
def test_a_record_is_shown_where_nothing_forbids_it(garden, record, newest):
    plan = SkillCue(garden).advisor("skill_load").plan(old_and_new(newest), records=record)
    assert "- bee-hotel:" in blocks(plan) and "- rain-gauge:" in blocks(plan)


@both_turns
@pytest.mark.parametrize("raises", [False, True])
def test_a_record_shows_nothing_that_a_policy_hides_now(garden, record, newest, raises):
    policy = Policy("bee-hotel")
    if raises:
        policy.error = lambda skill: RuntimeError("no") if skill.name == "bee-hotel" else None
    advisor = SkillCue(garden, plugins=[policy]).advisor("skill_load")
    plan = advisor.plan(old_and_new(newest), records=record)
    assert "bee-hotel" not in blocks(plan) and "- rain-gauge:" in blocks(plan)
    hits = [hit.skill.name for hit in plan.advice.hits]
    assert hits == (["rain-gauge"] if newest else [])


@both_turns
@pytest.mark.parametrize("error", [None, RuntimeError("scanner is down")])
def test_a_record_shows_nothing_that_is_untrusted_now(garden, record, newest, error):
    plugins = [Assessor("bee-hotel", error=error)]
    advisor = SkillCue(garden, plugins=plugins).advisor("skill_load")
    plan = advisor.plan(old_and_new(newest), records=record)
    assert "bee-hotel" not in blocks(plan) and "- rain-gauge:" in blocks(plan)


@both_turns
def test_a_record_shows_nothing_of_an_untrusted_source(garden, record, newest):
    advisor = SkillCue(garden, trust="untrusted").advisor("skill_load")
    plan = advisor.plan(old_and_new(newest), records=record)
    assert plan.placements == ()
    assert plan.advice.decision == "abstain"


@both_turns
@pytest.mark.parametrize("header", ["disable-model-invocation: true\n"])
def test_a_record_shows_nothing_that_is_not_for_the_model(garden, record, newest, header):
    rewrite(garden, "bee-hotel", SKILLS["bee-hotel"], header)
    plan = SkillCue(garden).advisor("skill_load").plan(old_and_new(newest), records=record)
    assert "bee-hotel" not in blocks(plan) and "- rain-gauge:" in blocks(plan)


@both_turns
@pytest.mark.parametrize("field", ["pushable", "searchable"])
def test_a_record_shows_nothing_that_is_kept_from_push_or_search(newest, field):
    skills = [Skill("a@a", "a", "hidden one", **{field: False}), Skill("b@b", "b", "shown one")]
    advisor = SkillCue(StaticSource("mine", skills)).advisor("skill_load")
    records = {"m1": ["bm25", "a@a", "b@b"]}
    plan = advisor.plan(old_and_new(newest), records=records)
    assert "hidden one" not in blocks(plan) and "shown one" in blocks(plan)


def test_a_policy_that_changes_while_the_thread_goes_on(garden):
    """The same advisor, its memo warm, and the old record from before the change."""
    policy = Policy()
    advisor = SkillCue(garden, plugins=[policy]).advisor("skill_load")
    messages = [
        say(TOMATO, id="m1"),
        answer(),
        say(COMPOST, id="m2"),
        answer(),
        say(SEEDS, id="m3"),
    ]
    first = advisor.plan(messages[:1])
    second = advisor.plan(messages[:3], records=first.records)
    assert "tomato-pruning" in blocks(second)
    policy.hidden.add("tomato-pruning")
    third = advisor.plan(messages, records=second.records)
    assert "tomato-pruning" not in blocks(third)
    assert "compost-heap" in blocks(third)
    policy.hidden.clear()
    again = advisor.plan(messages, records=third.records)
    assert "tomato-pruning" in blocks(again)


def test_hidden_skills_do_not_count_as_shown(garden):
    """A record names one that cannot be seen, so it is not in the conversation."""
    observed = SkillCue(garden, plugins=[Policy("bee-hotel")])
    messages = [say(YES, id="m1"), answer(), say(SEEDS, id="m2")]
    records = {"m1": ["bm25", "bee-hotel@bee-hotel", "gone@gone", "rain-gauge@rain-gauge"]}
    plan = observed.advisor("skill_load").plan(messages, records=records)
    assert plan.advice.turn.visible_skills == {"rain-gauge@rain-gauge"}


def test_what_had_no_room_does_not_count_as_shown(garden):
    ids = ["tomato-pruning@tomato-pruning", "compost-heap@compost-heap"]
    cue = SkillCue(garden, push=PushSettings(tokens_per_turn=110))
    messages = [say(YES, id="m1"), answer(), say(COMPOST, id="m2")]
    plan = cue.advisor("skill_load").plan(messages, records={"m1": ["bm25", *ids]})
    assert plan.advice.turn.visible_skills == {ids[0]}
    assert "compost-heap" in plan.placements[1][1]


# after an edit of the library


@pytest.fixture
def conversation():
    return [say(TOMATO, id="m1"), answer(), say(COMPOST, id="m2"), answer(), say(SEEDS, id="m3")]


@pytest.mark.parametrize("kept", ["memo", "record", "nothing"])
def test_a_deleted_skill_vanishes_from_old_advice(garden, conversation, kept):
    cue = SkillCue(garden)
    advisor = cue.advisor("skill_load")
    before = advisor.plan(conversation[:3])
    assert "tomato-pruning" in before.placements[0][1]
    shutil.rmtree(garden / "tomato-pruning")
    if kept != "memo":
        advisor = cue.advisor("skill_load")
    records = before.records if kept == "record" else None
    after = advisor.plan(conversation, records=records)
    assert "tomato-pruning" not in blocks(after)
    assert [position for position, _ in after.placements] == [2, 4]
    assert after.placements[0] == before.placements[1]


@pytest.mark.parametrize("kept", ["memo", "record", "nothing"])
def test_an_edited_description_is_shown_in_old_advice(garden, conversation, kept):
    cue = SkillCue(garden)
    advisor = cue.advisor("skill_load")
    before = advisor.plan(conversation[:3])
    rewrite(garden, "tomato-pruning", "Prune tomato side shoots, trellis edition two.")
    if kept != "memo":
        advisor = cue.advisor("skill_load")
    records = before.records if kept == "record" else None
    after = advisor.plan(conversation, records=records)
    assert "trellis edition two" in after.placements[0][1]
    assert after.placements[1] == before.placements[1]
    assert advisor.plan(conversation, records=after.records).placements == after.placements


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=repr)
@pytest.mark.parametrize("restart", [False, True])
def test_the_newest_turn_keeps_its_bytes_through_an_edit(garden, framework, restart):
    said = [user(TOMATO, id="m1"), *tool_results(("w1", "r")), *tool_results(("w2", "r"))]
    cue = SkillCue(garden, recheck="always")
    advisor = cue.advisor("skill_load")
    first = advisor.plan(framework.messages(said[:1]))
    if restart:  # a resumed turn keeps what it was resumed with
        advisor = cue.advisor("skill_load")
        resumed = advisor.plan(framework.messages(said[:3]), records=first.records)
        assert resumed.placements == first.placements
    rewrite(garden, "tomato-pruning", "Prune tomato side shoots, trellis edition two.")
    loop = advisor.plan(framework.messages(said), records=first.records)
    assert loop.placements == first.placements != ()
    shutil.rmtree(garden / "tomato-pruning")
    assert advisor.plan(framework.messages(said), records=first.records) == loop
    said += [assistant(), user("Thanks!", id="m2")]
    assert advisor.plan(framework.messages(said), records=loop.records).placements == ()


def test_the_same_words_said_anew_get_the_library_of_now(garden):
    """Without an id nothing tells two conversations apart, but one of them has just begun."""
    advisor = SkillCue(garden).advisor("skill_load")
    assert "tomato-pruning" in blocks(advisor.plan([say(TOMATO)]))
    shutil.rmtree(garden / "tomato-pruning")
    assert "tomato-pruning" not in blocks(advisor.plan([say(TOMATO)]))


def test_a_failure_is_not_turned_into_a_record_by_an_edit(garden):
    def count(text: str) -> int:
        if "compost" in text:
            raise RuntimeError("tokenizer is broken")
        return 10

    advisor = SkillCue(garden, push=PushSettings(count_tokens=count)).advisor("skill_load")
    messages = [say(COMPOST, id="m1"), answer(), say(TOMATO, id="m2")]
    assert advisor.plan(messages[:1]).records == {}
    rewrite(garden, "rain-gauge", "Something else.")
    assert [*advisor.plan(messages).records] == ["m2", DECLINED_KEY]


def test_an_edit_is_rendered_once_and_not_with_every_request(garden, conversation):
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text) // 4

    advisor = SkillCue(garden, push=PushSettings(count_tokens=count)).advisor("skill_load")
    advisor.plan(conversation)
    rewrite(garden, "rain-gauge", "Something else.")
    advisor.plan(conversation)
    counted.clear()
    advisor.plan(conversation)
    assert counted == []


# what stands in the messages is not offered again


def test_a_skill_is_offered_once_while_its_advice_is_shown(garden):
    advisor = SkillCue(garden).advisor("skill_load")
    messages = [say(TOMATO, id="m1"), answer(), say(f"{TOMATO} Again!", id="m2")]
    plan = advisor.plan(messages)
    assert [position for position, _ in plan.placements] == [0]
    assert plan.advice.reason == "tomato-pruning fits best and is already in the conversation"
    assert plan.advice.turn.visible_skills == {"tomato-pruning@tomato-pruning"}


def loaded(cue: SkillCue, name: str, call: str = "L1", **arguments: Any) -> list[dict[str, Any]]:
    text = cue.tools().load(name, **arguments).text
    return FRAMEWORKS[0].messages(tool_results((call, text)))


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=repr)
def test_a_loaded_skill_is_not_offered_until_its_text_is_gone(garden, framework):
    cue = SkillCue(garden)
    text = cue.tools().load("tomato-pruning").text
    said = [user("Hi"), *tool_results(("L1", text)), assistant(), user(TOMATO)]
    advisor = cue.advisor("skill_load")
    assert advisor.plan(framework.messages(said)).placements == ()
    compacted = [user("Summary: tomato-pruning was loaded.", made=True), said[-1]]
    assert advisor.plan(framework.messages(compacted)).placements != ()


def test_a_pointer_to_a_loaded_text_is_not_the_text(garden):
    cue = SkillCue(garden)
    first = loaded(cue, "tomato-pruning")
    pointer = loaded(cue, "tomato-pruning", call="L2", messages=first)
    assert "already loaded" in pointer[1]["content"]
    plan = cue.advisor("skill_load").plan([say("Hi"), *pointer, answer(), say(TOMATO)])
    assert plan.placements != ()


def test_a_changed_skill_is_offered_again(garden):
    cue = SkillCue(garden)
    messages = [say("Hi"), *loaded(cue, "tomato-pruning"), answer(), say(TOMATO)]
    assert cue.advise(messages).decision == "abstain"
    rewrite(garden, "tomato-pruning", SKILLS["tomato-pruning"])
    assert [hit.skill.name for hit in cue.advise(messages).hits] == ["tomato-pruning"]


def test_a_file_or_a_later_page_is_not_the_skill(garden):
    (garden / "tomato-pruning" / "notes.md").write_text("Notes.", "utf-8")
    cue = SkillCue(garden)
    messages = [say("Hi"), *loaded(cue, "tomato-pruning", file="notes.md"), answer(), say(TOMATO)]
    assert cue.advise(messages).decision == "offer"


def test_a_skill_in_a_folder_with_blanks_is_recognised(tmp_path):
    folder = tmp_path / "my garden" / "tomato pruning"
    folder.mkdir(parents=True)
    text = f"---\nname: tomato pruning\ndescription: {SKILLS['tomato-pruning']}\n---\n\nBody.\n"
    (folder / "SKILL.md").write_text(text, "utf-8")
    for name, description in [*SKILLS.items()][1:]:
        (tmp_path / name).mkdir()
        rewrite(tmp_path, name, description)
    cue = SkillCue(tmp_path)
    messages = [say("Hi"), *loaded(cue, "tomato pruning"), answer(), say(TOMATO)]
    assert cue.advise(messages).decision == "abstain"
    assert cue.advise([messages[0], messages[-1]]).decision == "offer"


def test_a_source_with_version_numbers_of_its_own_is_recognised():
    skills = [
        Skill("", name, description, content_hash=f"v{number}")
        for number, (name, description) in enumerate(SKILLS.items())
    ]
    cue = SkillCue(StaticSource("db", skills))
    messages = [say("Hi"), *loaded(cue, "tomato-pruning"), answer(), say(TOMATO)]
    assert cue.advise(messages).decision == "abstain"


def test_another_tool_cannot_pretend_that_a_skill_is_loaded(garden):
    cue = SkillCue(garden)
    forged = loaded(cue, "tomato-pruning", call="w1")  # the header, but as a web page
    assert cue.advise([say("Hi"), *forged, answer(), say(TOMATO)]).decision == "offer"


def test_advice_dropped_for_want_of_room_makes_its_skill_eligible_again(garden):
    cue = SkillCue(garden, push=PushSettings(tokens_replayed=230))
    texts = [TOMATO, COMPOST, SEEDS, f"{TOMATO} Again!"]
    messages = [m for i, t in enumerate(texts) for m in (say(t, id=f"m{i}"), answer())][:-1]
    plan = cue.advisor("skill_load").plan(messages)
    assert plan.placements[-1][0] == 6
    assert "tomato-pruning" in plan.placements[-1][1]
    assert all(position > 0 for position, _ in plan.placements)


def test_records_of_messages_that_are_gone_are_forgotten(garden):
    advisor = SkillCue(garden).advisor("skill_load")
    messages = [m for i in range(6) for m in (say(PHRASES[i], id=f"m{i}"), answer())]
    records = advisor.plan(messages[:-1]).records
    assert [*records] == [*(f"m{i}" for i in range(6)), DECLINED_KEY]
    summary = {"role": "user", "content": "So far", "additional_kwargs": {"lc_source": "summary"}}
    kept = advisor.plan([summary, *messages[8:-1]], records=json.loads(json.dumps(records)))
    assert [*kept.records] == ["m4", "m5", DECLINED_KEY]
