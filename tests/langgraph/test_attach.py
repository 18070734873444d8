"""`cue.attach(builder)`: insertion into a graph that already stands."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from support.langchain_models import StrictChatModel, call

from skillcue import SkillCue
from skillcue.langgraph import skill_tools
from skillcue.push.messages import ADVICE_OPEN
from skillcue_hooks.errors import AttachError, UnknownSettingError

PDF = "I have to fill in a PDF form for my visa application"


@pytest.fixture
def cue(example_skills):
    with SkillCue(example_skills) as cue:
        yield cue


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def graph(cue: SkillCue, model: StrictChatModel) -> StateGraph[Any]:
    bound = model.bind_tools([add, *skill_tools(cue)])

    def call_model(state: MessagesState) -> dict[str, Any]:
        return {"messages": [bound.invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", call_model)
    builder.add_node("tools", ToolNode([add]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    return builder


async def test_attach_wraps_the_model_and_adds_advisor_and_tools(cue):
    script = [call("add", "x", a=1, b=2), call("skill_load", "y", name="pdf-form-filling")]
    model = StrictChatModel(script=[*script, "done", *script])
    builder = graph(cue, model)
    assert cue.attach(builder, model="model", tools="tools") is builder
    app = builder.compile()
    nodes = [list(step) for step in app.stream({"messages": [HumanMessage(PDF)]})]
    assert nodes[0] == ["skills"]
    assert [n for n in nodes if n == ["skills"]] == [["skills"]]
    assert ADVICE_OPEN in model.requests[0][0].content
    assert "skill_load" in model.requests[0][0].content
    result = await app.ainvoke({"messages": [HumanMessage(PDF)]})
    contents = [str(m.content) for m in result["messages"]]
    assert contents[0] == PDF
    assert contents[2] == "3"
    assert contents[4].startswith("[skill pdf-form-filling@")
    assert all(ADVICE_OPEN not in text for text in contents)


def test_without_tools_the_advice_names_the_file(cue):
    model = StrictChatModel()
    builder = cue.attach(graph(cue, model))
    builder.compile().invoke({"messages": [HumanMessage(PDF)]})
    assert "pdf-form-filling/SKILL.md" in model.requests[0][0].content


def test_conditional_entry_still_gets_advice(cue):
    model = StrictChatModel()
    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda s: {"messages": [model.invoke(s["messages"])]})
    builder.add_conditional_edges(START, lambda s: "model")
    builder.add_edge("model", END)
    cue.attach(builder, model="model").compile().invoke({"messages": [HumanMessage(PDF)]})
    assert ADVICE_OPEN in model.requests[0][0].content


def test_a_missing_node_is_an_error_that_lists_the_nodes(cue):
    with pytest.raises(AttachError, match=r"no node 'agent'.*model, tools"):
        cue.attach(graph(cue, StrictChatModel()), model="agent")


def test_a_compiled_graph_is_an_error_that_names_the_middleware(cue):
    with pytest.raises(AttachError, match="SkillMiddleware"):
        cue.attach(graph(cue, StrictChatModel()).compile(), model="model")


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"model": "model", "tools": "model"}, AttachError, "not a ToolNode"),
        ({"model": "model", "advisor": "tools"}, AttachError, "already"),
        ({"modle": "model"}, UnknownSettingError, "model"),
    ],
)
def test_other_mistakes(cue, options, error, match):
    with pytest.raises(error, match=match):
        cue.attach(graph(cue, StrictChatModel()), **options)


def test_attaching_twice_is_an_error(cue):
    builder = cue.attach(graph(cue, StrictChatModel()), tools="tools")
    with pytest.raises(AttachError, match="already"):
        cue.attach(builder, tools="tools")
    with pytest.raises(AttachError, match="skill_lookup"):
        cue.attach(builder, tools="tools", advisor="more_skills")


def test_an_unknown_target_is_an_error_that_says_what_fits(cue):
    with pytest.raises(AttachError, match=r"builtins\.dict.*StateGraph"):
        cue.attach({})


def test_a_failed_attach_changes_nothing(cue):
    builder = graph(cue, StrictChatModel())
    before = (
        set(builder.nodes),
        set(builder.edges),
        set(builder.nodes["tools"].runnable.tools_by_name),
    )
    with pytest.raises(AttachError):
        cue.attach(builder, model="model", tools="model")
    after = (
        set(builder.nodes),
        set(builder.edges),
        set(builder.nodes["tools"].runnable.tools_by_name),
    )
    assert before == after
