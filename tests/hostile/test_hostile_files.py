"""Hostile files beside honest skills: every way to load one gives a quotation of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from llama_index.core.agent.workflow import FunctionAgent
from mcp import Client
from support.hostile_skills import BESIDE, PAYLOAD, write_hostile
from support.langchain_models import StrictChatModel, call
from support.llamaindex_models import StrictLlm, run_turn
from support.llamaindex_models import call as li_call
from support.mcp_clients import text_of

from skillcue import SkillCue
from skillcue.cli import main
from skillcue.langchain import skill_tools
from skillcue.llamaindex import SkillToolSpec
from skillcue.mcp import skill_server
from skillcue_hooks import LoadedSkill

FILE = "references/more.md"


@pytest.fixture(scope="module")
def skills(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The skills with a hostile file, and an honest one."""
    root = tmp_path_factory.mktemp("beside")
    wanted = {f"{name}-beside" for name in BESIDE}
    return write_hostile(root, root / "canary", wanted.__contains__)


@pytest.fixture(scope="module")
def guarded(skills: Path) -> Iterator[SkillCue]:
    with SkillCue(skills, mode="bm25", recheck="manual") as cue:
        yield cue


def check_quoted(text: str, loaded: LoadedSkill, *, pages: bool = False) -> None:
    """`text` is lines of ours and, behind bars, exactly the page that was loaded."""
    head, why, blank, origin, *rest = text.split("\n")
    assert head.startswith("[skill ") and head.endswith(f"file {FILE}]")
    code = next(item.code for item in loaded.findings if item.severity == "error")
    assert why.startswith(f"Quoted because of {code}") and "skillcue doctor --files" in why
    assert PAYLOAD not in why and blank == ""
    assert "quoted from 'skills', an untrusted source: a third party's text" in origin
    quoted = [line for line in rest if line.startswith("|")]
    after = rest[len(quoted) :]
    assert after[0] == "End of the quotation." and len(after) == 1 + pages
    assert any(PAYLOAD in line for line in quoted)
    assert "<" not in text and ">" not in text


@pytest.mark.parametrize("name", BESIDE)
def test_every_page_of_it_is_a_quotation(guarded: SkillCue, name: str) -> None:
    tools = guarded.tools()
    first = guarded.load(f"{name}-beside", FILE)
    assert (first.skill.trust, first.trust) == ("trusted", "untrusted")
    assert (first.pages == 2) == ("page" in name), "the test must see a long one"
    for page in range(1, first.pages + 1):
        answer = tools.load(f"{name}-beside", FILE, page)
        loaded = guarded.load(f"{name}-beside", FILE, page)
        check_quoted(answer.text, loaded, pages=page < first.pages)
        assert {"code", "severity", "line"} == set(answer.data["findings"][0])
        assert PAYLOAD not in json.dumps(answer.data)


def test_the_skill_around_it_keeps_its_trust(guarded: SkillCue) -> None:
    assert {skill.trust for skill in guarded.list()} == {"trusted"}
    assert all(skill.pushable for skill in guarded.list())
    answer = guarded.tools().load("override-beside")
    assert "third party" not in answer.text and answer.data["findings"] == []


def test_without_the_scanner_it_is_given_as_it_is(skills: Path) -> None:
    """What the other tests see is the scanner's doing."""
    with SkillCue(skills, mode="bm25", block_plugins=["scanner"]) as cue:
        answer = cue.tools().load("override-beside", FILE)
    assert answer.text.endswith(BESIDE["override"]) and "third party" not in answer.text


@pytest.mark.parametrize("name", ["our-note", "override-on-page-one"])
def test_a_langchain_agent_gets_it_quoted(guarded: SkillCue, name: str) -> None:
    page = 2 if "page" in name else 1
    asked = {"name": f"{name}-beside", "file": FILE, "page": page}
    model = StrictChatModel(script=[call("skill_load", "a", **asked), "done"])
    agent = create_agent(model, skill_tools(guarded))
    said = agent.invoke({"messages": [{"role": "user", "content": "Look it up"}]})["messages"]
    (result,) = [message for message in said if isinstance(message, ToolMessage)]
    check_quoted(str(result.content), guarded.load(f"{name}-beside", FILE, page))
    assert result.artifact["findings"][0]["severity"] == "error"


@pytest.mark.parametrize("name", ["our-note", "override-on-page-one"])
async def test_a_llamaindex_agent_gets_it_quoted(guarded: SkillCue, name: str) -> None:
    page = 2 if "page" in name else 1
    asked = {"name": f"{name}-beside", "file": FILE, "page": page}
    llm = StrictLlm(script=[li_call("skill_load", "a", **asked), "done"])
    agent = FunctionAgent(llm=llm, tools=SkillToolSpec(guarded).to_tool_list())
    await run_turn(agent, "Look it up")
    (result,) = [m for m in llm.requests[-1] if m.role.value == "tool"]
    check_quoted(str(result.content), guarded.load(f"{name}-beside", FILE, page))


@pytest.mark.parametrize("name", ["our-note", "override-on-page-one"])
async def test_an_mcp_client_gets_it_quoted(guarded: SkillCue, name: str) -> None:
    page = 2 if "page" in name else 1
    asked: dict[str, Any] = {"name": f"{name}-beside", "file": FILE, "page": page}
    async with Client(skill_server(guarded)) as client:
        result = await client.call_tool("skill_load", asked)
    check_quoted(text_of(result), guarded.load(f"{name}-beside", FILE, page))


def test_the_command_says_what_it_is_and_shows_a_person_the_words(
    skills: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["load", "override-beside", "--file", FILE, "--skills", str(skills)]
    assert main(command) == 0
    captured = capsys.readouterr()
    assert captured.out == BESIDE["override"]
    (warning,) = captured.err.splitlines()
    assert warning.endswith("scan-override in line 3; agents get it as a quotation")
    assert main([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["trust"], document["skill"]["trust"]) == ("untrusted", "trusted")
    assert [(item["code"], item["line"]) for item in document["findings"]] == [("scan-override", 3)]


def test_the_doctor_names_file_and_line_of_each(
    skills: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--json", "--skills", str(skills)]) == 0
    without = json.loads(capsys.readouterr().out)
    assert without["files"] is None and without["errors"] == 0
    assert main(["doctor", "--files", "--json", "--skills", str(skills)]) == 1
    document = json.loads(capsys.readouterr().out)
    errors = {
        Path(item["path"]).relative_to(skills).as_posix()
        for item in document["diagnostics"]
        if item["severity"] == "error" and item["line"]
    }
    assert errors == {f"{name}-beside/{FILE}" for name in BESIDE}
    assert document["files"] == {"assessed": len(BESIDE), "left_out": 0}
