"""Mode ``refine`` in LangGraph and LangChain agents: every way to ask for it, nothing leaks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph")

from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from support.langchain_models import StrictChatModel, call, wire
from support.refining import TASK, FixedModel, draft, good_script

from skillcue import SkillCue, skill_mode
from skillcue.langchain import SkillMiddleware
from skillcue.langgraph import SkillAdvisor
from skillcue_hooks.errors import ConfigurationError

INPUTS = {"messages": [{"role": "user", "content": TASK}]}
REFINED = "pdf-to-workbook"


def cue_with(skills: Path, model: Any, **options: Any) -> SkillCue:
    modes = {"refine": {"base": "bm25"}}
    return SkillCue(skills, mode="bm25", llm=model, modes=modes, **options)


def graph_of(cue: SkillCue, chat: StrictChatModel, **compiled: Any) -> Any:
    """A graph as the README has it."""
    advisor = SkillAdvisor(cue)
    model = chat.bind_tools(advisor.tools())

    def call_model(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("skills", advisor)
    builder.add_node("model", advisor.wrap(call_model))
    builder.add_node("tools", ToolNode(advisor.tools()))
    builder.add_edge(START, "skills")
    builder.add_edge("skills", "model")
    builder.add_conditional_edges("model", tools_condition, ["tools", END])
    builder.add_edge("tools", "model")
    return builder.compile(**compiled)


def agent_of(cue: SkillCue, chat: StrictChatModel, **options: Any) -> Any:
    return create_agent(chat, tools=[], middleware=[SkillMiddleware(cue)], **options)


def test_a_broken_call_is_answered_as_a_call_and_put_right(skills: Path) -> None:
    """By a chat model that refuses a conversation in which a call has no result."""
    pdf = "pdf-tables@pdf-tables"
    cut = {"name": "finish", "args": '{"skills": [{"na', "id": "c2", "error": None}
    whole = {"skills": [draft(REFINED, pdf)]}
    chat = StrictChatModel(
        script=[
            call("detail", "c1", skill=pdf),
            AIMessage("", invalid_tool_calls=[cut]),
            call("finish", "c3", **whole),
        ]
    )
    with cue_with(skills, chat) as cue:
        ranking = cue.lookup(TASK, mode="refine")
    assert ranking.degraded is None
    assert ranking.hits[0].skill.name == REFINED
    assert chat.requests[2][-1].tool_call_id == "c2"
    assert "The arguments of finish are no valid JSON object" in chat.requests[2][-1].content


AGENTS = {"graph": graph_of, "create_agent": agent_of}


@pytest.mark.parametrize("kind", AGENTS)
@pytest.mark.parametrize("way", ["configurable", "context", "block", "default", "nobody"])
def test_each_way_to_ask_for_it(skills: Path, kind: str, way: str) -> None:
    model, chat = FixedModel(good_script()), StrictChatModel()
    modes = {"refine": {"base": "bm25"}}
    mode = "refine" if way == "default" else "bm25"
    with SkillCue(skills, mode=mode, llm=model, modes=modes) as cue:
        agent = AGENTS[kind](cue, chat)
        if way == "configurable":
            agent.invoke(INPUTS, {"configurable": {"skill_mode": "refine"}})
        elif way == "context":
            agent.invoke(INPUTS, context={"skill_mode": "refine"})
        elif way == "block":
            with skill_mode("refine"):
                agent.invoke(INPUTS)
        else:
            agent.invoke(INPUTS)
    asked = way != "nobody"
    assert (REFINED in wire(chat.requests[0])) == asked
    assert len(model.asked) == (4 if asked else 0)


@pytest.mark.parametrize("kind", AGENTS)
def test_a_whole_task_asks_the_inner_model_once(skills: Path, kind: str) -> None:
    """Push, pull and two follow-ups of a thread, then a resumed thread of another process."""
    model = FixedModel(good_script())
    found: list[str] = []

    def load_offered(request: Any) -> Any:
        advice = request[-1].content
        assert "refined:" in advice
        found.append(advice.split('name="')[1].split('"')[0])
        return call("skill_load", name=found[0])

    chat = StrictChatModel(
        script=[
            load_offered,
            call("skill_lookup", "c2", query="merge sheets into one workbook"),
            "Done.",
        ]
    )
    config = {"configurable": {"thread_id": "t", "skill_mode": "refine"}}
    cache = skills.parent / "cache"
    saver = InMemorySaver()
    with cue_with(skills, model, cache=cache) as cue:
        agent = AGENTS[kind](cue, chat, checkpointer=saver)
        state = agent.invoke(INPUTS, config)
        loaded, looked_up = [m.content for m in state["messages"] if m.type == "tool"]
        assert "Merge the sheets." in loaded
        assert found[0] in looked_up.splitlines()[1]
        agent.invoke({"messages": [("user", "Now write release notes from the commits")]}, config)
    first = wire(chat.requests[-1][:1])
    again = FixedModel([AssertionError("asked")])
    with cue_with(skills, again, cache=cache) as cue:
        AGENTS[kind](cue, chat, checkpointer=saver).invoke(
            {"messages": [("user", "Merge the sheets of the workbook again")]}, config
        )
    assert wire(chat.requests[-1][:1]) == first  # the advice of the first turn, byte for byte
    assert REFINED in first
    assert len(model.asked) == 4
    assert again.asked == []


@pytest.mark.parametrize("kind", AGENTS)
def test_without_a_model_it_fails_before_the_agents_model_is_called(
    skills: Path, kind: str
) -> None:
    chat = StrictChatModel()
    with SkillCue(skills, mode="bm25") as cue:
        for agent in (AGENTS[kind](cue, chat), agent_of(cue, chat)):
            with pytest.raises(ConfigurationError, match="llm=model"):
                agent.invoke(INPUTS, {"configurable": {"skill_mode": "refine"}})
        pull_only = create_agent(chat, tools=[], middleware=[SkillMiddleware(cue, push=False)])
        with pytest.raises(ConfigurationError, match="llm=model"):
            pull_only.invoke(INPUTS, {"configurable": {"skill_mode": "refine"}})
    assert chat.requests == []


def test_a_failure_costs_the_agent_nothing_but_the_refinement(skills: Path) -> None:
    chat = StrictChatModel()
    with cue_with(skills, FixedModel(["no", "no"])) as cue:
        agent = graph_of(cue, chat)
        agent.invoke(INPUTS, {"configurable": {"skill_mode": "refine"}})
    assert "pdf-tables" in wire(chat.requests[0])


@pytest.mark.parametrize("stream_mode", ["messages", "updates", "values", "custom", "debug"])
def test_no_word_of_the_inner_model_is_in_a_stream(skills: Path, stream_mode: str) -> None:
    """The inner model is a LangChain model that streams, inside the run of the graph."""
    inner = StrictChatModel(script=[*good_script()])
    chat = StrictChatModel(script=["outer words"])
    with cue_with(skills, inner) as cue:
        app = graph_of(cue, chat)
        config: Any = {"configurable": {"skill_mode": "refine"}}
        shown = repr(list(app.stream(INPUTS, config, stream_mode=stream_mode)))
    assert len(inner.requests) == 4
    assert "derived_from" not in shown
    assert json.dumps("keyword") not in shown
    if stream_mode in ("messages", "values"):
        assert "outer words" in shown


async def test_async_runs(skills: Path) -> None:
    model, chat = FixedModel(good_script()), StrictChatModel()
    with cue_with(skills, model) as cue:
        for made in AGENTS.values():
            await made(cue, chat).ainvoke(INPUTS, {"configurable": {"skill_mode": "refine"}})
    assert all(REFINED in wire(request) for request in chat.requests)
    assert len(model.asked) == 4
