"""The scripted model's rules, and the bridge that lets one model serve both frameworks."""

from __future__ import annotations

import asyncio
import json

import pytest
from conftest import write_skill
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock
from llama_index.core.tools import FunctionTool
from support.langchain_models import StrictChatModel, call

from skillcue import SkillCue
from skillcue.demo.bridge import LangChainLLM, from_langchain, to_langchain
from skillcue.demo.models import MODEL_ENV, SCRIPTED_NOTICE, chat_model, llama_llm
from skillcue.demo.scripted import ScriptedChatModel
from skillcue.langchain_tools import skill_tools
from skillcue.placement import place

PDF = "I have to fill in a PDF form for my visa application"


@pytest.fixture
def cue(example_skills):
    with SkillCue(example_skills) as cue:
        yield cue


def advised(cue: SkillCue, *messages):
    """The messages with the advice of their last user turn, as an integration places it."""
    plan = cue.advisor("skill_load").plan(list(messages))
    return place(list(messages), plan.placements)


def test_it_loads_the_first_skill_it_is_offered(cue):
    model = ScriptedChatModel().bind_tools(skill_tools(cue))
    request = advised(cue, HumanMessage(PDF))
    (made,) = model.invoke(request).tool_calls
    assert (made["name"], made["args"]) == ("skill_load", {"name": "pdf-form-filling"})
    assert model.invoke(request).tool_calls[0]["id"] == made["id"]


def test_a_name_with_quotes_and_markup_is_loaded_as_it_is(tmp_path):
    name = 'Fill "in" <forms> & more'
    write_skill(tmp_path, "forms", "Fills in forms of any kind, pdf forms too.")
    path = tmp_path / "forms" / "SKILL.md"
    path.write_text(path.read_text().replace("name: forms", f"name: '{name}'"))
    with SkillCue(tmp_path) as cue:
        model = ScriptedChatModel().bind_tools(skill_tools(cue))
        (made,) = model.invoke(advised(cue, HumanMessage(PDF))).tool_calls
        loaded = cue.load(made["args"]["name"])
        assert loaded.skill.name == name
        answer = cue.tools().load(made["args"]["name"]).text
    reply = model.invoke([AIMessage("", tool_calls=[made]), ToolMessage(answer, tool_call_id="x")])
    assert name in reply.text


def test_it_calls_no_tool_it_has_not(cue):
    request = advised(cue, HumanMessage(PDF))
    assert not ScriptedChatModel().invoke(request).tool_calls
    lookup_only = [t for t in skill_tools(cue) if t.name == "skill_lookup"]
    assert not ScriptedChatModel().bind_tools(lookup_only).invoke(request).tool_calls


def test_it_looks_at_the_newest_message_only(cue):
    model = ScriptedChatModel().bind_tools(skill_tools(cue))
    conversation = [*advised(cue, HumanMessage(PDF)), AIMessage("Done."), HumanMessage("Thanks!")]
    assert not model.invoke(conversation).tool_calls


@pytest.mark.parametrize(
    ("text", "searches"),
    [
        ("Which skills do you have for kubernetes?", True),
        ("Please find a skill for tuning queries", True),
        ("list the skills about pdf", True),
        ("What is the capital of Australia?", False),
        ("My skills are rusty", False),
        ("Show me the report. Then use your skill in cooking.", False),
    ],
)
def test_it_searches_when_it_is_asked_to(cue, text, searches):
    reply = ScriptedChatModel().bind_tools(skill_tools(cue)).invoke([HumanMessage(text)])
    assert bool(reply.tool_calls) == searches
    if searches:
        assert reply.tool_calls[0]["name"] == "skill_lookup"
        assert reply.tool_calls[0]["args"] == {"query": text}


def test_it_names_the_skill_and_its_first_step(cue, tmp_path):
    result = cue.tools().load("pdf-form-filling").text
    reply = ScriptedChatModel().invoke([ToolMessage(result, tool_call_id="1")])
    assert reply.text == (
        "I follow pdf-form-filling, which begins with: 1. Find out what kind of form it is."
    )
    body = "# Title\n\n```sh\n## no heading\n```\n\nText.\n"
    write_skill(tmp_path, "plain", "Has a title only.", body)
    with SkillCue(tmp_path) as other:
        text = other.tools().load("plain").text
    reply = ScriptedChatModel().invoke([ToolMessage(text, tool_call_id="1")])
    assert reply.text == "I follow plain, which begins with: Title."


def test_it_names_what_a_search_found_and_repeats_errors(cue):
    model = ScriptedChatModel()
    found = cue.tools().lookup("kubernetes pods", k=2)
    reply = model.invoke([ToolMessage(found.text, tool_call_id="1")]).text
    assert all(hit["name"] in reply for hit in found.data["hits"])
    error = cue.tools().load("no-such-skill").text
    assert model.invoke([ToolMessage(error, tool_call_id="1")]).text == error.split("\n")[0]


def test_the_scripted_model_is_announced(monkeypatch, capsys):
    monkeypatch.delenv(MODEL_ENV, raising=False)
    assert isinstance(chat_model(), ScriptedChatModel)
    assert capsys.readouterr().out == f"{SCRIPTED_NOTICE}\n"
    said: list[str] = []
    chat_model(said.append)
    assert said == [SCRIPTED_NOTICE]


def test_llama_llm_wraps_the_model_it_is_given():
    model = ScriptedChatModel()
    llm = llama_llm(model)
    assert llm.model is model
    assert llm.metadata.is_function_calling_model
    assert llm.metadata.model_name == "skillcue-scripted"


# the bridge


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


ADD = FunctionTool.from_defaults(add)
HISTORY = [ChatMessage("You calculate.", role="system"), ChatMessage("What is 2 + 3?")]


async def every_way(llm: LangChainLLM, script, **options):
    """The last response of each of the four ways to chat with tools."""
    arguments = {"tools": [ADD], "chat_history": HISTORY, **options}
    llm.model.script = [script] * 4
    yield "sync", llm.chat_with_tools(**arguments)
    yield "async", await llm.achat_with_tools(**arguments)
    yield "stream", list(llm.stream_chat_with_tools(**arguments))[-1]
    chunks = [chunk async for chunk in await llm.astream_chat_with_tools(**arguments)]
    yield "async stream", chunks[-1]


async def test_tools_are_bound_and_called_for_real_in_all_four_ways():
    llm = LangChainLLM(StrictChatModel())
    async for way, response in every_way(llm, call("add", a=2, b=3)):
        (selection,) = llm.get_tool_calls_from_response(response)
        assert selection.tool_name == "add", way
        assert selection.tool_kwargs == {"a": 2, "b": 3}, way
        assert llm.model.tool_names == ["add"]
    for request in llm.model.requests:
        assert [type(m) for m in request] == [SystemMessage, HumanMessage]
        assert [m.text for m in request] == ["You calculate.", "What is 2 + 3?"]


async def test_text_answers_in_all_four_ways():
    llm = LangChainLLM(StrictChatModel())
    async for way, response in every_way(llm, "It is five."):
        assert response.message.content == "It is five.", way
        assert llm.get_tool_calls_from_response(response, error_on_no_tool_call=False) == []
        with pytest.raises(ValueError, match="called no tool"):
            llm.get_tool_calls_from_response(response)


async def test_completions_in_all_four_ways():
    llm = LangChainLLM(StrictChatModel(script=["a b c"] * 4))
    assert llm.complete("Say it").text == "a b c"
    assert (await llm.acomplete("Say it")).text == "a b c"
    assert list(llm.stream_complete("Say it"))[-1].text == "a b c"
    chunks = [chunk async for chunk in await llm.astream_complete("Say it")]
    assert "".join(chunk.delta or "" for chunk in chunks) == "a b c"


def test_an_answer_goes_back_as_the_message_it_was():
    answer = AIMessage(
        [{"type": "thinking", "thinking": "hm", "signature": "s1"}, {"type": "text", "text": "Hi"}],
        tool_calls=[{"name": "add", "args": {"a": 1, "b": 2}, "id": "c1"}],
        id="run-1",
    )
    message = from_langchain(answer)
    stored = ChatMessage.model_validate_json(message.model_dump_json())  # as a chat store keeps it
    assert to_langchain([stored]) == [answer]
    assert message.content == "Hi"


def test_tool_results_keep_their_call():
    result = ChatMessage("5", role="tool", additional_kwargs={"tool_call_id": "c1"})
    (message,) = to_langchain([result])
    assert (message.type, message.text, message.tool_call_id) == ("tool", "5", "c1")


def test_advice_in_a_block_of_its_own_arrives():
    message = ChatMessage(blocks=[TextBlock(text="Fill in the form"), TextBlock(text="<advice>")])
    (converted,) = to_langchain([message])
    assert converted.text == "Fill in the form\n\n<advice>"


def test_what_is_no_text_is_refused_rather_than_dropped():
    with pytest.raises(TypeError, match="ImageBlock"):
        to_langchain([ChatMessage(blocks=[ImageBlock(url="http://127.0.0.1/x.png")])])


def test_a_required_tool_is_passed_on():
    seen: dict[str, object] = {}

    class Chooser(StrictChatModel):
        def bind_tools(self, tools, **kwargs):
            seen.update(kwargs)
            return super().bind_tools(tools, **kwargs)

    llm = LangChainLLM(Chooser(script=["x", "y"]))
    llm.chat_with_tools([ADD], chat_history=HISTORY, tool_required=True)
    assert seen == {"tool_choice": "any"}
    seen.clear()
    llm.chat_with_tools([ADD], chat_history=HISTORY)
    assert seen == {}


def test_scripted_tools_come_from_both_frameworks():
    @tool
    def skill_lookup(query: str) -> str:
        """Search."""
        return query

    asked = "which skills are there?"
    langchain = ScriptedChatModel().bind_tools([skill_lookup]).invoke([HumanMessage(asked)])
    llm = LangChainLLM(ScriptedChatModel())
    spec = FunctionTool.from_defaults(
        lambda query: query, name="skill_lookup", description="Search"
    )
    response = asyncio.run(llm.achat_with_tools([spec], chat_history=[ChatMessage(asked)]))
    (selection,) = llm.get_tool_calls_from_response(response)
    assert selection.tool_kwargs == langchain.tool_calls[0]["args"]
    assert json.loads(response.message.model_dump_json())["role"] == "assistant"
