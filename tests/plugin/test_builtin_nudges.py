"""The built-in plugins and the two instructions for agents without push."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from skillcue import SkillCue
from skillcue.nudges import system_nudge, user_nudge
from skillcue_hooks import hookimpl

PROGRAM = """
import sys
from skillcue import SkillCue
from skillcue_hooks.errors import AttachError
cue = SkillCue(sys.argv[1])
try:
    cue.attach(object())
except AttachError as error:
    print(error)
print(sorted({"langgraph", "llama_index", "langchain_core"} & set(sys.modules)))
"""


def test_attaching_loads_no_framework_that_is_not_in_use(example_skills):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(example_skills)],
        capture_output=True,
        text=True,
        check=True,
    )
    error, loaded = done.stdout.splitlines()
    assert "Nothing knows how to attach to builtins.object." in error
    assert loaded == "[]"


def test_a_plugin_comes_before_the_built_ins(garden):
    class Mine:
        def __init__(self) -> None:
            self.calls: list[tuple[Any, Any, Any]] = []

        @hookimpl
        def skillcue_attach(self, target: Any, cue: Any, options: Any) -> Any:
            self.calls.append((target, cue, dict(options)))
            return "attached" if target == "mine" else None

    mine = Mine()
    cue = SkillCue(garden, plugins=[mine])
    assert cue.attach("mine", model="m") == "attached"
    assert mine.calls == [("mine", cue, {"model": "m"})]


def test_what_is_loaded_can_be_told_and_blocked(garden):
    names = [record["name"] for record in SkillCue(garden).plugins.describe()]
    assert names == ["builtin", "langgraph", "llamaindex", "scanner", "sources"]
    blocked = SkillCue(garden, block_plugins=["llamaindex"]).plugins.describe()
    assert [record["blocked"] for record in blocked] == [False, False, True, False, False]
    with pytest.raises(ValueError, match="Unknown skill mode 'skillsight'"):
        SkillCue(garden, block_plugins=["builtin"])  # the modes come from there


def test_nudges_are_constant_and_name_the_tools():
    for nudge in (system_nudge, user_nudge):
        text = nudge("my_skill_lookup", "my_skill_load")
        assert text == nudge("my_skill_lookup", "my_skill_load")
        assert text.index("my_skill_lookup") < text.index("my_skill_load")
        assert "<" not in text and "\n" not in text
        assert len(text) < 400
