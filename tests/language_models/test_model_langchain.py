"""LangChain chat models, and that nothing of an inner call reaches the stream of a graph."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langgraph")

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, SystemMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import Field
from support.asking_mode import AskingModes
from support.langchain_models import StrictChatModel, call

from skillcue import SkillCue
from skillcue.langgraph import SkillAdvisor
from skillcue_adapters.language_models import open_language_model
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.language import ChatMessage, ToolCall, ToolSpec, Usage

INNER, OUTER = "inner-words-of-the-mode", "outer-words-of-the-agent"
PDF = "I have to fill in a PDF form for my visa application"
TOKENS = {"input_tokens": 11, "output_tokens": 4, "total_tokens": 15}
SEARCH = ToolSpec(
    "search", "Finds.", {"type": "object", "properties": {"query": {"type": "string"}}}
)


def ask(model, *messages, **options):
    asked = messages or (ChatMessage("system", "S"), ChatMessage("user", "U"))
    return model.complete(asked, max_tokens=7, timeout_s=20, **options)


class LimitedModel(StrictChatModel):
    model_name: str = "limited-1"
    max_tokens: int | None = None
    limits: list[Any] = Field(default_factory=list)

    def _reply(self, messages):
        self.limits.append(self.max_tokens)
        return super()._reply(messages)


def test_text_and_tokens():
    chat = StrictChatModel(script=[AIMessage("yes", usage_metadata=TOKENS), "no usage"])
    model = open_language_model(chat)
    assert ask(model).text == "yes"
    assert model.usage == {"": Usage(1, 11, 4, None)}
    assert ask(model).usage.estimated
    assert isinstance(chat.requests[0][0], SystemMessage)


def test_tools_there_and_back():
    chat = StrictChatModel(script=[call("search", "c1", query="pdf"), "done"])
    model = open_language_model(chat)
    assert model.calls_tools
    found = ask(model, tools=[SEARCH])
    assert found.tool_calls == (ToolCall("c1", "search", {"query": "pdf"}),)
    assert chat.tool_names == ["search"]
    ask(
        model,
        ChatMessage("user", "U"),
        ChatMessage("assistant", "", found.tool_calls),
        ChatMessage("tool", "3 skills", tool_call_id="c1"),
        tools=[SEARCH],
    )
    sent = chat.requests[1]
    assert sent[1].tool_calls[0]["args"] == {"query": "pdf"}
    assert (sent[2].content, sent[2].tool_call_id) == ("3 skills", "c1")


def test_malformed_arguments_are_handed_on_as_they_were_written():
    bad = {"name": "search", "args": "{oops", "id": "c1", "error": "no JSON"}
    chat = StrictChatModel(script=[AIMessage("", invalid_tool_calls=[bad])])
    assert ask(open_language_model(chat), tools=[SEARCH]).tool_calls == (
        ToolCall("c1", "search", {}, invalid="{oops"),
    )


def test_a_model_without_bind_tools_is_given_none():
    model = open_language_model(FakeListChatModel(responses=["yes"]))
    assert not model.calls_tools
    assert ask(model).text == "yes"


def test_answers_are_bounded_and_a_lower_bound_of_the_user_stays():
    free, tight = LimitedModel(), LimitedModel(max_tokens=3)
    ask(open_language_model(free))
    ask(open_language_model(tight))
    assert (free.limits, tight.limits) == ([7], [3])
    assert free.max_tokens is None


def test_the_name_is_the_models_and_the_price_table_goes_by_it():
    model = open_language_model(LimitedModel(), prices={"limited-1": (1.0, 1.0)})
    assert model.name == "limited-1"
    assert ask(model).usage.money > 0
    other = open_language_model(LimitedModel(model_name="limited-2"))
    assert other.fingerprint != model.fingerprint
    assert open_language_model(LimitedModel()).fingerprint == model.fingerprint


def test_a_chain_around_a_model_is_refused():
    chain = StrictChatModel() | (lambda message: message)
    with pytest.raises(ConfigurationError, match="chain") as caught:
        open_language_model(chain)
    assert "bind_tools" in caught.value.cure


def graph(inner: StrictChatModel, skills: Any, *, leaks: bool = False) -> Any:
    """An agent whose advice comes from a mode that asks `inner`; the advisor runs in the model's
    node. With `leaks`, the node asks `inner` itself as well.
    """
    cue = SkillCue(skills, mode="asks", llm=inner, plugins=[AskingModes()])
    outer = StrictChatModel(script=[OUTER])

    def call_model(state: MessagesState) -> dict[str, Any]:
        if leaks:
            inner.invoke([*state["messages"]])
        return {"messages": [outer.invoke(state["messages"])]}

    advisor = SkillAdvisor(cue)
    builder = StateGraph(MessagesState)
    builder.add_node("skills", advisor)
    builder.add_node("model", advisor.wrap(call_model))
    builder.add_edge(START, "skills")
    builder.add_edge("skills", "model")
    builder.add_edge("model", END)
    return builder.compile()


SAY = {"messages": [("user", PDF)]}


class Heard(BaseCallbackHandler):
    """Keeps everything that a run tells its callbacks."""

    run_inline = True

    def __init__(self) -> None:
        self.heard: list[str] = []

    def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        self.heard.append(repr((messages, kwargs.get("tags"))))

    def on_llm_end(self, response: Any, **kwargs: Any) -> None:
        self.heard.append(repr(response))


async def streamed(app: Any) -> dict[str, str]:
    """All that the graph streams, by the way of streaming."""
    heard = Heard()
    config = {"callbacks": [heard]}
    modes = ["messages", "updates", "values", "custom", "debug"]
    return {
        "stream": repr(list(app.stream(SAY, config, stream_mode=modes))),
        "astream": repr([e async for e in app.astream(SAY, stream_mode=modes)]),
        "events": repr([e async for e in app.astream_events(SAY, version="v2")]),
        "callbacks": repr(heard.heard),
    }


async def test_nothing_of_an_inner_call_reaches_the_stream_of_a_graph(example_skills):
    inner = StrictChatModel(script=[INNER] * 9, strict=False)
    app = graph(inner, example_skills)
    for way, text in (await streamed(app)).items():
        assert "pdf-form-filling" in text or way == "callbacks"
        assert INNER not in text, way
    assert len(inner.requests) == 1  # the ranking is cached afterwards, the model asked once


@pytest.mark.parametrize("way", ["stream", "astream", "events", "callbacks"])
async def test_each_way_would_show_a_call_that_a_node_makes_itself(example_skills, way):
    inner = StrictChatModel(script=[INNER] * 9, strict=False)
    app = graph(inner, example_skills, leaks=True)
    assert INNER in (await streamed(app))[way]


@pytest.mark.parametrize("way", ["stream", "astream", "events"])
async def test_each_way_alone_shows_nothing_when_the_model_is_really_asked(example_skills, way):
    inner = StrictChatModel(script=[INNER], strict=False)
    app = graph(inner, example_skills)
    if way == "stream":
        shown = repr(list(app.stream(SAY, stream_mode=["messages", "debug"])))
    elif way == "astream":
        shown = repr([e async for e in app.astream(SAY, stream_mode=["messages", "debug"])])
    else:
        shown = repr([e async for e in app.astream_events(SAY, version="v2")])
    assert len(inner.requests) == 1
    assert OUTER in shown
    assert INNER not in shown


def test_the_call_is_tagged_and_the_models_own_callbacks_hear_it():
    heard = Heard()
    model = open_language_model(StrictChatModel(script=["yes"], callbacks=[heard]))
    ask(model)
    assert len(heard.heard) == 2
    assert "nostream" in heard.heard[0]
