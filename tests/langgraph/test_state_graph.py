"""`SkillAdvisor` in real graphs: what the model sees, what is stored, what is asked once."""

from __future__ import annotations

import asyncio
import itertools
import json
import operator
import threading
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt
from pydantic import BaseModel
from support.langchain_models import StrictChatModel, call, wire
from support.modes import CountingModes
from typing_extensions import TypedDict

from skillcue import SkillCue, skill_mode
from skillcue.langgraph import SkillAdvisor
from skillcue.push.declines import DECLINED_KEY
from skillcue.push.messages import ADVICE_OPEN
from skillcue_hooks.errors import UnknownModeError

PDF = "I have to fill in a PDF form for my visa application"
INVOICES = "Please match the bank payments of March to our open invoices"
THANKS = "Thanks, that is great!"


def build(cue: SkillCue, model: StrictChatModel, *, node: bool = True, **options: Any) -> Any:
    """The graph of the README, compiled with a checkpointer."""
    checkpointer = options.pop("checkpointer", None) or InMemorySaver()
    advisor = SkillAdvisor(cue, **options)
    bound = model.bind_tools(advisor.tools())

    def call_model(state: MessagesState) -> dict[str, Any]:
        return {"messages": [bound.invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", advisor.wrap(call_model))
    builder.add_node("tools", ToolNode(advisor.tools()))
    if node:
        builder.add_node("skills", advisor)
        builder.add_edge(START, "skills")
        builder.add_edge("skills", "model")
    else:
        builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=checkpointer)


def config(thread: str = "1", **values: Any) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread, **values}}


def say(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


def advice_in(request: list[Any]) -> list[str]:
    """Advice blocks of a request, by message."""
    return [str(m.content) for m in request if ADVICE_OPEN in str(m.content)]


@pytest.fixture
def cue(example_skills):
    with SkillCue(example_skills) as cue:
        yield cue


def test_the_model_sees_the_advice_and_the_state_never_does(cue):
    model = StrictChatModel()
    saver = InMemorySaver()
    app = build(cue, model, checkpointer=saver)
    for text in (PDF, THANKS, INVOICES):
        app.invoke(say(text), config())
    assert "pdf-form-filling" in model.requests[0][-1].content
    assert model.requests[1][-1].content == THANKS
    assert "invoice-reconciliation" in model.requests[2][-1].content
    values = app.get_state(config()).values
    assert [m.content for m in values["messages"] if m.type == "human"] == [PDF, THANKS, INVOICES]
    stored = repr(
        [(c.checkpoint, c.metadata, c.pending_writes) for c in saver.list(config())]
    ) + repr(saver.blobs)
    assert "skill_advice" not in stored.replace("skillcue_advice", "")
    assert "Fill in PDF forms"[:8] not in stored.replace(PDF, "")


def test_output_has_only_the_users_keys(cue):
    result = build(cue, StrictChatModel()).invoke(say(PDF), config())
    assert set(result) == {"messages"}


def test_each_request_is_a_prefix_of_the_next_over_turns_tools_and_restarts(example_skills):
    saver = InMemorySaver()
    requests: list[list[Any]] = []
    for turn, text in enumerate((PDF, THANKS, INVOICES, "And for April?")):
        with SkillCue(example_skills) as fresh:  # a new process each turn, as far as we can tell
            script = [
                AIMessage(
                    "",
                    tool_calls=[
                        {"name": "skill_lookup", "args": {"query": text}, "id": f"a{turn}"},
                        {"name": "skill_load", "args": {"name": "git-bisect"}, "id": f"b{turn}"},
                    ],
                ),
                call("skill_list", f"c{turn}"),
            ]
            model = StrictChatModel(script=script)
            build(fresh, model, checkpointer=saver).invoke(say(text), config())
            requests += model.requests
    assert len(requests) == 12
    for before, after in itertools.pairwise(requests):
        assert wire(after).startswith(wire(before))


@pytest.mark.parametrize("node", [True, False])
def test_one_retrieval_a_turn_however_many_model_calls(example_skills, node):
    modes = CountingModes("counted")
    with SkillCue(example_skills, mode="counted", plugins=[modes], cache=False) as cue:
        script = [call("skill_list", f"c{i}") for i in range(4)]
        model = StrictChatModel(script=script)
        app = build(cue, model, node=node)
        app.invoke(say(PDF), config())
        assert len(model.requests) == 5
        assert len(modes.calls) == 1
        app.invoke(say(INVOICES), config())
        assert len(modes.calls) == 2


async def test_invoke_and_ainvoke_both_inject(cue):
    sync_model, async_model = StrictChatModel(), StrictChatModel()
    build(cue, sync_model).invoke(say(PDF), config())
    await build(cue, async_model).ainvoke(say(PDF), config())
    assert advice_in(sync_model.requests[0]) == advice_in(async_model.requests[0]) != []


def test_tool_results_follow_their_calls_in_order(cue):
    calls = [
        {"name": "skill_load", "args": {"name": "git-bisect"}, "id": "x"},
        {"name": "skill_lookup", "args": {"query": "merge pdf"}, "id": "y"},
        {"name": "skill_list", "args": {}, "id": "z"},
    ]
    model = StrictChatModel(script=[AIMessage("", tool_calls=calls)])
    messages = build(cue, model).invoke(say(PDF), config())["messages"]
    assert [m.type for m in messages] == ["human", "ai", "tool", "tool", "tool", "ai"]
    assert [m.tool_call_id for m in messages[2:5]] == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("skill_load", {"name": "no-such-skill"}),
        ("skill_load", {"name": "git-bisect", "file": "../../etc/passwd"}),
        ("skill_load", {"name": "git-bisect", "page": 99}),
        ("skill_load", {}),
        ("skill_lookup", {"query": "pdf", "k": 0}),
        ("skill_lookup", {"query": "pdf", "k": "many"}),
        ("skill_lookup", {"query": "  "}),
        ("skill_lookup", {}),
    ],
)
def test_wrong_arguments_become_error_messages(cue, name, arguments):
    model = StrictChatModel(script=[call(name, **arguments)])
    messages = build(cue, model).invoke(say(PDF), config())["messages"]
    assert messages[2].status == "error"
    assert messages[-1].content == "done"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("skill_lookup", {"query": "pdf form", "k": "3", "offset": None}),
        ("skill_lookup", {"query": "pdf form", "k": 1000}),
        ("skill_lookup", {"query": "pdf form", "k": None, "limit": 3}),
        ("skill_load", {"name": "Git_Bisect", "page": "1", "file": ""}),
        ("skill_list", {"page": 2.0}),
    ],
)
def test_odd_arguments_are_coerced(cue, name, arguments):
    model = StrictChatModel(script=[call(name, **arguments)])
    messages = build(cue, model).invoke(say(PDF), config())["messages"]
    assert messages[2].status == "success", messages[2].content


def test_no_injected_argument_is_in_the_models_schema(cue):
    tools = {t.name: t for t in SkillAdvisor(cue).tools()}
    properties = {
        name: set(tool.tool_call_schema.model_json_schema()["properties"])
        for name, tool in tools.items()
    }
    assert properties == {
        "skill_lookup": {"query", "k", "offset"},
        "skill_load": {"name", "file", "page"},
        "skill_list": {"page"},
    }


def test_a_skill_that_stands_in_the_messages_is_not_sent_again(cue):
    load = {"name": "git-bisect"}
    model = StrictChatModel(
        script=[call("skill_load", "a", **load), call("skill_load", "b", **load)]
    )
    messages = build(cue, model).invoke(say(PDF), config())["messages"]
    first, second = (m.content for m in messages if m.type == "tool")
    assert len(second) < 300 < len(first)
    assert "already loaded" in second


def test_a_failing_mode_does_not_fail_the_turn(example_skills, caplog):
    modes = CountingModes("broken", error=lambda: RuntimeError("index is gone"))
    with SkillCue(example_skills, mode="broken", plugins=[modes]) as cue:
        model = StrictChatModel(script=[call("skill_lookup", query="pdf")])
        messages = build(cue, model).invoke(say(PDF), config())["messages"]
    assert messages[-1].content == "done"
    assert messages[2].status == "error"
    assert not advice_in(model.requests[0])
    assert "index is gone" in caplog.text


@pytest.mark.parametrize(
    "ask",
    [
        lambda app: app.invoke(say(PDF), config(), context={"skill_mode": "fast"}),
        lambda app: app.invoke(say(PDF), config(skill_mode="fast")),
        lambda app: app.with_config(config(skill_mode="fast")).invoke(say(PDF)),
    ],
    ids=["context", "configurable", "with_config"],
)
def test_every_way_to_name_a_mode(example_skills, ask):
    modes = CountingModes("fast")
    with SkillCue(example_skills, plugins=[modes], cache=False) as cue:
        ask(build(cue, StrictChatModel(script=[call("skill_lookup", query="merge pdf")])))
    assert modes.calls == [("fast", PDF), ("fast", "merge pdf")]


def test_the_context_variable_names_the_mode(example_skills):
    modes = CountingModes("fast")
    with SkillCue(example_skills, plugins=[modes], cache=False) as cue:
        app = build(cue, StrictChatModel())
        with skill_mode("fast"):
            app.invoke(say(PDF), config())
        app.invoke(say(INVOICES), config())
    assert modes.calls == [("fast", PDF)]


@pytest.mark.parametrize("node", [True, False])
def test_an_unknown_mode_raises_before_the_first_model_call(cue, node):
    model = StrictChatModel()
    app = build(cue, model, node=node)
    with pytest.raises(UnknownModeError, match="bm25"):
        app.invoke(say(PDF), config(skill_mode="bm52"))
    with pytest.raises(ValueError), skill_mode("nope"):
        app.invoke(say(PDF), config("2"))
    assert model.requests == []


def test_the_toggle_works_when_the_context_schema_has_no_such_field(example_skills):
    @dataclass
    class Context:
        user: str = "u"

    modes = CountingModes("fast")
    with SkillCue(example_skills, plugins=[modes], cache=False) as cue:
        advisor = SkillAdvisor(cue)
        model = StrictChatModel()
        builder = StateGraph(MessagesState, context_schema=Context)
        builder.add_node("skills", advisor)
        builder.add_node(
            "model", advisor.wrap(lambda state: {"messages": [model.invoke(state["messages"])]})
        )
        builder.add_edge(START, "skills")
        builder.add_edge("skills", "model")
        app = builder.compile()
        app.invoke(say(PDF), {"configurable": {"skill_mode": "fast"}}, context=Context())
        with skill_mode("fast"):
            app.invoke(say(INVOICES), context=Context())
    assert modes.calls == [("fast", PDF), ("fast", INVOICES)]


def paused_graph(cue: SkillCue, model: StrictChatModel, saver: InMemorySaver, schema: Any) -> Any:
    """A graph that stops for a human between two model calls of one turn."""
    advisor = SkillAdvisor(cue)

    def call_model(state: schema) -> dict[str, Any]:  # type: ignore[valid-type]
        messages = state["messages"] if isinstance(state, dict) else state.messages
        return {"messages": [model.invoke(messages)]}

    def ask(state: schema) -> dict[str, Any]:  # type: ignore[valid-type]
        answer = interrupt("really?")
        messages = state["messages"] if isinstance(state, dict) else state.messages
        call_id = messages[-1].tool_calls[0]["id"]
        return {"messages": [{"role": "tool", "content": answer, "tool_call_id": call_id}]}

    call_model.__annotations__["state"] = schema
    builder = StateGraph(schema)
    builder.add_node("skills", advisor)
    builder.add_node("model", advisor.wrap(call_model))
    builder.add_node("ask", ask)
    builder.add_edge(START, "skills")
    builder.add_edge("skills", "model")
    builder.add_conditional_edges(
        "model",
        lambda s: (
            "ask" if (s["messages"] if isinstance(s, dict) else s.messages)[-1].tool_calls else END
        ),
    )
    builder.add_edge("ask", "model")
    return builder.compile(checkpointer=saver)


class PydanticState(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages]


@dataclass
class DataclassState:
    messages: Annotated[list[AnyMessage], add_messages] = field(default_factory=list)


@pytest.mark.parametrize("schema", [MessagesState, PydanticState, DataclassState])
@pytest.mark.parametrize("restart", [False, True])
def test_a_resume_keeps_the_mode_and_the_bytes(example_skills, schema, restart):
    """Also in a new process, where nothing but the checkpoint is left."""
    saver = InMemorySaver()
    modes = CountingModes("fast")
    model = StrictChatModel(script=[call("ask_human")])
    with SkillCue(example_skills, plugins=[modes], cache=False) as cue:
        app = paused_graph(cue, model, saver, schema)
        app.invoke(say(PDF), config(skill_mode="fast"))
        assert [c[0] for c in modes.calls] == ["fast"]
        if not restart:
            app.invoke(Command(resume="yes"), config())
    if restart:
        with SkillCue(example_skills, plugins=[modes], cache=False) as cue:
            paused_graph(cue, model, saver, schema).invoke(Command(resume="yes"), config())
    assert [c[0] for c in modes.calls] == ["fast"]
    assert len(model.requests) == 2
    assert wire(model.requests[1]).startswith(wire(model.requests[0]))


class CustomState(TypedDict):
    chat: Annotated[list[AnyMessage], add_messages]


class ListState(TypedDict):
    messages: list[AnyMessage]


class AddState(TypedDict):
    messages: Annotated[list[AnyMessage], operator.add]


@pytest.mark.parametrize("schema", [MessagesState, PydanticState, DataclassState, AddState])
@pytest.mark.parametrize("kind", ["function", "coroutine", "runnable", "object"])
async def test_every_kind_of_state_and_node(cue, schema, kind):
    model = StrictChatModel()

    def get(state):
        return state["messages"] if isinstance(state, dict) else state.messages

    def function(state):
        return {"messages": [model.invoke(get(state))]}

    async def coroutine(state):
        return {"messages": [await model.ainvoke(get(state))]}

    class Node:
        def __call__(self, state):
            return function(state)

    node = {
        "function": function,
        "coroutine": coroutine,
        "runnable": RunnableLambda(function, afunc=coroutine),
        "object": Node(),
    }[kind]
    advisor = SkillAdvisor(cue)
    builder = StateGraph(schema)
    builder.add_node("skills", advisor)
    builder.add_node("model", advisor.wrap(node))
    builder.add_edge(START, "skills")
    builder.add_edge("skills", "model")
    result = await builder.compile().ainvoke(say(PDF))
    assert len(advice_in(model.requests[0])) == 1
    messages = get(result)
    assert [m.content for m in messages] == [PDF, "done"]


def test_custom_messages_key(cue):
    advisor = SkillAdvisor(cue, messages_key="chat")
    model = StrictChatModel()
    builder = StateGraph(CustomState)
    builder.add_node("skills", advisor)
    builder.add_node("model", advisor.wrap(lambda s: {"chat": [model.invoke(s["chat"])]}))
    builder.add_edge(START, "skills")
    builder.add_edge("skills", "model")
    result = builder.compile().invoke({"chat": [HumanMessage(PDF)]})
    assert advice_in(model.requests[0])
    assert set(result) == {"chat"}
    assert [m.content for m in result["chat"]] == [PDF, "done"]


def test_a_node_that_returns_the_whole_list_does_not_store_advice(cue):
    advisor = SkillAdvisor(cue)
    model = StrictChatModel()

    def whole(state: ListState) -> dict[str, Any]:
        return {"messages": [*state["messages"], model.invoke(state["messages"])]}

    def whole_command(state: ListState) -> Command[Any]:
        return Command(update=whole(state))

    for node in (whole, whole_command):
        builder = StateGraph(ListState)
        builder.add_node("model", advisor.wrap(node))
        builder.add_edge(START, "model")
        result = builder.compile().invoke(say(PDF))
        assert advice_in(model.requests[-1])
        assert [m.content for m in result["messages"]] == [PDF, "done"]


def test_subgraph_gets_advice_and_mode(example_skills):
    modes = CountingModes("fast")
    with SkillCue(example_skills, plugins=[modes], cache=False) as cue:
        model = StrictChatModel()
        advisor = SkillAdvisor(cue)
        inner = StateGraph(MessagesState)
        inner.add_node("skills", advisor)
        inner.add_node("model", advisor.wrap(lambda s: {"messages": [model.invoke(s["messages"])]}))
        inner.add_edge(START, "skills")
        inner.add_edge("skills", "model")
        outer = StateGraph(MessagesState)
        outer.add_node("agent", inner.compile())
        outer.add_edge(START, "agent")
        app = outer.compile(checkpointer=InMemorySaver())
        result = app.invoke(say(PDF), config(skill_mode="fast"))
    assert modes.calls == [("fast", PDF)]
    assert len(advice_in(model.requests[0])) == 1
    assert [m.content for m in result["messages"]] == [PDF, "done"]


def test_the_custom_stream_tells_what_was_advised(cue):
    app = build(cue, StrictChatModel(script=[call("skill_list")]))
    events = list(app.stream(say(PDF), config(), stream_mode="custom"))
    assert len(events) == 1
    assert events[0]["type"] == "skill_advice"
    assert events[0]["skills"][0] == "pdf-form-filling"
    assert json.loads(json.dumps(events[0])) == events[0]
    silent = list(app.stream(say(THANKS), config(), stream_mode="custom"))
    assert silent[0]["decision"] == "abstain"
    assert silent[0]["reason"]


def test_advice_is_not_in_the_message_stream(cue):
    app = build(cue, StrictChatModel())
    streamed = list(app.stream(say(PDF), config(), stream_mode="messages"))
    assert streamed
    assert ADVICE_OPEN not in repr(streamed)


def test_twenty_concurrent_runs_never_share_a_mode(example_skills):
    names = ["one", "two", "three", "four"]
    modes = CountingModes(*names, delay=0.01)
    with SkillCue(example_skills, plugins=[modes], cache=False) as cue:
        app = build(cue, StrictChatModel(strict=False))

        async def run(number: int) -> None:
            text = f"{PDF} number {number}"
            await app.ainvoke(say(text), config(str(number), skill_mode=names[number % 4]))

        async def all_runs() -> None:
            await asyncio.gather(*(run(number) for number in range(20)))

        asyncio.run(all_runs())
    assert len(modes.calls) == 20
    for mode, text in modes.calls:
        assert mode == names[int(text.rsplit(" ", 1)[1]) % 4]


async def test_searches_run_off_the_event_loop(example_skills):
    """How long a slow one stalls the loop is measured by the benchmarks."""
    modes = CountingModes("slow")
    with SkillCue(example_skills, mode="slow", plugins=[modes], cache=False) as cue:
        app = build(cue, StrictChatModel(script=[call("skill_lookup", query="merge pdf")]))
        await app.ainvoke(say(PDF), config())
    assert len(modes.threads) == 2
    assert threading.get_ident() not in modes.threads


def test_what_a_thread_persists_is_small_and_plain(cue):
    app = build(cue, StrictChatModel())
    texts = [PDF, INVOICES, THANKS, "Scale a bread recipe to 40 people", "A pod keeps crashing"]
    for turn in range(40):
        app.invoke(say(f"{texts[turn % 5]} ({turn})"), config())
    records = app.checkpointer.get(config())["channel_values"]["skillcue_turns"]
    assert len(json.dumps(records)) <= 1000
    modes = {record[0] for key, record in records.items() if key != DECLINED_KEY}
    assert modes == {"skillsight"}


def test_own_message_placement(cue):
    model = StrictChatModel(strict=False)
    build(cue, model, placement="own_message").invoke(say(PDF), config())
    human = model.requests[0]
    assert [m.type for m in human] == ["human", "human"]
    assert human[0].content == PDF
    assert human[1].additional_kwargs["lc_source"] == "skill_advice"


def test_two_advisors_in_one_graph(cue, tmp_path):
    from conftest import write_skill

    write_skill(
        tmp_path, "visa-forms", "Fill in the visa application form of our travel desk.",
        "# Visa\n\nFill in the visa application form, page by page.\n",
    )  # fmt: skip
    saver = InMemorySaver()
    model = StrictChatModel()

    def call_model(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    def run(text: str, other: SkillCue) -> None:
        first, second = SkillAdvisor(cue), SkillAdvisor(other, prefix="travel_")
        builder = StateGraph(MessagesState)
        builder.add_node("skills", first)
        builder.add_node("travel", second)
        builder.add_node("model", first.wrap(second.wrap(call_model)))
        builder.add_edge(START, "skills")
        builder.add_edge("skills", "travel")
        builder.add_edge("travel", "model")
        app = builder.compile(checkpointer=saver)
        assert set(app.invoke(say(text), config())) == {"messages"}

    with SkillCue(tmp_path) as other:
        run(PDF, other)
    with SkillCue(tmp_path) as other:  # only the records are left
        run(THANKS, other)
    text = model.requests[0][0].content
    assert 'skill_load(name="pdf-form-filling")' in text
    assert 'travel_skill_load(name="visa-forms")' in text
    assert wire(model.requests[1]).startswith(wire(model.requests[0]))


def test_nudge_for_a_graph_with_the_tools_and_no_push(example_skills):
    with SkillCue(example_skills, nudge=True) as cue:
        model = StrictChatModel()
        app = build(cue, model, push=False)
        app.invoke(say(PDF), config())
        app.invoke(say(THANKS), config())
        with pytest.raises(UnknownModeError):
            app.invoke(say(PDF), config("2", skill_mode="nope"))
    system, human = model.requests[0]
    assert "skill_lookup" in system.content
    assert human.content.startswith(PDF)
    assert "skill_lookup" in human.content
    assert wire(model.requests[1]).startswith(wire(model.requests[0]))
    stored = app.get_state(config()).values["messages"]
    assert [m.content for m in stored] == [PDF, "done", THANKS, "done"]


def test_a_wrapped_prompt_of_a_prebuilt_agent_keeps_its_advice(cue):
    advisor = SkillAdvisor(cue)

    def prompt(state: dict[str, Any]) -> list[Any]:
        return list(state["messages"])

    wrapped = advisor.wrap(prompt)
    request = wrapped({"messages": [HumanMessage(PDF)]})
    assert len(advice_in(request)) == 1


def test_a_malformed_record_in_a_checkpoint_is_dropped():
    from skillcue.langchain_state import newer_records

    assert newer_records({"a": None, "b": ["bm25"], "c": 7}, {}) == {"b": ["bm25"]}
    assert newer_records({"a": ["bm25"]}, {"b": ["bm25", "x@x"]}) == {"b": ["bm25", "x@x"]}
