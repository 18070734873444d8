"""Refined skills by name: in pull, in push, in other processes, and beside the library's names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.conversations import FRAMEWORKS
from support.policies import Policy
from support.refining import TASK, FixedModel, command, draft, finish, good_script, write_skills

from skillcue import SkillCue
from skillcue_hooks.errors import AmbiguousNameError, SkillNotFoundError

PDF = "pdf-tables@pdf-tables"
OTHER = "Extract the tables of the yearly pdf report and merge them into one workbook"
UNRELATED = "Now write release notes from the commits"


def script(*names: str) -> list[str]:
    """A refinement for each name, made of one skill."""
    made: list[str] = []
    for name in names:
        body = f"{len(made)}. Extract the tables."
        made += [command("detail", skill=PDF), finish(draft(name, PDF, body=body))]
    return made


def open_cue(skills: Path, answers: list[Any], **options: Any) -> SkillCue:
    modes = {"refine": {"base": "bm25"}}
    return SkillCue(skills, llm=FixedModel(answers), mode="bm25", modes=modes, **options)


def user(*texts: str) -> list[dict[str, str]]:
    messages: list[dict[str, str]] = []
    for text in texts:
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": "Done."}]
    return messages[:-1]


@pytest.mark.parametrize("cache", [False, "folder"])
def test_the_bare_name_loads_what_was_shown(skills: Path, tmp_path: Path, cache: Any) -> None:
    folder = tmp_path / "cache" if cache else False
    with open_cue(skills, good_script(), cache=folder) as cue:
        with pytest.raises(SkillNotFoundError):
            cue.load("pdf-to-workbook")
        skill = cue.lookup(TASK, mode="refine").hits[0].skill
        assert cue.load("pdf-to-workbook").skill == cue.load(skill.id).skill == skill
        assert cue.load(" PDF to workbook ").skill == skill
        answer = cue.tools().load("pdf-to-workbook")
        assert answer.data["skill"] == skill.id
    with SkillCue(skills, mode="bm25", cache=folder) as again:
        if cache:
            assert again.load("pdf-to-workbook").skill == skill
        else:
            with pytest.raises(SkillNotFoundError):
                again.load("pdf-to-workbook")


def test_what_is_listed_says_name_and_id_and_both_load(skills: Path) -> None:
    with open_cue(skills, good_script()) as cue:
        tools = cue.tools()
        answer = tools.lookup(TASK, mode="refine")
        first = answer.data["hits"][0]
        assert f"1. {first['id']} (pdf-to-workbook): Extract the tables" in answer.text
        by_name, by_id = tools.load("pdf-to-workbook"), tools.load(first["id"])
        assert by_name == by_id
        assert not by_name.error


def test_library_names_win(skills: Path, tmp_path: Path) -> None:
    with open_cue(skills, script("sql-slow"), cache=tmp_path / "cache") as cue:
        hits = cue.lookup(TASK, k=20, mode="refine").hits
        skill = hits[0].skill
        assert skill.name == f"sql-slow-{skill.id.removeprefix('refined:')[:6]}"
        assert len({hit.skill.name for hit in hits}) == len(hits)
        assert cue.load("sql-slow").skill.id == "sql-slow@sql-slow"
        assert cue.load(skill.name).skill == cue.load(skill.id).skill == skill
        assert cue.refinement(TASK).skills == (skill,)
    with SkillCue(skills, mode="bm25", cache=tmp_path / "cache") as again:
        assert again.load(skill.name).skill == again.load(skill.id).skill == skill
        assert again.load("sql-slow").skill.id == "sql-slow@sql-slow"


def test_a_name_is_given_up_for_a_skill_that_comes_later(skills: Path) -> None:
    with open_cue(skills, script("chart-maker")) as cue:
        skill = cue.lookup(TASK, mode="refine").hits[0].skill
        assert cue.load("Chart_Maker").skill == skill
        write_skills(skills, chart_maker=("Draw charts.", "Draw them."))
        cue.refresh()
        assert cue.load("chart-maker").skill.id == "chart-maker@chart-maker"
        now = cue.lookup(TASK, mode="refine").hits[0].skill
        assert (now.id, now.name) == (skill.id, f"chart-maker-{skill.id[8:14]}")
        (skills / "chart-maker" / "SKILL.md").unlink()
        cue.refresh()
        assert cue.lookup(TASK, mode="refine").hits[0].skill == skill


def test_long_names_stay_within_the_format(skills: Path) -> None:
    name = "-".join(["word"] * 12) + "-abcd"
    assert len(name) == 64
    write_skills(skills, **{name.replace("-", "_"): ("Long.", "Long.")})
    with open_cue(skills, script(name)) as cue:
        skill = cue.lookup(TASK, mode="refine").hits[0].skill
        assert len(skill.name) <= 64
        assert "--" not in skill.name
        assert skill.name.endswith(f"-{skill.id[8:14]}")
        assert cue.load(skill.name).skill == skill


def test_a_library_that_has_the_longer_name_too(skills: Path) -> None:
    with open_cue(skills, script("sql-slow")) as cue:
        skill = cue.lookup(TASK, mode="refine").hits[0].skill
        write_skills(skills, **{skill.name.replace("-", "_"): ("Taken.", "Taken.")})
        cue.refresh()
        longer = cue.lookup(TASK, mode="refine").hits[0].skill
        assert longer.name == f"sql-slow-{skill.id[8:15]}"
        assert cue.load(longer.name).skill == longer
        assert cue.load(skill.name).skill.id == f"{skill.name}@{skill.name}"


def test_a_name_of_several_is_answered_with_their_ids(skills: Path, tmp_path: Path) -> None:
    with open_cue(skills, script("tables", "tables"), cache=tmp_path / "cache") as cue:
        ids = sorted(cue.lookup(task, mode="refine").hits[0].skill.id for task in (TASK, OTHER))
        assert len({*ids}) == 2
        with pytest.raises(AmbiguousNameError, match="2 refined skills") as caught:
            cue.load("tables")
        assert caught.value.ids == tuple(ids)
        answer = cue.tools().load("tables")
        assert answer.error
        assert all(skill_id in answer.text for skill_id in ids)
    again = SkillCue(skills, mode="bm25", cache=tmp_path / "cache")
    with again, pytest.raises(AmbiguousNameError):
        again.load("tables")


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=repr)
def test_of_several_the_one_of_the_conversation_is_meant(skills: Path, framework: Any) -> None:
    from support.conversations import assistant
    from support.conversations import user as said_by_user

    with open_cue(skills, script("tables", "tables")) as cue:
        mine, other = (cue.lookup(t, mode="refine").hits[0].skill.id for t in (TASK, OTHER))
        talk = framework.messages([said_by_user(TASK), assistant(f"I found {mine}.")])
        assert cue.tools().load("tables", messages=talk).data["skill"] == mine
        both = framework.messages([said_by_user(TASK), assistant(f"I found {mine}, {other}.")])
        assert cue.tools().load("tables", messages=both).error


def test_a_bare_name_finds_nothing_of_another_policy(skills: Path, tmp_path: Path) -> None:
    """The text of a refined skill may tell what another tenant's task was."""
    policy = Policy()
    with open_cue(skills, good_script(), cache=tmp_path / "cache", plugins=[policy]) as cue:
        skill = cue.lookup(TASK, mode="refine", run_context={"hide": ["mail-reply"]}).hits[0].skill
        same = cue.load("pdf-to-workbook", run_context={"hide": ["mail-reply"]})
        assert same.skill.id == skill.id
        with pytest.raises(SkillNotFoundError):
            cue.load("pdf-to-workbook")
        assert cue.load(skill.id).skill.id == skill.id
    again = SkillCue(skills, mode="bm25", cache=tmp_path / "cache")
    with again, pytest.raises(SkillNotFoundError):
        again.load("pdf-to-workbook")


def test_a_hidden_skill_takes_no_name(skills: Path) -> None:
    with open_cue(skills, script("sql-slow"), plugins=[Policy("sql-slow")]) as cue:
        skill = cue.lookup(TASK, mode="refine").hits[0].skill
        assert skill.name == "sql-slow"
        assert cue.load("sql-slow").skill == skill


@pytest.mark.parametrize("name", ["..", "*", "a" * 65, "x.y", "pdf-to-workbook\0", "012345", ""])
def test_names_that_no_refined_skill_has(skills: Path, tmp_path: Path, name: str) -> None:
    with open_cue(skills, good_script(), cache=tmp_path / "cache") as cue:
        cue.lookup(TASK, mode="refine")
        with pytest.raises(SkillNotFoundError):
            cue.load(name)


# push


@pytest.mark.parametrize("words", ["Use the {} skill", "/{} please", "`{}` is what I want"])
def test_a_user_may_name_what_the_conversation_was_offered(skills: Path, words: str) -> None:
    with open_cue(skills, good_script()) as cue:
        name = cue.advise(user(TASK), mode="refine").hits[0].skill.name
        talk = user(TASK, UNRELATED, words.format(name))
        advice = cue.advise(talk, mode="refine")
        assert [hit.skill.name for hit in advice.hits] == ["pdf-to-workbook"]
        assert advice.reason.startswith("the user named pdf-to-workbook")


def test_a_user_may_refuse_it(skills: Path) -> None:
    with open_cue(skills, good_script()) as cue:
        cue.advise(user(TASK), mode="refine")
        advice = cue.advise(user(TASK, f"Don't use pdf-to-workbook. {TASK}"), mode="refine")
        assert advice.turn is not None
        assert len(advice.turn.declined) == 1
        assert "pdf-to-workbook" not in [hit.skill.name for hit in advice.hits]


def test_what_other_conversations_know_is_no_name_here(skills: Path, tmp_path: Path) -> None:
    with open_cue(skills, good_script(), cache=tmp_path / "cache") as cue:
        cue.lookup(TASK, mode="refine")
        advice = cue.advise(user("Use the pdf-to-workbook skill"))
        assert advice.turn is not None
        assert advice.turn.explicit == ()
