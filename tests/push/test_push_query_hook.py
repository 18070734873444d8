"""The hook that says what is searched for: asked once a turn, checked, and never in the way."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from support.conversations import PHRASES
from support.modes import CountingModes

from skillcue import PushSettings, SkillCue
from skillcue_hooks import TurnQuery, hookimpl

TOMATO, COMPOST, SEEDS, SLUGS = PHRASES[:4]


def say(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


class Reads:
    """Searches for what a function of the turn says; greetings are left to the built-in reading."""

    def __init__(self, answer):
        self.answer = answer
        self.turns: list[Any] = []

    @hookimpl
    def skillcue_build_query(self, turn):
        if turn.user_text == "Hello":
            return None
        self.turns.append(turn)
        return self.answer(turn)


def advised(garden: Path, plugin: Any, text: str = TOMATO, **options: Any) -> Any:
    with SkillCue(garden, mode="bm25", plugins=[plugin], **options) as cue:
        return cue.advise([say("Hello"), {"role": "assistant", "content": "Hi."}, say(text)])


def names(advice: Any) -> list[str]:
    return [hit.skill.name for hit in advice.hits]


def test_its_text_is_searched_in_place_of_the_message(garden):
    plugin = Reads(lambda turn: TurnQuery(COMPOST))
    assert names(advised(garden, plugin)) == ["compost-heap"]
    [turn] = plugin.turns
    assert (turn.user_text, turn.earlier) == (TOMATO, ("Hello",))


def test_none_leaves_the_built_in_reading(garden):
    assert names(advised(garden, Reads(lambda turn: None))) == ["tomato-pruning"]


def test_both_texts_reach_the_retriever(garden):
    modes = CountingModes("counted")
    mine = TurnQuery(TOMATO, "the greenhouse")
    plugins = [modes, Reads(lambda turn: mine)]
    with SkillCue(garden, mode="counted", plugins=plugins) as cue:
        cue.wait_ready()
        before = len(modes.queries)
        cue.advise([say(TOMATO)])
    found = [(q.text, q.context) for q in modes.queries[before:]]
    assert found == [(mine.text, mine.context)]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda turn: 1 / 0, "ZeroDivisionError"),
        (lambda turn: "compost heap", "answered a str"),
        (lambda turn: {"text": COMPOST}, "answered a dict"),
        (lambda turn: TurnQuery(" \n"), "text is blank"),
        (lambda turn: TurnQuery(7), "text is a int"),  # type: ignore[arg-type]
        (lambda turn: TurnQuery(COMPOST, context=None), "context is a NoneType"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_used_is_logged_with_the_plugins_name(garden, caplog, answer, said):
    with caplog.at_level(logging.WARNING, "skillcue.plugins"):
        assert names(advised(garden, Reads(answer))) == ["tomato-pruning"]
    [message] = {record.getMessage() for record in caplog.records}
    assert "plugin Reads raised in skillcue_build_query" in message
    assert said in message


def test_a_wrong_answer_leaves_the_turn_to_the_next_plugin(garden, caplog):
    class Second(Reads):
        pass

    plugins = [Second(lambda turn: TurnQuery(COMPOST)), Reads(lambda turn: "wrong")]
    with SkillCue(garden, mode="bm25", plugins=plugins) as cue:
        assert names(cue.advise([say(TOMATO)])) == ["compost-heap"]
    assert len(plugins[0].turns) == 1


def test_it_is_asked_once_a_turn_however_many_requests(garden):
    plugin = Reads(lambda turn: TurnQuery(turn.user_text))
    with SkillCue(garden, mode="bm25", plugins=[plugin]) as cue:
        advisor = cue.advisor("skill_load")
        said = [say(TOMATO, id="m1")]
        for _ in range(3):
            advisor.plan(said)
            said.append({"role": "assistant", "content": "..."})
        advisor.plan([*said, say(COMPOST, id="m2")])
        cue.advisor("skill_load").plan([say("", id="m3")])
    assert [turn.user_text for turn in plugin.turns] == [TOMATO, COMPOST]


def test_a_long_query_is_cut_to_its_ends(garden):
    modes = CountingModes("counted")
    mine = TurnQuery("tomato " * 5_000, "x" * 90_000)
    plugins = [modes, Reads(lambda turn: mine)]
    push = PushSettings(query_tokens=100)
    with SkillCue(garden, mode="counted", plugins=plugins, push=push) as cue:
        cue.wait_ready()
        before = len(modes.queries)
        cue.advise([say(TOMATO)])
    sizes = [len(text) for q in modes.queries[before:] for text in (q.text, q.context)]
    assert max(sizes) == 401


def test_two_readings_of_one_message_share_no_cached_ranking(garden, tmp_path):
    """The cache goes by what is searched, so that another plugin finds its own rankings."""
    found = []
    for text in (TOMATO, COMPOST, TOMATO):
        plugin = Reads(lambda turn, text=text: TurnQuery(text))
        found.append(names(advised(garden, plugin, SLUGS, cache=tmp_path / "cache")))
    assert found == [["tomato-pruning"], ["compost-heap"], ["tomato-pruning"]]


PLUGIN = """
from skillcue_hooks import TurnQuery, hookimpl

class Glossary:
    @hookimpl
    def skillcue_build_query(self, turn):
        if "INC-7" in turn.user_text:
            return TurnQuery("slugs and snails eat the lettuce, nematodes and barriers")
"""
PROGRAM = """
import json, sys
from glossary import Glossary
from skillcue import SkillCue
with SkillCue(sys.argv[1], mode="bm25", plugins=[Glossary()]) as cue:
    said = [{"role": "user", "content": "Please take care of INC-7 today", "id": "m1"}]
    plan = cue.advisor("skill_load").plan(said)
    print(json.dumps([plan.placements, plan.records]))
"""


def test_a_plugin_in_a_process_of_its_own(garden, tmp_path):
    (tmp_path / "glossary.py").write_text(textwrap.dedent(PLUGIN), "utf-8")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM, garden],
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed},
            capture_output=True, check=True, text=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    [output] = outputs
    placements, records = json.loads(output)
    assert records["m1"] == ["bm25", "slug-control@slug-control"]
    assert "slug-control" in placements[0][1]
