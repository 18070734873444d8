"""Tenants in agents of both frameworks: what a run is shown is what its run-time values allow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import pydantic
import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.workflow import Context
from support.langchain_models import StrictChatModel, call
from support.llamaindex_models import StrictLlm
from support.llamaindex_models import call as llama_call
from support.policies import Observer
from support.tenants import TENANTS, Answer, World, mark

from skillcue import PushSettings, SkillCue
from skillcue.langchain import SkillMiddleware
from skillcue.langchain import SkillRetriever as LangChainRetriever
from skillcue.langgraph import SkillAdvisor
from skillcue.llamaindex import SkillAdviceEvent, with_skills
from skillcue.llamaindex import SkillRetriever as LlamaRetriever
from skillcue_hooks import Skill
from skillcue_hooks.errors import ConfigurationError

NAMES = ("alder-one", "birch-two", "alder-one", "cedar-three", "dogwood-four", "elm-five")
"""The first one hides behind the third for those who may not see it."""
SHOWN = {"ann": {1, 2}, "bob": {0, 3, 4}, "eve": set()}
EVERYTHING = "garden work with hedges and tools"


@pytest.fixture
def world() -> World:
    skills = tuple(
        Skill(
            f"{name}@x/s{n}",
            name,
            f"Garden work with hedges and tools: {mark(n)}.",
            body=f"# Steps\n\nDo {mark(n)}.\n",
        )
        for n, name in enumerate(NAMES)
    )
    made = World(skills)
    made.policy.answers = {user: Answer("shows", frozenset(SHOWN[user])) for user in TENANTS}
    return made


@pytest.fixture
def cue(world: World, tmp_path: Path) -> SkillCue:
    return SkillCue(
        world.source(),
        mode="bm25",
        plugins=[world.policy, world.roles],
        cache=tmp_path / "cache",
        push=PushSettings(load_tokens=300),
    )


def asks(world: World, user: str) -> list[tuple[str, dict[str, Any]]]:
    """What a curious model calls: the lists, each id, and names that are nearly right."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("skill_lookup", {"query": EVERYTHING, "k": 9}),
        ("skill_list", {}),
        ("skill_load", {"name": "alder-one"}),
        ("skill_load", {"name": "alder-onf"}),
    ]
    calls += [("skill_load", {"name": skill.id}) for skill in world.skills]
    calls += [("skill_load", {"name": f"{skill.id}x"}) for skill in world.skills]
    return calls


def check(world: World, user: str, results: list[tuple[dict[str, Any], str]]) -> None:
    """The answers to `asks`: nothing hidden, and everything that is allowed."""
    own = world.visible(user, world.skills)
    assert len(results) == len(asks(world, user))
    for arguments, text in results:
        assert world.leaks(user, world.skills, text, *map(str, arguments.values())) == []
        if arguments.get("name") in {skill.id for skill in own}:
            assert "[skill " in text or "already loaded" in text
    for (_, text), first in zip(
        results[:2], (f"{len(own)} skill", f"{len(own)} skill"), strict=True
    ):
        assert text.startswith(first) if own else "no skill" in text.lower()
    if own and any(skill.name == "alder-one" for skill in own):
        first_own = next(skill for skill in own if skill.name == "alder-one")
        assert f"[skill {first_own.id} " in results[2][1]


# LangGraph and LangChain


@dataclass
class AsDataclass:
    user: str
    roles: list[str] = field(default_factory=list)


class AsModel(pydantic.BaseModel):
    user: str = pydantic.Field(exclude=True)
    roles: list[str] = []


class AsTyped(TypedDict):
    user: str
    roles: list[str]


class AsTuple(NamedTuple):
    user: str
    roles: tuple[str, ...] = ()


class AsObject:
    def __init__(self, user: str, roles: list[str]) -> None:
        self.user, self.roles = user, roles


SCHEMAS: list[Any] = [AsDataclass, AsModel, AsTyped, AsTuple, AsObject, dict, None]


def given(schema: Any, user: str, roles: list[str]) -> dict[str, Any]:
    """How a run is told who asks; None stands for ``configurable``."""
    config: dict[str, Any] = {"configurable": {"thread_id": user}}
    if schema is None:
        config["configurable"].update(user=user, roles=roles)
        return {"config": config}
    return {"config": config, "context": schema(user=user, roles=roles)}


def middleware_agent(cue: SkillCue, model: StrictChatModel, schema: Any) -> Any:
    return create_agent(
        model,
        [],
        middleware=[SkillMiddleware(cue)],
        context_schema=schema,
        checkpointer=InMemorySaver(),
    )


def graph_agent(cue: SkillCue, model: StrictChatModel, schema: Any) -> Any:
    advisor = SkillAdvisor(cue)
    bound = model.bind_tools(advisor.tools())

    def call_model(state: MessagesState) -> dict[str, Any]:
        return {"messages": [bound.invoke(state["messages"])]}

    builder = StateGraph(MessagesState, context_schema=schema)
    builder.add_node("skills", advisor)
    builder.add_node("model", advisor.wrap(call_model))
    builder.add_node("tools", ToolNode(advisor.tools()))
    builder.add_edge(START, "skills")
    builder.add_edge("skills", "model")
    builder.add_conditional_edges("model", tools_condition, {"tools": "tools", END: END})
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=InMemorySaver())


def async_graph_agent(cue: SkillCue, model: StrictChatModel, schema: Any) -> Any:
    """Attached to a graph whose model node is a coroutine function."""

    async def call_model(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState, context_schema=schema)
    tools = ToolNode([])
    builder.add_node("model", call_model)
    builder.add_node("tools", tools)
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition, {"tools": "tools", END: END})
    builder.add_edge("tools", "model")
    cue.attach(builder, tools="tools")
    bound = model.bind_tools(list(tools.tools_by_name.values()))
    return builder.compile(checkpointer=InMemorySaver())


def reused(build: Any) -> Any:
    """As `build`, with one agent for all: nothing but the values of a run says whose it is."""
    made: list[tuple[StrictChatModel, Any]] = []

    def again(cue: SkillCue, model: StrictChatModel, schema: Any) -> Any:
        if not made:
            made.append((model, build(cue, model, schema)))
        first, agent = made[0]
        first.script[:] = model.script
        first.requests.clear()
        model._requests = first.requests
        return agent

    return again


def script(world: World, user: str) -> list[Any]:
    return [
        call(name, f"c{n}", **arguments) for n, (name, arguments) in enumerate(asks(world, user))
    ]


def curious_turn(build: Any, cue: SkillCue, world: World, user: str, schema: Any, how: str) -> None:
    """One run of an agent that tries everything; every request, event and answer is looked at."""
    model = StrictChatModel(script=script(world, user))
    agent = build(cue, model, schema)
    said = f"use the skill birch-two, /alder-one and {EVERYTHING}"
    inputs = {"messages": [HumanMessage(said)]}
    modes = ["custom", "updates"]
    options = {**given(schema, user, world.context(user)["roles"]), "stream_mode": modes}
    if how == "sync":
        parts = list(agent.stream(inputs, **options))
    else:

        async def stream() -> list[Any]:
            return [part async for part in agent.astream(inputs, **options)]

        parts = asyncio.run(stream())
    events = [part for mode, part in parts if mode == "custom"]
    assert [event["type"] for event in events] == ["skill_advice"]
    assert world.leaks(user, world.skills, events, said) == []
    records = [str(part) for mode, part in parts if mode == "updates" and "skills" in part]
    assert world.leaks(user, world.skills, records, said) == []
    asked = asks(world, user)
    messages = agent.get_state(options["config"]).values["messages"]
    results = [str(m.content) for m in messages if m.type == "tool"]
    check(world, user, [(a, text) for (_, a), text in zip(asked, results, strict=True)])
    for request in model.requests:
        advised = str(request[0].content)
        assert world.leaks(user, world.skills, advised, said) == []
    first = str(model.requests[0][0].content)
    assert ("birch-two" in first.replace(said, "")) is (1 in SHOWN[user])


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda s: getattr(s, "__name__", "configurable"))
@pytest.mark.parametrize("build", [middleware_agent, graph_agent])
def test_a_langgraph_run_sees_what_its_context_allows(cue, world, build, schema):
    for how in ("sync", "async"):
        for user in TENANTS:
            curious_turn(build, cue, world, user, schema, how)


@pytest.mark.parametrize("schema", [AsDataclass, None], ids=["context", "configurable"])
@pytest.mark.parametrize(
    ("build", "how"),
    [
        (middleware_agent, "sync"),
        (middleware_agent, "async"),
        (graph_agent, "sync"),
        (graph_agent, "async"),
        (async_graph_agent, "async"),
    ],
)
def test_one_langgraph_agent_goes_by_the_values_of_each_run(cue, world, build, how, schema):
    shared = reused(build)
    for user in TENANTS:
        curious_turn(shared, cue, world, user, schema, how)


@pytest.mark.parametrize("build", [middleware_agent, graph_agent])
def test_langgraph_runs_of_several_tenants_at_once(cue, world, build):
    with ThreadPoolExecutor(6) as pool:
        runs = [
            pool.submit(curious_turn, build, cue, world, user, AsDataclass, how)
            for user in TENANTS
            for how in ("sync", "async")
        ]
        for run in runs:
            run.result()


def test_a_langgraph_run_without_a_tenant_sees_nothing(cue, world):
    model = StrictChatModel(script=[call("skill_list", "c1")])
    agent = middleware_agent(cue, model, None)
    config = {"configurable": {"thread_id": "1"}}
    messages = agent.invoke({"messages": [HumanMessage(EVERYTHING)]}, config)["messages"]
    assert messages[-2].content == "The library holds no skill."
    assert model.requests[0][0].content == EVERYTHING


def test_a_retriever_sees_what_its_config_or_the_run_around_it_allows(cue, world):
    retriever = LangChainRetriever(cue, k=9)

    def found(user: str, ask: Callable[..., Any] = retriever.invoke) -> set[int]:
        config = {"configurable": world.context(user)}
        return {n for d in ask(EVERYTHING, config) for n in range(7) if mark(n) in d.page_content}

    for user in TENANTS:
        assert found(user) == SHOWN[user]
        assert found(user, lambda *a: asyncio.run(retriever.ainvoke(*a))) == SHOWN[user]
        assert found(user, lambda text, config: retriever.batch([text], config)[0]) == SHOWN[user]
    assert retriever.invoke(EVERYTHING) == []

    def node(state: MessagesState) -> dict[str, Any]:
        inside = retriever.invoke(EVERYTHING)
        again = retriever.invoke(EVERYTHING, {"configurable": {"user": "eve"}})  # no way around it
        return {"messages": [HumanMessage(str([d.id for d in (inside, again)[n]])) for n in (0, 1)]}

    builder = StateGraph(MessagesState, context_schema=AsDataclass)
    builder.add_node("find", node)
    builder.add_edge(START, "find")
    graph = builder.compile()
    out = graph.invoke({"messages": [HumanMessage("x")]}, context=AsDataclass("bob"))["messages"]
    assert out[1].content == out[2].content and out[1].content.count("@") == len(SHOWN["bob"])


def test_what_a_config_says_itself_comes_before_the_run_around_it(cue, world):
    retriever = LangChainRetriever(cue, k=9)
    configs = [{"configurable": world.context("ann")}, {"configurable": {}}, None]

    def found(found_in: list[Any]) -> set[int]:
        return {n for d in found_in for n in range(7) if mark(n) in d.page_content}

    def node(state: MessagesState) -> dict[str, Any]:
        inside = [found(retriever.invoke(EVERYTHING, config)) for config in configs]
        return {"messages": [HumanMessage(str(inside))]}

    builder = StateGraph(MessagesState)
    builder.add_node("find", node)
    builder.add_edge(START, "find")
    given = {"configurable": world.context("bob")}
    out = builder.compile().invoke({"messages": [HumanMessage("x")]}, given)["messages"]
    assert out[1].content == str([SHOWN["ann"], SHOWN["bob"], SHOWN["bob"]])


# LlamaIndex


async def llama_turn(
    cue: SkillCue, world: World, user: str, skilled: tuple[StrictLlm, Any] | None = None
) -> None:
    asked = asks(world, user)
    llm, agent = skilled or skilled_agent(cue)
    llm.requests.clear()
    llm.script = [llama_call(name, f"c{n}", **a) for n, (name, a) in enumerate(asked)]
    ctx = Context(agent)
    for key, value in world.context(user).items():
        await ctx.store.set(key, value)
    said = f"use the skill birch-two, /alder-one and {EVERYTHING}"
    handler = agent.run(user_msg=said, ctx=ctx)
    events = [e async for e in handler.stream_events() if isinstance(e, SkillAdviceEvent)]
    await handler
    assert len(events) == 1
    assert world.leaks(user, world.skills, events, said) == []
    results = [m.content for m in llm.requests[-1] if m.role.value == "tool"]
    check(world, user, [(a, str(text)) for (_, a), text in zip(asked, results, strict=True)])
    first = next(str(m.content) for m in llm.requests[0] if m.role.value == "user")
    assert world.leaks(user, world.skills, first, said) == []
    assert ("birch-two" in first.replace(said, "")) is (1 in SHOWN[user])


def skilled_agent(cue: SkillCue) -> tuple[StrictLlm, Any]:
    llm = StrictLlm()
    return llm, with_skills(FunctionAgent(llm=llm), cue)


async def test_one_llamaindex_agent_goes_by_the_store_of_each_run(cue, world):
    shared = skilled_agent(cue)
    for user in TENANTS:
        await llama_turn(cue, world, user, shared)


async def test_a_llamaindex_run_sees_what_its_store_allows(cue, world):
    for user in TENANTS:
        await llama_turn(cue, world, user)


async def test_llamaindex_runs_of_several_tenants_at_once(cue, world):
    await asyncio.gather(*(llama_turn(cue, world, user) for user in TENANTS * 2))


async def test_a_llamaindex_retriever_sees_what_it_is_told(cue, world):
    def numbers(nodes: list[Any]) -> set[int]:
        return {n for node in nodes for n in range(7) if mark(n) in node.node.text}

    tenant: ContextVar[str] = ContextVar("tenant")
    shared = LlamaRetriever(cue, k=9, run_context=lambda: world.context(tenant.get()))
    for user in TENANTS:
        own = LlamaRetriever(cue, k=9, run_context=world.context(user))
        assert numbers(own.retrieve(EVERYTHING)) == SHOWN[user]
        tenant.set(user)
        assert numbers(shared.retrieve(EVERYTHING)) == SHOWN[user]
        assert numbers(await shared.aretrieve(EVERYTHING)) == SHOWN[user]
    assert LlamaRetriever(cue, k=9).retrieve(EVERYTHING) == []
    with pytest.raises(ConfigurationError, match="run_context is a str"):
        LlamaRetriever(cue, run_context="ann")  # type: ignore[arg-type]


def test_observers_are_told_what_the_run_was_shown(world):
    watch = Observer()
    cue = SkillCue(world.source(), mode="bm25", plugins=[world.policy, world.roles, watch])
    for user in TENANTS:
        cue.lookup(EVERYTHING, k=9, run_context=world.context(user))
        cue.advise([{"role": "user", "content": EVERYTHING}], run_context=world.context(user))
        told = [watch.looked_up.pop()[1], watch.advised.pop()]
        assert world.leaks(user, world.skills, told, EVERYTHING) == []
