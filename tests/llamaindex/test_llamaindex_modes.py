"""Which mode a run uses: run argument, store, context variable; never another run's."""

from __future__ import annotations

import asyncio
import json

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.workflow import (
    Context,
    HumanResponseEvent,
    InputRequiredEvent,
    JsonSerializer,
    WorkflowRuntimeError,
)
from support.llamaindex_models import StrictLlm, advised_texts, call, run_turn, wire
from support.modes import CountingModes

from skillcue import SkillCue, skill_mode
from skillcue.llamaindex import SkillAdviceEvent, with_skills
from skillcue.push.declines import DECLINED_KEY
from skillcue_hooks.errors import UnknownModeError

PDF = "I have to fill in a PDF form for my visa application"
THANKS = "Thanks, that is great!"


@pytest.fixture
def modes() -> CountingModes:
    return CountingModes("alpha", "beta", "gamma")


@pytest.fixture
def cue(example_skills, modes):
    with SkillCue(example_skills, mode="alpha", plugins=[modes], cache=False) as cue:
        yield cue


def workflow_of(llm: StrictLlm) -> AgentWorkflow:
    front = FunctionAgent(name="front", description="Talks.", llm=llm)
    clerk = FunctionAgent(name="clerk", description="Does paperwork.", llm=llm)
    return AgentWorkflow(agents=[front, clerk], root_agent="front")


def target_of(kind: str, llm: StrictLlm):
    return FunctionAgent(llm=llm) if kind == "agent" else workflow_of(llm)


@pytest.mark.parametrize("kind", ["agent", "workflow"])
async def test_the_run_argument_holds_for_push_and_pull_of_that_run_only(cue, modes, kind):
    llm = StrictLlm(script=[call("skill_lookup", query="pdf"), "done", "again"])
    target = with_skills(target_of(kind, llm), cue)
    ctx, memory = Context(target), ChatMemoryBuffer.from_defaults()
    _, events = await run_turn(target, PDF, ctx=ctx, memory=memory, skill_mode="beta")
    assert modes.calls == [("beta", PDF), ("beta", "pdf")]
    [event] = [event for event in events if isinstance(event, SkillAdviceEvent)]
    assert event.mode == "beta"
    await run_turn(target, THANKS, ctx=ctx, memory=memory)
    assert modes.calls[2:] == [("alpha", THANKS)]


@pytest.mark.parametrize("kind", ["agent", "workflow"])
async def test_a_mode_in_the_store_stays_and_the_run_argument_goes_before_it(cue, modes, kind):
    llm = StrictLlm()
    target = with_skills(target_of(kind, llm), cue)
    ctx, memory = Context(target), ChatMemoryBuffer.from_defaults()
    await ctx.store.set("skill_mode", "beta")
    for text, options in (("one pdf", {}), ("two pdf", {"skill_mode": "gamma"}), ("three pdf", {})):
        await run_turn(target, text, ctx=ctx, memory=memory, **options)
    assert modes.calls == [("beta", "one pdf"), ("gamma", "two pdf"), ("beta", "three pdf")]
    assert await ctx.store.get("skill_mode") == "beta"


@pytest.mark.parametrize("kind", ["agent", "workflow"])
async def test_the_context_variable_reaches_push_and_tools(cue, modes, kind):
    llm = StrictLlm(script=[call("skill_lookup", query="pdf"), "done"])
    target = with_skills(target_of(kind, llm), cue)
    with skill_mode("beta"):
        handler = target.run(user_msg=PDF)
    await handler
    assert modes.calls == [("beta", PDF), ("beta", "pdf")]


@pytest.mark.parametrize("push", [True, False])
@pytest.mark.parametrize("how", ["argument", "store", "contextvar"])
@pytest.mark.parametrize("kind", ["agent", "workflow"])
async def test_an_unknown_mode_raises_before_any_model_call(cue, kind, how, push):
    llm = StrictLlm()
    target = with_skills(target_of(kind, llm), cue, push=push)
    ctx = Context(target)
    if how == "store":
        await ctx.store.set("skill_mode", "betta")
    with pytest.raises(
        (UnknownModeError, WorkflowRuntimeError), match="Did you mean 'beta'"
    ) as caught:
        if how == "argument":
            await target.run(user_msg=PDF, ctx=ctx, skill_mode="betta")
        elif how == "contextvar":
            with skill_mode("betta"):
                handler = target.run(user_msg=PDF, ctx=ctx)
            await handler
        else:
            await target.run(user_msg=PDF, ctx=ctx)
    raised = caught.value  # old workflows wrap whatever a step raises
    assert isinstance(raised, UnknownModeError) or isinstance(raised.__cause__, UnknownModeError)
    assert llm.requests == []


async def test_twenty_runs_at_once_never_share_a_mode(cue, modes):
    """Every user says the same, so nothing but the mode can tell the runs apart."""
    llm = StrictLlm()
    agent = with_skills(FunctionAgent(llm=llm), cue)

    async def one(number: int) -> tuple[str, list[str], list[str]]:
        mode = ("alpha", "beta", "gamma", "")[number % 4]
        options = {"skill_mode": mode} if mode else {}
        ctx = Context(agent)
        _, events = await run_turn(agent, PDF, ctx=ctx, **options)
        seen = [event.mode for event in events if isinstance(event, SkillAdviceEvent)]
        records = await ctx.store.get("skillcue_turns")
        recorded = [record[0] for key, record in records.items() if key != DECLINED_KEY]
        return mode or "alpha", seen, recorded

    for expected, seen, recorded in await asyncio.gather(*(one(number) for number in range(20))):
        assert set(seen) <= {expected}
        assert recorded == [expected]
    assert {mode for mode, _ in modes.calls} == {"alpha", "beta", "gamma"}
    assert all(len(advised_texts(request)) == 1 for request in llm.requests)


async def test_a_run_without_a_mode_does_not_inherit_that_of_another_conversation(cue, modes):
    llm = StrictLlm()
    agent = with_skills(FunctionAgent(llm=llm), cue)
    ctx = Context(agent)
    await run_turn(agent, PDF, skill_mode="beta")
    await run_turn(agent, PDF, ctx=ctx)
    records = await ctx.store.get("skillcue_turns")
    assert [record[0] for key, record in records.items() if key != DECLINED_KEY] == ["alpha"]


async def test_a_resumed_run_keeps_its_mode_and_its_bytes(example_skills):
    """Interrupted for a human in one process, answered in another that knows no mode."""

    async def ask(ctx: Context) -> str:
        """Ask the human."""
        reply = await ctx.wait_for_event(
            HumanResponseEvent, waiter_id="ask", waiter_event=InputRequiredEvent(prefix="?")
        )
        return reply.response

    ask.__annotations__["ctx"] = Context  # postponed annotations would hide it from LlamaIndex
    memory, saved = ChatMemoryBuffer.from_defaults(), ""
    modes = CountingModes("alpha", "beta")
    before = StrictLlm(script=[call("ask", "c1")])
    options = {"mode": "alpha", "cache": False}
    with SkillCue(example_skills, plugins=[modes], **options) as cue:
        agent = with_skills(FunctionAgent(llm=before, tools=[ask]), cue)
        handler = agent.run(user_msg=PDF, memory=memory, skill_mode="beta")
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                saved = json.dumps(handler.ctx.to_dict(serializer=JsonSerializer()))
                await handler.cancel_run()
                break
    assert modes.calls == [("beta", PDF)]
    if not saved:
        pytest.skip("this LlamaIndex and this workflows release cannot wait inside a tool")

    other = CountingModes("alpha", "beta")
    after = StrictLlm(script=[call("skill_lookup", "c2", query="pdf"), "done"])
    with SkillCue(example_skills, plugins=[other], **options) as cue:
        agent = with_skills(FunctionAgent(llm=after, tools=[ask]), cue)
        restored = Context.from_dict(agent, json.loads(saved), serializer=JsonSerializer())
        handler = agent.run(ctx=restored)
        await handler.ctx.store.set("memory", memory)  # LlamaIndex may not be able to save it
        handler.ctx.send_event(HumanResponseEvent(response="go on"))
        events = [event async for event in handler.stream_events()]
        await handler
    assert wire(after.requests[0]).startswith(wire(before.requests[0]) + "\n")
    assert other.calls == [("beta", "pdf")]  # the lookup only: the turn came from its record
    assert not [event for event in events if isinstance(event, SkillAdviceEvent)]
