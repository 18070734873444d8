"""Retrieval stays off the event loop."""

from __future__ import annotations

import threading

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from support.llamaindex_models import StrictLlm, call, run_turn
from support.modes import CountingModes

from skillcue import SkillCue
from skillcue.llamaindex import SkillRetriever, with_skills

PDF = "I have to fill in a PDF form for my visa application"


async def test_searches_run_off_the_event_loop(example_skills):
    """How long a slow one stalls the loop is measured by the benchmarks."""
    modes = CountingModes("slow")
    llm = StrictLlm(script=[call("skill_lookup", query="pdf"), "done"])
    with SkillCue(example_skills, mode="slow", plugins=[modes], cache=False) as cue:
        await run_turn(with_skills(FunctionAgent(llm=llm), cue), PDF)
        await SkillRetriever(cue).aretrieve(PDF)
    assert len(modes.threads) == 3
    assert threading.get_ident() not in modes.threads


async def test_no_blocking_call_on_the_event_loop(example_skills, tmp_path):
    """The first turn reads the library, builds the index and opens the cache on disk."""
    blockbuster = pytest.importorskip("blockbuster")
    script = [
        call("skill_lookup", "c1", query="pdf"),
        call("skill_load", "c2", name="pdf-form-filling"),
        call("skill_load", "c3", name="pdf-form-filling", file="scripts/fill_form.py"),
        call("skill_list", "c4"),
        "done",
    ]
    llm = StrictLlm(script=script)
    with SkillCue(example_skills, cache=tmp_path) as cue:
        agent = with_skills(FunctionAgent(llm=llm), cue)
        with blockbuster.blockbuster_ctx("skillcue"):
            _, events = await run_turn(agent, PDF)
    results = [e.tool_output for e in events if type(e).__name__ == "ToolCallResult"]
    assert len(results) == 4
    assert not any(result.is_error for result in results), [r.content for r in results]
