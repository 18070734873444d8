"""Traces and shadow in real agents: loads find their turn, and a shadow leaves no mark."""

from __future__ import annotations

import asyncio
import json

import pytest

pytest.importorskip("langgraph")
pytest.importorskip("llama_index.core")

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from llama_index.core.agent.workflow import FunctionAgent
from support import llamaindex_models
from support.langchain_models import StrictChatModel, call, wire

from skillcue import SkillCue
from skillcue.langchain import SkillMiddleware
from skillcue.langgraph import SkillAdvisor
from skillcue.llamaindex import SkillAdviceEvent, with_skills
from skillcue.push.messages import ADVICE_OPEN
from skillcue.traces.reading import join_records

PDF = "I have to fill in a PDF form for my visa application"
THANKS = "Thanks, that is great!"
PDF_ID = "pdf-form-filling@office/pdf-form-filling"
LOAD = {"name": "pdf-form-filling"}


class Kept(list):
    def write(self, record):
        self.append(json.loads(json.dumps(record)))


@pytest.fixture
def sink():
    return Kept()


@pytest.fixture(params=[False, True], ids=["pushing", "shadow"])
def cue(request, example_skills, sink):
    with SkillCue(example_skills, mode="bm25", traces=sink, shadow=request.param) as cue:
        yield cue


def state_graph(cue, model):
    advisor = SkillAdvisor(cue)
    bound = model.bind_tools(advisor.tools())

    def call_model(state: MessagesState):
        return {"messages": [bound.invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("skills", advisor)
    builder.add_node("model", advisor.wrap(call_model))
    builder.add_node("tools", ToolNode(advisor.tools()))
    builder.add_edge(START, "skills")
    builder.add_edge("skills", "model")
    builder.add_conditional_edges("model", tools_condition, ["tools", END])
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=InMemorySaver())


def chain_agent(cue, model):
    return create_agent(
        model, tools=[], middleware=[SkillMiddleware(cue)], checkpointer=InMemorySaver()
    )


def stream(app, text, thread="1"):
    config = {"configurable": {"thread_id": thread}}
    given = {"messages": [HumanMessage(text)]}
    return list(app.stream(given, config, stream_mode="custom"))


def assert_recorded(sink, shadow):
    traces = join_records(sink)
    assert [turn.decision for turn in traces.turns] == ["offer", "abstain"]
    assert [turn.loaded for turn in traces.turns] == [frozenset({PDF_ID}), frozenset()]
    assert {r["shadow"] for r in sink if r["kind"] == "turn"} == {shadow}
    assert all(r["turn"] for r in sink)


@pytest.mark.parametrize("build", [state_graph, chain_agent])
def test_langgraph_and_langchain(build, cue, sink):
    model = StrictChatModel(script=[call("skill_load", **LOAD), "filled", "welcome"])
    app = build(cue, model)
    events = [*stream(app, PDF), *stream(app, THANKS)]
    assert_recorded(sink, cue.shadow)
    assert [(e["decision"], e["shadow"]) for e in events] == [
        ("offer", cue.shadow),
        ("abstain", cue.shadow),
    ]
    assert events[0]["ids"] == [PDF_ID]
    seen = "".join(wire(request) for request in model.requests)
    assert (ADVICE_OPEN in seen) != cue.shadow
    assert "[skill pdf-form-filling@" in seen  # pull works as always


@pytest.mark.parametrize("build", [state_graph, chain_agent])
def test_a_shadow_sends_what_no_push_sends(build, example_skills):
    sent = []
    for options in ({"shadow": True}, {}):
        model = StrictChatModel(script=[call("skill_load", **LOAD), "filled", "welcome"])
        with SkillCue(example_skills, mode="bm25", **options) as cue:
            if not options:
                cue.advisor = lambda load_tool: _Silent()
            app = build(cue, model)
            stream(app, PDF)
            stream(app, THANKS)
        sent.append([wire(request) for request in model.requests])
    assert sent[0] == sent[1]


class _Silent:
    def plan(self, messages, **_options):
        from skillcue.push.advisor import Plan

        return Plan()


def test_concurrent_threads_keep_their_loads_apart(example_skills, sink):
    texts = {
        "a": PDF,
        "b": "Please match the 40 bank payments of March to our open invoices in invoices.csv",
    }
    names = {"a": "pdf-form-filling", "b": "invoice-reconciliation"}
    with SkillCue(example_skills, mode="bm25", traces=sink) as cue:

        def reply(messages):
            thread = next(t for t, text in texts.items() if text in str(messages[0].content))
            if messages[-1].type == "tool":
                from langchain_core.messages import AIMessage

                return AIMessage("done")
            return call("skill_load", name=names[thread])

        app = chain_agent(cue, StrictChatModel(script=[reply] * 40))

        async def run(number, thread):
            config = {"configurable": {"thread_id": f"{thread}{number}"}}
            await app.ainvoke({"messages": [HumanMessage(texts[thread])]}, config)

        async def everything():
            await asyncio.gather(*(run(n, t) for n in range(5) for t in texts))

        asyncio.run(everything())
    traces = join_records(sink)
    assert len(traces.turns) == 10
    for turn in traces.turns:
        assert turn.loaded == frozenset(turn.offered[:1])


async def run_events(agent, text, memory=None):
    handler = agent.run(user_msg=text, memory=memory)
    events = [e async for e in handler.stream_events() if isinstance(e, SkillAdviceEvent)]
    await handler
    return events


async def test_llamaindex(cue, sink):
    from llama_index.core.memory import ChatMemoryBuffer

    script = [llamaindex_models.call("skill_load", **LOAD), "filled", "welcome"]
    llm = llamaindex_models.StrictLlm(script=script)
    agent = with_skills(FunctionAgent(llm=llm, system_prompt="SYS"), cue)
    memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)
    events = [
        *await run_events(agent, PDF, memory),
        *await run_events(agent, THANKS, memory),
    ]
    assert_recorded(sink, cue.shadow)
    assert [(e.decision, e.shadow) for e in events] == [
        ("offer", cue.shadow),
        ("abstain", cue.shadow),
    ]
    seen = "".join(llamaindex_models.wire(request) for request in llm.requests)
    assert (ADVICE_OPEN in seen) != cue.shadow
    assert "[skill pdf-form-filling@" in seen
