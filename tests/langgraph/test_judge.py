"""The judge in LangGraph agents: one question a turn, whatever the agent does in it."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from support.conversations import write_garden
from support.langchain_models import StrictChatModel, call, wire

from skillcue import JudgeSettings, PushSettings, SkillCue
from skillcue.langchain import SkillMiddleware
from skillcue.langgraph import SkillAdvisor
from skillcue.push.messages import ADVICE_OPEN
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.testing import ScriptedLanguageModel

VAGUE = "My lettuce looks sad"
SLUGS = json.dumps({"skills": ["slug-control"]})
NONE = json.dumps({"skills": []})
CONFIG: Any = {"configurable": {"thread_id": "1"}}


@tool
def water(litres: int) -> str:
    """Water the bed."""
    return f"{litres} litres"


@pytest.fixture
def garden(tmp_path):
    return write_garden(tmp_path / "garden")


def cue_of(garden, judge: Any, **options: Any) -> SkillCue:
    push = PushSettings(judge=JudgeSettings(llm=judge, below=1, above=1))
    return SkillCue(garden, mode="bm25", push=push, **options)


def middleware_app(cue: SkillCue, model: StrictChatModel, saver: Any = None) -> Any:
    return create_agent(model, [water], middleware=[SkillMiddleware(cue)], checkpointer=saver)


def node_app(cue: SkillCue, model: StrictChatModel, saver: Any = None) -> Any:
    advisor = SkillAdvisor(cue)
    tools = [*advisor.tools(), water]
    bound = model.bind_tools(tools)

    def call_model(state: MessagesState) -> dict[str, Any]:
        return {"messages": [bound.invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("skills", advisor)
    builder.add_node("model", advisor.wrap(call_model))
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "skills")
    builder.add_edge("skills", "model")
    builder.add_conditional_edges("model", tools_condition, {"tools": "tools", END: END})
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=saver)


BUILDERS = [middleware_app, node_app]


def say(text: str) -> Any:
    return {"messages": [HumanMessage(text)]}


def tool_loop() -> StrictChatModel:
    return StrictChatModel(script=[call("water", f"c{n}", litres=n) for n in range(3)])


async def run(app: Any, inputs: Any, asynchronous: bool) -> None:
    if asynchronous:
        await app.ainvoke(inputs, CONFIG)
    else:
        app.invoke(inputs, CONFIG)


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("build", BUILDERS)
async def test_a_turn_of_many_model_calls_asks_once(garden, build, asynchronous):
    judge, model = ScriptedLanguageModel([SLUGS, NONE]), tool_loop()
    with cue_of(garden, judge) as cue:
        app = build(cue, model, InMemorySaver())
        await run(app, say(VAGUE), asynchronous)
        assert (len(model.requests), len(judge.asked)) == (4, 1)
        await run(app, say("Log the weekly rainfall"), asynchronous)
    assert (len(model.requests), len(judge.asked)) == (5, 2)
    wires = [wire(request) for request in model.requests]
    assert all(ADVICE_OPEN in text and "slug-control" in text for text in wires)
    for before, after in itertools.pairwise(wires):
        assert after.startswith(before + "\n")
    assert wires[-1].count(ADVICE_OPEN) == 1


@pytest.mark.parametrize("build", BUILDERS)
def test_a_restart_replays_what_was_judged_and_asks_nothing(garden, build):
    saver, model = InMemorySaver(), StrictChatModel()
    judge = ScriptedLanguageModel([SLUGS])
    with cue_of(garden, judge) as cue:
        build(cue, model, saver).invoke(say(VAGUE), CONFIG)
    silent = ScriptedLanguageModel([NONE])
    with cue_of(garden, silent) as cue:
        build(cue, model, saver).invoke(say("Thanks!"), CONFIG)
    before, after = map(wire, model.requests)
    assert after.startswith(before + "\n")
    assert after.count(ADVICE_OPEN) == 1
    assert not any(f'<message>\n"{VAGUE}' in asked[1].text for asked in silent.asked)
    assert len(judge.asked) == 1


@pytest.mark.parametrize("build", BUILDERS)
def test_a_turn_that_was_interrupted_goes_on_without_asking_again(garden, build):
    """The process dies in the middle of a tool loop; the next one resumes from the record."""

    class Broken(RuntimeError):
        pass

    def fail(_messages: Any) -> Any:
        raise Broken

    saver = InMemorySaver()
    model = StrictChatModel(script=[call("water", litres=1), fail])
    judge = ScriptedLanguageModel([SLUGS])
    with cue_of(garden, judge) as cue, pytest.raises(Broken):
        build(cue, model, saver).invoke(say(VAGUE), CONFIG)
    silent = ScriptedLanguageModel([])
    with cue_of(garden, silent) as cue:
        build(cue, model, saver).invoke(None, CONFIG)
    assert silent.asked == [] and len(judge.asked) == 1
    wires = [wire(request) for request in model.requests]
    assert wires[-1].startswith(wires[0] + "\n")


@pytest.mark.parametrize("build", BUILDERS)
def test_shadow_asks_and_shows_nothing(garden, build, tmp_path):
    model, judge = tool_loop(), ScriptedLanguageModel([SLUGS])
    traces = tmp_path / "traces.jsonl"
    with cue_of(garden, judge, shadow=True, traces=traces) as cue:
        build(cue, model).invoke(say(VAGUE))
    assert len(judge.asked) == 1 and len(model.requests) == 4
    assert ADVICE_OPEN not in "".join(map(wire, model.requests))
    [record] = [json.loads(line) for line in traces.read_text("utf-8").splitlines()]
    assert record["offered"] == ["slug-control@slug-control"]
    assert record["confidence"] < record["threshold"]


@pytest.mark.parametrize("build", BUILDERS)
def test_a_judge_that_fails_stops_no_agent(garden, build):
    model, judge = tool_loop(), ScriptedLanguageModel([TimeoutError()] * 5)
    with cue_of(garden, judge) as cue:
        build(cue, model).invoke(say("How do I prune the side shoots of my tomato plants?"))
    assert all("tomato-pruning" in wire(request) for request in model.requests)


@pytest.mark.parametrize("build", BUILDERS)
def test_expand_without_a_model_fails_before_the_first_model_call(garden, build):
    model = StrictChatModel()
    with SkillCue(garden, mode="bm25") as cue:
        app = build(cue, model)
        config: Any = {"configurable": {"skill_mode": "expand"}}
        with pytest.raises(ConfigurationError, match="needs a language model"):
            app.invoke(say(VAGUE), config)
    assert model.requests == []


@pytest.mark.parametrize("build", BUILDERS)
def test_an_agent_that_expands_asks_once_a_turn(garden, build):
    variants = json.dumps({"variants": ["slugs eat my lettuce", "keep snails off lettuce"]})
    model, llm = tool_loop(), ScriptedLanguageModel([variants])
    modes = {"expand": {"base": "bm25"}}
    with SkillCue(garden, mode="expand", llm=llm, modes=modes) as cue:
        build(cue, model).invoke(say("Slugs and snails eat all my lettuce"))
    assert len(llm.asked) == 1 and len(model.requests) == 4
    assert all("slug-control" in wire(request) for request in model.requests)
