"""LlamaIndex LLMs, and that nothing of an inner call reaches the stream of an agent."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms import types
from llama_index.core.base.llms.types import ChatMessage as TheirMessage
from llama_index.core.base.llms.types import ChatResponse
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.llms.mock import MockLLM
from support.asking_mode import AskingModes
from support.llamaindex_models import StrictLlm, call, calls_of, run_turn

from skillcue import SkillCue
from skillcue.llamaindex import with_skills
from skillcue_adapters.language_models import open_language_model
from skillcue_hooks.language import ChatMessage, ToolCall, ToolSpec, Usage

pytestmark = [
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Skipping serialization of known unserializable key"),
    pytest.mark.filterwarnings("ignore:ServiceManager is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called from within:DeprecationWarning"),
]

INNER, OUTER = "inner-words-of-the-mode", "outer-words-of-the-agent"
PDF = "I have to fill in a PDF form for my visa application"
PARAMETERS = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
SEARCH = ToolSpec("search", "Finds skills.", PARAMETERS)


def ask(model, *messages, **options):
    asked = messages or (ChatMessage("system", "S"), ChatMessage("user", "U"))
    return model.complete(asked, max_tokens=7, timeout_s=20, **options)


class CountingLlm(StrictLlm):
    """Tells its tokens where `place` says."""

    place: str = "raw"

    def chat(self, messages, **kwargs):
        tokens = {"prompt_tokens": 11, "completion_tokens": 4}
        response = super().chat(messages, **kwargs)
        if self.place == "raw":
            return ChatResponse(message=response.message, raw={"usage": tokens})
        return ChatResponse(message=response.message, additional_kwargs=tokens)


def test_text_and_roles():
    llm = StrictLlm(script=["yes"])
    model = open_language_model(llm)
    assert (ask(model).text, model.name) == ("yes", "scripted")
    assert [m.role.value for m in llm.requests[0]] == ["system", "user"]
    assert model.usage[""].estimated


@pytest.mark.parametrize("place", ["raw", "beside"])
def test_tokens_are_taken_from_where_the_integration_puts_them(place):
    assert ask(open_language_model(CountingLlm(place=place))).usage == Usage(1, 11, 4, None)


def test_tools_there_and_back():
    llm = StrictLlm(script=[call("search", "c1", query="pdf"), "done"])
    model = open_language_model(llm)
    assert model.calls_tools
    found = ask(model, tools=[SEARCH])
    assert found.tool_calls == (ToolCall("c1", "search", {"query": "pdf"}),)
    offered = llm.tools[0][0].metadata
    assert (offered.name, offered.get_parameters_dict()) == ("search", PARAMETERS)
    ask(
        model,
        ChatMessage("user", "U"),
        ChatMessage("assistant", "", found.tool_calls),
        ChatMessage("tool", "3 skills", tool_call_id="c1"),
        tools=[SEARCH],
    )
    sent = llm.requests[1]
    assert calls_of(sent[1]) == [{"id": "c1", "name": "search", "args": {"query": "pdf"}}]
    assert sent[2].content == "3 skills"


class MendingLlm(StrictLlm):
    """Makes an empty object of what is no JSON, as OpenAI's integration does."""

    def get_tool_calls_from_response(self, response, error_on_no_tool_call=True, **kwargs):
        return [ToolSelection(tool_id="c1", tool_name="search", tool_kwargs={})]


def in_a_block(written):
    block = types.ToolCallBlock(tool_call_id="c1", tool_name="search", tool_kwargs=written)
    return TheirMessage(role="assistant", blocks=[block])


def beside_the_blocks(written):
    function = SimpleNamespace(name="search", arguments=written)
    calls = [SimpleNamespace(id="c1", function=function)]
    return TheirMessage(role="assistant", additional_kwargs={"tool_calls": calls})


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(
            in_a_block,
            marks=pytest.mark.skipif(
                not hasattr(types, "ToolCallBlock"), reason="came with LlamaIndex 0.14"
            ),
        ),
        beside_the_blocks,
    ],
)
def test_malformed_arguments_are_handed_on_as_they_were_written(message):
    llm = MendingLlm(script=[message('{"query": "pd'), message('{"query": "pdf"}')])
    model = open_language_model(llm)
    cut = ToolCall("c1", "search", {}, invalid='{"query": "pd')
    assert ask(model, tools=[SEARCH]).tool_calls == (cut,)
    whole = ToolCall("c1", "search", {"query": "pdf"})
    assert ask(model, tools=[SEARCH]).tool_calls == (whole,)


def test_a_model_that_calls_no_functions_is_given_no_tools():
    assert not open_language_model(StrictLlm(function_calling=False)).calls_tools
    model = open_language_model(MockLLM(max_tokens=3))
    assert not model.calls_tools
    assert ask(model).text


def test_answers_are_bounded_and_a_lower_bound_of_the_user_stays():
    long = "one two three four five six seven eight nine ten"
    said = {
        own: ask(open_language_model(MockLLM(max_tokens=own)), ChatMessage("user", long)).text
        for own in (None, 3, 50)
    }
    assert len(said[3]) < len(said[None]) == len(said[50])


async def test_nothing_of_an_inner_call_reaches_the_stream_of_an_agent(example_skills):
    inner = StrictLlm(script=[INNER] * 9, strict=False)
    outer = StrictLlm(script=[OUTER])
    with SkillCue(example_skills, mode="asks", llm=inner, plugins=[AskingModes()]) as cue:
        agent = with_skills(FunctionAgent(llm=outer), cue)
        result, events = await run_turn(agent, PDF)
    shown = repr(events) + "".join(map(str, events))
    assert len(inner.requests) == 1
    assert OUTER in shown and OUTER in str(result)
    assert "pdf-form-filling" in shown
    assert INNER not in shown + str(result)


def test_the_message_type_is_theirs():
    llm = StrictLlm()
    ask(open_language_model(llm))
    assert all(type(message) is TheirMessage for message in llm.requests[0])
