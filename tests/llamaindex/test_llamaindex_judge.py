"""The judge in LlamaIndex agents: one question a turn, whatever the agent does in it."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.workflow import Context, JsonSerializer, WorkflowRuntimeError
from support.conversations import write_garden
from support.llamaindex_models import StrictLlm, advised_texts, call, run_turn, wire

from skillcue import JudgeSettings, PushSettings, SkillCue
from skillcue.llamaindex import SkillAdviceEvent, with_skills
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.testing import ScriptedLanguageModel

VAGUE = "My lettuce looks sad"
SLUGS = json.dumps({"skills": ["slug-control"]})
NONE = json.dumps({"skills": []})


def water(litres: int) -> str:
    """Water the bed."""
    return f"{litres} litres"


@pytest.fixture
def garden(tmp_path):
    return write_garden(tmp_path / "garden")


def cue_of(garden, judge: Any, **options: Any) -> SkillCue:
    push = PushSettings(judge=JudgeSettings(llm=judge, below=1, above=1))
    return SkillCue(garden, mode="bm25", push=push, **options)


def looping() -> StrictLlm:
    return StrictLlm(script=[call("water", f"c{n}", litres=n) for n in range(3)])


async def test_a_turn_of_many_model_calls_asks_once(garden, make_memory):
    judge, llm, memory = ScriptedLanguageModel([SLUGS, NONE]), looping(), make_memory()
    with cue_of(garden, judge) as cue:
        agent = with_skills(FunctionAgent(llm=llm, tools=[water]), cue)
        _, events = await run_turn(agent, VAGUE, memory=memory)
        assert (len(llm.requests), len(judge.asked)) == (4, 1)
        await run_turn(agent, "Log the weekly rainfall", memory=memory)
    assert (len(llm.requests), len(judge.asked)) == (5, 2)
    [event] = [event for event in events if isinstance(event, SkillAdviceEvent)]
    assert (event.decision, event.skills) == ("offer", ["slug-control"])
    wires = [wire(request) for request in llm.requests]
    for before, after in itertools.pairwise(wires):
        assert after.startswith(before + "\n")


async def test_a_restored_context_asks_nothing(garden):
    llm, memory = StrictLlm(), ChatMemoryBuffer.from_defaults(token_limit=100_000)
    judge = ScriptedLanguageModel([SLUGS])
    with cue_of(garden, judge) as cue:
        agent = with_skills(FunctionAgent(llm=llm), cue)
        ctx = Context(agent)
        await agent.run(user_msg=VAGUE, ctx=ctx, memory=memory)
    await ctx.store.set("memory", None)
    saved = json.loads(json.dumps(ctx.to_dict(serializer=JsonSerializer())))
    silent = ScriptedLanguageModel([NONE])
    with cue_of(garden, silent) as cue:
        later = with_skills(FunctionAgent(llm=llm), cue)
        restored = Context.from_dict(later, saved, serializer=JsonSerializer())
        await later.run(user_msg="Log the weekly rainfall", ctx=restored, memory=memory)
    assert len(judge.asked) == 1
    [asked] = silent.asked  # about the new turn, and not about the one before it
    assert '<message>\n"Log the weekly rainfall"' in asked[1].text
    before, after = map(wire, llm.requests)
    assert after.startswith(before + "\n") and "slug-control" in before


async def test_shadow_asks_and_shows_nothing(garden):
    judge, llm = ScriptedLanguageModel([SLUGS]), looping()
    with cue_of(garden, judge, shadow=True) as cue:
        await run_turn(with_skills(FunctionAgent(llm=llm, tools=[water]), cue), VAGUE)
    assert len(judge.asked) == 1 and len(llm.requests) == 4
    assert not any(advised_texts(request) for request in llm.requests)


async def test_a_react_agent_asks_once_as_well(garden):
    steps = [
        'Thought: water.\nAction: water\nAction Input: {"litres": 1}',
        "Thought: easy.\nAnswer: done",
    ]
    judge, llm = ScriptedLanguageModel([SLUGS]), StrictLlm(script=steps, function_calling=False)
    with cue_of(garden, judge) as cue:
        await run_turn(with_skills(ReActAgent(llm=llm, tools=[water]), cue), VAGUE)
    assert len(judge.asked) == 1 and len(llm.requests) == 2
    assert all(advised_texts(request[1:]) for request in llm.requests)


async def test_a_judge_that_fails_stops_no_agent(garden):
    judge, llm = ScriptedLanguageModel([TimeoutError()] * 5), looping()
    text = "How do I prune the side shoots of my tomato plants?"
    with cue_of(garden, judge) as cue:
        await run_turn(with_skills(FunctionAgent(llm=llm, tools=[water]), cue), text)
    assert all("tomato-pruning" in wire(request) for request in llm.requests)


async def test_expand_without_a_model_fails_before_the_first_model_call(garden):
    llm = StrictLlm()
    with SkillCue(garden, mode="bm25") as cue:
        agent = with_skills(FunctionAgent(llm=llm), cue)
        wrapped = (ConfigurationError, WorkflowRuntimeError)  # older versions wrap what steps raise
        with pytest.raises(wrapped, match="needs a language model"):
            await agent.run(user_msg=VAGUE, skill_mode="expand")
    assert llm.requests == []


async def test_an_agent_that_expands_asks_once_a_turn(garden):
    variants = json.dumps({"variants": ["slugs eat my lettuce", "keep snails off lettuce"]})
    llm, fast = looping(), ScriptedLanguageModel([variants])
    modes = {"expand": {"base": "bm25"}}
    with SkillCue(garden, mode="expand", llm=fast, modes=modes) as cue:
        agent = with_skills(FunctionAgent(llm=llm, tools=[water]), cue)
        await run_turn(agent, "Slugs and snails eat all my lettuce")
    assert len(fast.asked) == 1 and len(llm.requests) == 4
    assert all(advised_texts(request) for request in llm.requests)
