"""Agents and servers over an index: they find, read and offer what it holds."""

from __future__ import annotations

import pytest
from support.conversations import PHRASES, write_garden
from support.indexes import WALKS, WatchedIndex, over, put

from skillcue import SkillCue, StaticSource
from skillcue.mcp_catalog import SkillCatalog, UnknownUriError
from skillcue_hooks.testing import make_skill

TOMATO = PHRASES[0]
NAME = "tomato-pruning"


@pytest.fixture
def cue(tmp_path):
    garden = write_garden(tmp_path / "garden")
    (garden / NAME / "scripts").mkdir()
    (garden / NAME / "scripts" / "cut.py").write_text("print('cut')\n")
    index = WatchedIndex()
    put(garden, index, "acme")
    with over(index, "acme") as opened:
        yield opened


def test_a_langgraph_agent_gets_the_advice_and_reads_the_skill(cue):
    from langchain.agents import create_agent
    from support.langchain_models import StrictChatModel, call

    from skillcue.langchain import SkillMiddleware

    model = StrictChatModel(script=[call("skill_load", name=NAME), "done"])
    agent = create_agent(model, tools=[], middleware=[SkillMiddleware(cue)])
    result = agent.invoke({"messages": [("user", TOMATO)]})
    assert "skill_advice" in str(model.requests[0])
    answer = next(m for m in result["messages"] if m.type == "tool")
    assert f"[skill {NAME}@acme/{NAME} version" in answer.text
    assert "Files: scripts/cut.py" in answer.text


async def test_a_llamaindex_agent_gets_the_advice_and_reads_the_skill(cue):
    from llama_index.core.agent.workflow import FunctionAgent
    from support.llamaindex_models import StrictLlm, call, run_turn, wire

    from skillcue.llamaindex import with_skills

    llm = StrictLlm(script=[call("skill_load", name=NAME), "done"])
    agent = with_skills(FunctionAgent(llm=llm, tools=[]), cue)
    await run_turn(agent, TOMATO)
    assert "skill_advice" in wire(llm.requests[0])
    assert f"[skill {NAME}@acme/{NAME} version" in wire(llm.requests[1])


async def test_an_mcp_server_lists_and_serves_the_skills(cue):
    from mcp import Client

    from skillcue.mcp import skill_server

    async with Client(skill_server(cue)) as client:
        found = await client.call_tool("skill_lookup", {"query": TOMATO})
        assert NAME in found.content[0].text
        listed = (await client.list_resources()).resources
        uris = [str(resource.uri) for resource in listed]
        assert f"skill://acme/{NAME}/SKILL.md" in uris
        assert len(uris) == 8
        read = await client.read_resource(f"skill://acme/{NAME}/scripts/cut.py")
        assert read.contents[0].text == "print('cut')\n"


def test_resources_are_paged_and_looked_up_as_in_memory(tmp_path):
    many = [make_skill(f"skill-{n:03}", f"Number {n}.", f"Body {n}.") for n in range(120)]
    index = WatchedIndex()
    put(StaticSource("many", many), index)
    in_index, in_memory = over(index), SkillCue(StaticSource("many", many), mode="bm25")
    seen = []
    for cue in (in_index, in_memory):
        catalog, after, uris = SkillCatalog(cue), "", []
        while True:
            page, last = catalog.page(after, {})
            uris += [skill.uri for skill in page]
            if last is None:
                break
            after = last
        assert catalog.read(uris[7], {}).data.endswith(b"Body 7.")
        with pytest.raises(UnknownUriError):
            catalog.get("skill://nothing/SKILL.md", {})
        seen.append(uris)
    assert seen[0] == seen[1]
    assert len(seen[0]) == 120
    assert not any(index.calls[name] for name in WALKS if index.calls[name] > 1)
