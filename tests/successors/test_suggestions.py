"""What is said after a load, to whom, and to whom it is not."""

from __future__ import annotations

import pytest
from support.policies import Policy

from skillcue import FolderSource, SkillCue
from skillcue.successors import NextSettings
from skillcue.successors.model import is_control
from skillcue.telemetry.facts import session_hash
from skillcue.telemetry.reading import read_events
from skillcue.telemetry.stats import sum_up
from skillcue_hooks.errors import ConfigurationError, SkillNotFoundError

LINE = "Often loaded next: reconcile (does reconcile &lt;things&gt;)"


def names(found):
    return [(item.skill.name, item.why) for item in found]


# the answer of the load tool


def test_the_answer_of_the_load_tool_ends_with_what_comes_next(opened, skills):
    answer = opened(skills).tools().load("extract")
    assert answer.text.endswith(f"Body of extract\n\n{LINE}")
    assert answer.data["next"] == [{"id": "reconcile@reconcile", "why": "Often loaded next"}]


def test_where_nothing_is_known_the_answer_is_as_without(opened, skills):
    on = opened(skills).tools().load("report")
    with SkillCue(skills, mode="bm25") as cue:
        off = cue.tools().load("report")
    assert on.text == off.text
    assert (on.data["next"], "next" in off.data) == ([], False)


def test_it_is_off_unless_asked_for(events, skills):
    with SkillCue(skills, mode="bm25", events=events, wait=True) as cue:
        answer = cue.tools().load("extract")
        with pytest.raises(ConfigurationError, match="next_skills is off"):
            cue.next_skills("extract")
    assert "Often" not in answer.text and "next" not in answer.data


def test_files_and_further_pages_say_nothing_of_it(opened, skills):
    (skills / "extract" / "notes.md").write_text("notes\n" * 10_000, "utf-8")
    tools = opened(skills).tools()
    for answer in (tools.load("extract", "notes.md"), tools.load("extract", "notes.md", 2)):
        assert not answer.error and "Often" not in answer.text and "next" not in answer.data


def test_what_stands_in_the_conversation_is_not_suggested(opened, skills):
    tools = opened(skills).tools("my_")
    said = tools.load("reconcile").text
    messages = [
        {"role": "user", "content": "go on"},
        {"role": "tool", "name": "my_skill_load", "content": said},
    ]
    assert "Often" not in tools.load("extract", messages=messages).text
    assert "Often" in tools.load("extract", messages=messages[:1]).text


def test_what_is_loaded_already_is_not_followed_by_anything(opened, skills):
    tools = opened(skills).tools()
    messages = [{"role": "tool", "name": "skill_load", "content": tools.load("extract").text}]
    again = tools.load("extract", messages=messages)
    assert "already loaded" in again.text and "Often" not in again.text


def test_a_failure_does_not_fail_the_load(opened, skills, caplog, monkeypatch):
    cue = opened(skills)
    monkeypatch.delattr(cue._successors, "_model")  # stands for any fault of ours
    answer = cue.tools().load("extract")
    monkeypatch.undo()
    assert not answer.error and answer.text.endswith("Body of extract")
    assert "suggesting what comes after" in caplog.text


def test_the_same_in_langchain_as_text_and_artifact(opened, skills):
    pytest.importorskip("langchain_core")
    from skillcue.langchain import skill_tools

    load = next(tool for tool in skill_tools(opened(skills)) if tool.name == "skill_load")
    call = {"name": "skill_load", "args": {"name": "extract"}, "id": "1", "type": "tool_call"}
    message = load.invoke(call)
    assert message.content.endswith(LINE)
    assert message.artifact["next"][0]["id"] == "reconcile@reconcile"


# who may see what


def test_a_policy_hides_what_it_hides_everywhere(opened, skills):
    cue = opened(skills, plugins=[Policy()])
    assert names(cue.next_skills("extract")) == [("reconcile", "Often loaded next")]
    assert cue.next_skills("extract", run_context={"hide": ["reconcile"]}) == ()
    with pytest.raises(SkillNotFoundError):
        cue.next_skills("extract", run_context={"hide": ["extract"]})


@pytest.mark.parametrize("kind", ["untrusted", "hidden from models", "without a description"])
def test_what_push_must_not_offer_is_not_suggested(opened, write, kind):
    rest = write({"extract": "requires: reconcile\n", "report": ""})
    sources = [FolderSource(rest, trust="trusted")]
    if kind == "untrusted":
        folder = write({"reconcile": ""}, "elsewhere")
        sources.append(FolderSource(folder, trust="untrusted"))
    elif kind == "hidden from models":
        write({"reconcile": "disable-model-invocation: true\n"})
    else:
        place = write({"reconcile": ""}) / "reconcile" / "SKILL.md"
        place.write_text("---\nname: reconcile\n---\n# Title\n", "utf-8")
    cue = opened(sources)
    assert cue.load("reconcile").skill.name == "reconcile"
    assert cue.next_skills("extract") == ()


def test_words_of_a_description_are_escaped_and_short(opened, skills):
    place = skills / "reconcile" / "SKILL.md"
    words = "<b>it</b>\\nreconciles " + "very " * 60
    place.write_text(f'---\nname: reconcile\ndescription: "{words}"\n---\nBody\n', "utf-8")
    line = opened(skills).tools().load("extract").text.splitlines()[-1]
    assert line.startswith("Often loaded next: reconcile (&lt;b&gt;it&lt;/b&gt; reconciles very")
    assert len(line) < 250


# what skill files say


def test_relations_are_shown_as_what_they_are(opened, write):
    folder = write(
        {
            "extract": "requires: setup\nalternative-to: other\nprecedes: reconcile\n",
            **{name: "" for name in ("reconcile", "report", "other", "setup")},
        }
    )
    cue = opened(folder)
    assert names(cue.next_skills("extract")) == [
        ("setup", "Requires"),
        ("reconcile", "Comes next"),
        ("other", "Alternative"),
    ]
    assert cue.tools().load("extract").text.splitlines()[-3:] == [
        "Requires: setup (does setup &lt;things&gt;)",
        "Comes next: reconcile (does reconcile &lt;things&gt;)",
        "Alternative: other (does other &lt;things&gt;)",
    ]
    assert names(cue.next_skills("other")) == [("extract", "Alternative")]


def test_relations_need_no_events(write):
    folder = write({"a": "requires: b\n", "b": ""})
    with SkillCue(folder, mode="bm25", next_skills=NextSettings(learn=False)) as cue:
        assert names(cue.next_skills("a")) == [("b", "Requires")]


def test_learning_without_events_says_what_to_do(skills):
    for spec in (True, NextSettings()):
        with pytest.raises(ConfigurationError, match="none are stored") as caught:
            SkillCue(skills, next_skills=spec)
        assert "events=" in caught.value.cure and "learn=False" in caught.value.cure
    with pytest.raises(ConfigurationError, match="next_skills is a str"):
        SkillCue(skills, next_skills="yes")


def test_few_are_named_for_one_relation(write):
    others = [f"s{i}" for i in range(9)]
    folder = write({"a": f"complements: [{', '.join(others)}]\n", **dict.fromkeys(others, "")})
    with SkillCue(folder, mode="bm25", next_skills=NextSettings(learn=False)) as cue:
        assert names(cue.next_skills("a")) == [(f"s{i}", "Goes with") for i in range(5)]


# it is measured, and kept apart


def test_in_control_conversations_nothing_learned_is_shown(opened, write):
    folder = write({"extract": "requires: setup\n", "setup": "", "reconcile": "", "report": ""})
    cue = opened(folder, next_skills=NextSettings(control=0.5))
    shown = {}
    for number in range(40):
        context = {"thread_id": str(number)}
        control = is_control(session_hash(context), 0.5)
        found = cue.next_skills("extract", run_context=context)
        assert found == cue.next_skills("extract", run_context=context)
        assert ("setup", "Requires") in names(found)
        shown[number] = (control, len(found))
    assert set(shown.values()) == {(True, 1), (False, 2)}


def test_the_share_of_control_conversations_is_as_set():
    found = sum(is_control(f"{number:016x}", 0.1) for number in range(10_000))
    assert 900 < found < 1_100
    assert not any(is_control(f"{number:016x}", 0.0) for number in range(100))


def test_what_was_shown_is_stored_and_no_statistic_counts_it_as_anything_else(
    opened, skills, events
):
    before = sum_up(read_events(events))
    cue = opened(skills)
    cue.next_skills("extract", run_context={"thread_id": "new"})
    cue.next_skills("report", run_context={"thread_id": "new"})
    cue.close()
    (event,) = [event for event in read_events(events) if event.kind == "next"]
    assert event.skills == ("extract@extract", "reconcile@reconcile")
    assert event.session == session_hash({"thread_id": "new"})
    assert sum_up(read_events(events)) == before


def test_relations_alone_are_no_suggestion_that_has_to_be_measured(write, opened, events):
    folder = write({"extract": "precedes: reconcile\n", "reconcile": "", "report": ""})
    cue = opened(folder)
    assert cue.next_skills("extract", run_context={"thread_id": "new"})
    cue.close()
    assert all(event.kind != "next" for event in read_events(events))


@pytest.mark.parametrize("mode", ["bm25", "skillsight", "hybrid"])
def test_no_ranking_changes_by_a_byte(opened, write, mode):
    """However strong what was learned is, and whatever files say."""
    folder = write(
        {
            "extract": "precedes: reconcile\nalternative-to: other\n",
            **{name: "" for name in ("reconcile", "report", "other", "setup")},
        }
    )
    queries = ("extract things", "does reconcile", "report", "nothing of the sort", "things")
    asked = [{"role": "user", "content": "does extract things"}]
    context = {"thread_id": "1"}

    def rankings(cue):
        cue.tools().load("extract", run_context=context)
        for query in queries:
            found = cue.lookup(query, run_context=context)
            assert found.degraded is None
            yield [(hit.skill.id, hit.score, hit.rank, dict(hit.signals)) for hit in found.hits]
        yield cue.advise(asked, run_context=context).text
        yield cue.tools().lookup("does things", run_context=context).text

    on = opened(folder, mode=mode)
    assert len(on.next_skills("extract")) == 2
    with SkillCue(folder, mode=mode, wait=True) as off:
        assert repr(list(rankings(on))) == repr(list(rankings(off)))
