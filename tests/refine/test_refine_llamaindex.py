"""Mode ``refine`` in LlamaIndex agents: every way to ask for it, nothing leaks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.workflow import Context
from support.llamaindex_models import StrictLlm, advised_texts, call, run_turn, wire
from support.refining import TASK, FixedModel, good_script

from skillcue import SkillCue, skill_mode
from skillcue.llamaindex import with_skills
from skillcue_hooks.errors import ConfigurationError

REFINED = "pdf-to-workbook"


def cue_with(skills: Path, model: Any, **options: Any) -> SkillCue:
    modes = {"refine": {"base": "bm25"}}
    options.setdefault("mode", "bm25")
    return SkillCue(skills, llm=model, modes=modes, **options)


def agent_of(kind: str, llm: StrictLlm) -> Any:
    if kind == "workflow":
        agents = [FunctionAgent(name="front", description="Talks.", llm=llm)]
        return AgentWorkflow(agents=agents, root_agent="front")
    if kind == "react":
        return ReActAgent(llm=llm)
    return FunctionAgent(llm=llm)


@pytest.mark.parametrize("kind", ["agent", "workflow", "react"])
@pytest.mark.parametrize("way", ["run", "store", "block", "default", "nobody"])
async def test_each_way_to_ask_for_it(skills: Path, kind: str, way: str) -> None:
    said = "Thought: I can answer without using any more tools.\nAnswer: done"
    model, llm = FixedModel(good_script()), StrictLlm(script=[said])
    with cue_with(skills, model, mode="refine" if way == "default" else "bm25") as cue:
        agent = with_skills(agent_of(kind, llm), cue)
        ctx = Context(agent)
        if way == "run":
            await run_turn(agent, TASK, ctx=ctx, skill_mode="refine")
        elif way == "store":
            await ctx.store.set("skill_mode", "refine")
            await run_turn(agent, TASK, ctx=ctx)
        elif way == "block":
            with skill_mode("refine"):
                await run_turn(agent, TASK, ctx=ctx)
        else:
            await run_turn(agent, TASK, ctx=ctx)
    asked = way != "nobody"
    assert (REFINED in wire(llm.requests[0])) == asked
    assert len(model.asked) == (4 if asked else 0)


async def test_a_whole_task_asks_the_inner_model_once(skills: Path) -> None:
    model = FixedModel(good_script())

    def load_offered(request: Any) -> Any:
        (advice,) = advised_texts(request)
        return call("skill_load", name=advice.split('name="')[1].split('"')[0])

    llm = StrictLlm(
        script=[
            load_offered,
            "Done.",
            call("skill_lookup", query="merge sheets into one workbook"),
            "Done.",
        ]
    )
    with cue_with(skills, model) as cue:
        agent = with_skills(FunctionAgent(llm=llm), cue)
        ctx, memory = Context(agent), ChatMemoryBuffer.from_defaults()
        options = {"ctx": ctx, "memory": memory, "skill_mode": "refine"}
        await run_turn(agent, TASK, **options)
        assert "Merge the sheets." in wire(llm.requests[1])
        await run_turn(agent, "Look the merging up again", **options)
    assert "refined:" in str(llm.requests[3][-1].content)
    assert len(model.asked) == 4


async def test_without_a_model_it_fails_before_the_agents_model_is_called(skills: Path) -> None:
    llm = StrictLlm()
    with SkillCue(skills, mode="bm25") as cue:
        for options in ({}, {"push": False}):
            agent = with_skills(FunctionAgent(llm=llm), cue, **options)
            with pytest.raises(Exception, match="llm=model") as caught:
                await run_turn(agent, TASK, skill_mode="refine")
            causes = (caught.value, caught.value.__cause__, caught.value.__context__)
            assert any(isinstance(cause, ConfigurationError) for cause in causes)
    assert llm.requests == []


async def test_no_word_of_the_inner_model_is_in_the_stream(skills: Path) -> None:
    inner = StrictLlm(script=good_script())
    llm = StrictLlm(script=["outer words"])
    with cue_with(skills, inner) as cue:
        agent = with_skills(FunctionAgent(llm=llm), cue)
        result, events = await run_turn(agent, TASK, skill_mode="refine")
    assert len(inner.requests) == 4
    assert "outer words" in str(result)
    shown = repr(events)
    assert "derived_from" not in shown
    assert "outer words" in shown
