"""A refined skill that was offered twice and not loaded is demoted, as one of the library is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.refining import TASK, FixedModel, good_script

from skillcue import PushSettings, SkillCue
from skillcue.push.turn import LoadedMark, mark_loaded, skill_version

ASIDE = "Now write release notes from the commits"
AGAIN = "Extract tables of the pdf report, merge the sheets into one workbook"
ONE_BLOCK = PushSettings(tokens_replayed=150)
"""Room for the newest advice only, so that a skill can be offered again right away."""
TURNS = (TASK, ASIDE, AGAIN, ASIDE, AGAIN)


@pytest.fixture
def cue(skills: Path, tmp_path: Path) -> Any:
    modes = {"refine": {"base": "bm25"}}
    model = FixedModel(good_script())
    options = {"mode": "refine", "modes": modes, "cache": tmp_path / "cache", "push": ONE_BLOCK}
    with SkillCue(skills, llm=model, **options) as cue:  # type: ignore[arg-type]
        yield cue


def chat(*texts: str) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    for turn, text in enumerate(texts):
        said += [
            {"role": "user", "content": f"{text} ({turn})" if turn else text, "id": f"m{turn}"},
            {"role": "assistant", "content": "Done."},
        ]
    return said[:-1]


def plans(cue: SkillCue, said: list[dict[str, Any]], *, fresh: bool = False) -> list[Any]:
    """Every turn planned with the records of the last one; `fresh`: by a new process each."""
    advisor = cue.advisor("skill_load")
    records: Any = None
    made = []
    for end in (i + 1 for i, one in enumerate(said) if one["role"] == "user"):
        advisor = cue.advisor("skill_load") if fresh else advisor
        made.append(advisor.plan(said[:end], records=records))
        records = json.loads(json.dumps(made[-1].records))
    return made


def names(plan: Any) -> list[str]:
    return [hit.skill.name for hit in plan.advice.hits]


@pytest.mark.parametrize("fresh", [False, True])
def test_it_is_not_offered_a_third_time(cue: SkillCue, fresh: bool) -> None:
    made = plans(cue, chat(*TURNS), fresh=fresh)
    assert [names(plan) for plan in made[:3:2]] == [["pdf-to-workbook"]] * 2
    assert names(made[-1]) == []
    told = {item.hit.skill.name: item.reason for item in made[-1].advice.rejected}
    assert told["pdf-to-workbook"] == "offered twice in this conversation and not loaded"
    (skill_id,) = [key for key in made[-1].advice.turn.demoted if key.startswith("refined:")]
    assert cue.load(skill_id).skill.name == "pdf-to-workbook"


def test_it_is_where_it_was_loaded(cue: SkillCue) -> None:
    said = chat(*TURNS)
    skill = cue.lookup(TASK).hits[0].skill
    mark = mark_loaded(LoadedMark(skill.id, skill_version(skill), 1, 1, None))
    call = {"id": "L1", "type": "function"}
    call["function"] = {"name": "skill_load", "arguments": "{}"}  # type: ignore[assignment]
    said[1:1] = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": f"{mark}\n{skill.body}", "tool_call_id": "L1"},
    ]
    plan = plans(cue, said)[-1]
    assert "refined:" not in str(plan.advice.turn.demoted)


def test_the_user_may_still_name_it(cue: SkillCue) -> None:
    said = chat(*TURNS[:3], "use the pdf-to-workbook skill")
    assert names(plans(cue, said)[-1]) == ["pdf-to-workbook"]
