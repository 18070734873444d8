"""A setting that no mode has: the message names every one that the mode takes."""

from __future__ import annotations

import pytest
from support.refining import FixedModel

from skillcue import SkillCue, StaticSource
from skillcue_hooks.errors import UnknownSettingError
from skillcue_hooks.testing import make_skill

TAKES = {
    "bm25": {"k1", "b"},
    "hybrid": {"depth", "k"},
    "dense": {"encoder", "bodies"},
    "skillsight": {"encoder", "bodies"},
    "two_stage": {"first", "cross_encoder"},
    "expand": {"base", "timeout_s"},
    "refine": {"base", "tokens"},
}


@pytest.mark.parametrize("mode", TAKES)
def test_an_unknown_setting_lists_all_that_the_mode_takes(mode: str) -> None:
    source = StaticSource("made", [make_skill("pdf", "Pdf.", "Body.")])
    modes = {mode: {"zzzzzz": 1}}
    default = "hybrid" if mode == "bm25" else "bm25"
    with (
        SkillCue(source, mode=default, encoder="static", modes=modes, llm=FixedModel([])) as cue,
        pytest.raises(UnknownSettingError) as caught,
    ):
        cue.lookup("pdf", mode=mode)
    listed = caught.value.cure.removeprefix("Settings: ").rstrip(".").split(", ")
    assert listed == sorted(listed)
    assert TAKES[mode] <= set(listed)


@pytest.mark.parametrize(
    ("mode", "wrong", "right"),
    [("refine", "bse", "base"), ("expand", "bases", "base"), ("two_stage", "fist", "first")],
)
def test_a_misspelt_name_finds_them_too(mode: str, wrong: str, right: str) -> None:
    source = StaticSource("made", [make_skill("pdf", "Pdf.", "Body.")])
    modes = {mode: {wrong: "bm25"}}
    with (
        SkillCue(source, mode="bm25", modes=modes, llm=FixedModel([])) as cue,
        pytest.raises(UnknownSettingError, match=f"Did you mean '{right}'"),
    ):
        cue.lookup("pdf", mode=mode)
