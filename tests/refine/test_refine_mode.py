"""Mode ``refine`` from outside: what is found, kept, made anew, loaded and shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.refining import TASK, FixedModel, good_script, write_skills

from skillcue import SkillCue


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    return write_skills(tmp_path / "skills")


def open_cue(skills: Path, script: list[Any], **options: Any) -> tuple[SkillCue, FixedModel]:
    model = FixedModel(script)
    modes = {"refine": {"base": "bm25", **options.pop("refine", {})}}
    return SkillCue(skills, mode="bm25", llm=model, modes=modes, **options), model


def test_a_task_is_refined_once_and_its_skill_loads_by_id(skills: Path, tmp_path: Path) -> None:
    cue, model = open_cue(skills, good_script(), cache=tmp_path / "cache")
    with cue:
        ranking = cue.lookup(TASK, mode="refine")
        assert ranking.degraded is None
        skill = ranking.hits[0].skill
        assert skill.name == "pdf-to-workbook"
        assert skill.derived_from == ("pdf-tables@pdf-tables", "workbook-merge@workbook-merge")
        assert len(model.asked) == 4
        assert ranking.cost.calls == 4
        again = cue.lookup(TASK, mode="refine")
        assert [hit.skill.id for hit in again.hits] == [hit.skill.id for hit in ranking.hits]
        assert again.cost.calls == 0
        assert len(model.asked) == 4
        assert "Merge the sheets." in cue.load(skill.id).text
