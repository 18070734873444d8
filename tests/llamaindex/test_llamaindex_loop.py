"""Retrieval stays off the event loop."""

from __future__ import annotations

import asyncio
import time

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from support.llamaindex_models import StrictLlm, call, run_turn
from support.modes import CountingModes

from skillcue import SkillCue
from skillcue.llamaindex import SkillRetriever, with_skills

PDF = "I have to fill in a PDF form for my visa application"


async def longest_stall(work) -> float:
    """Longest time the event loop did nothing else while `work` ran, seconds."""
    worst, running = 0.0, True

    async def watch() -> None:
        nonlocal worst
        last = time.perf_counter()
        while running:
            await asyncio.sleep(0.005)
            now = time.perf_counter()
            worst, last = max(worst, now - last), now

    watcher = asyncio.create_task(watch())
    await asyncio.sleep(0.02)
    await work
    running = False
    await watcher
    return worst


async def test_a_slow_search_does_not_stall_the_event_loop(example_skills):
    slow = CountingModes("slow", delay=0.3)
    llm = StrictLlm(script=[call("skill_lookup", query="pdf"), "done"])
    with SkillCue(example_skills, mode="slow", plugins=[slow], cache=False) as cue:
        cue.wait_ready()
        await run_turn(FunctionAgent(llm=StrictLlm()), PDF)  # LlamaIndex loads its tokenizer
        agent = with_skills(FunctionAgent(llm=llm), cue)
        started = time.perf_counter()
        stall = await longest_stall(run_turn(agent, PDF))
        assert time.perf_counter() - started > 0.6, "push and pull both searched"
        assert len(slow.calls) == 2
        assert stall < 0.15
        assert await longest_stall(SkillRetriever(cue).aretrieve(PDF)) < 0.15


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
