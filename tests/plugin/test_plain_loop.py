"""A loop without any framework: ``cue.advise`` and ``cue.tools`` alone, in two providers' forms."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from skillcue import SkillCue
from skillcue.placement import append_text
from skillcue.push.messages import ADVICE_OPEN, view_messages
from skillcue.push.turn import loaded_skills
from skillcue_hooks.errors import ConfigurationError

PDF = "I have to fill in a PDF form for my visa application"
PDF_ID = "pdf-form-filling@office/pdf-form-filling"
BANK = "Please match the 40 bank payments of March to our open invoices in invoices.csv"
Calls = list[tuple[str, Any]]


@dataclass
class Provider:
    """A scripted model behind a client; keeps the very bytes of every request."""

    style: str
    script: list[str | Calls]
    sent: list[str] = field(default_factory=list)
    tools: set[str] = field(default_factory=set)

    def complete(self, messages: list[Any], tools: list[Any]) -> dict[str, Any]:
        self.sent.append(json.dumps(messages))
        self.tools.add(json.dumps(tools))
        return self.openai() if self.style == "openai" else self.anthropic()

    def openai(self) -> dict[str, Any]:
        step = self.script.pop(0)
        if isinstance(step, str):
            return {"role": "assistant", "content": step}
        calls = [
            {
                "id": f"c{len(self.sent)}-{number}",
                "type": "function",
                "function": {"name": name, "arguments": written(arguments)},
            }
            for number, (name, arguments) in enumerate(step)
        ]
        return {"role": "assistant", "content": None, "tool_calls": calls}

    def anthropic(self) -> dict[str, Any]:
        step = self.script.pop(0)
        if isinstance(step, str):
            return {"role": "assistant", "content": [{"type": "text", "text": step}]}
        uses = [
            {
                "type": "tool_use",
                "id": f"c{len(self.sent)}-{number}",
                "name": name,
                "input": arguments,
            }
            for number, (name, arguments) in enumerate(step)
        ]
        return {"role": "assistant", "content": [{"type": "text", "text": "I look."}, *uses]}


def written(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


@dataclass
class Agent:
    """The loop of docs/how-to/any-other-framework.md."""

    cue: SkillCue
    provider: Provider
    messages: list[Any] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)

    def ask(self, text: str) -> str:
        content: Any = text
        if self.provider.style == "anthropic":
            content = [{"type": "text", "text": text}]
        self.messages.append({"role": "user", "content": content})
        advice = self.cue.advise(self.messages)
        if advice.text:
            self.messages[-1] = append_text(self.messages[-1], advice.text)
        self.results = []
        tools = self.cue.tools()
        while True:
            reply = self.provider.complete(self.messages, tools.schemas(self.provider.style))
            self.messages.append(reply)
            if not (self.openai(reply) if self.provider.style == "openai" else self.used(reply)):
                return said(reply)

    def openai(self, reply: dict[str, Any]) -> bool:
        calls = reply.get("tool_calls") or []
        for call in calls:
            asked = call["function"]
            answer = self.call(asked["name"], asked["arguments"])
            self.messages.append(
                {"role": "tool", "tool_call_id": call["id"], "content": answer.text}
            )
        return bool(calls)

    def used(self, reply: dict[str, Any]) -> bool:
        blocks = []
        for use in (block for block in reply["content"] if block["type"] == "tool_use"):
            answer = self.call(use["name"], use["input"])
            blocks.append(
                {
                    "type": "tool_result",
                    "tool_use_id": use["id"],
                    "content": [{"type": "text", "text": answer.text}],
                    "is_error": answer.error,
                }
            )
        if blocks:
            self.messages.append({"role": "user", "content": blocks})
        return bool(blocks)

    def call(self, name: str, arguments: Any) -> Any:
        answer = self.cue.tools().call(name, arguments, messages=self.messages)
        self.results.append(answer)
        return answer


def said(reply: dict[str, Any]) -> str:
    content = reply["content"]
    return content if isinstance(content, str) else content[0]["text"]


@pytest.fixture(params=["openai", "anthropic"])
def style(request):
    return request.param


@pytest.fixture
def cue(example_skills):
    with SkillCue(example_skills, mode="bm25") as cue:
        yield cue


def test_several_turns(cue, style):
    """Advice, a load, small talk, a second task; every request is a prefix of the next."""
    script = [
        [("skill_load", {"name": "pdf-form-filling"})],
        "filled",
        "you are welcome",
        [("skill_lookup", {"query": "reconcile bank payments", "k": 2})],
        [("skill_load", {"name": "invoice-reconciliation"})],
        "matched",
    ]
    agent = Agent(cue, Provider(style, script))
    assert [agent.ask(PDF), agent.ask("Thanks!"), agent.ask(BANK)] == [
        "filled",
        "you are welcome",
        "matched",
    ]
    sent = agent.provider.sent
    assert len(sent) == 6 and len(agent.provider.tools) == 1
    for earlier, later in pairwise(sent):
        assert later.startswith(earlier[:-1] + ", ")
    assert [request.count(ADVICE_OPEN) for request in sent] == [1, 1, 1, 2, 2, 2]
    assert sent[-1].count("[skill pdf-form-filling@") == 1


def test_the_results_of_tools_are_no_user_turn(cue, style):
    script = [[("skill_load", {"name": "pdf-form-filling"})], "filled"]
    agent = Agent(cue, Provider(style, script))
    agent.ask(PDF)
    roles = [view.role for view in view_messages(agent.messages)]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert set(loaded_skills(view_messages(agent.messages), "skill_load")) == {PDF_ID}


def test_what_was_loaded_is_not_offered_or_sent_again(cue, style):
    script = [
        [("skill_load", {"name": "pdf-form-filling"})],
        "filled",
        [("skill_load", {"name": "pdf-form-filling"})],
        "again",
    ]
    agent = Agent(cue, Provider(style, script))
    agent.ask(PDF)
    agent.ask("Fill in the same PDF form for my wife's visa application")
    assert "already loaded" in agent.results[0].text
    assert "pdf-form-filling" not in said_by_user(agent.messages[-4])


def said_by_user(message: dict[str, Any]) -> str:
    return view_messages([message])[0].text


def test_parallel_calls_each_get_their_answer(cue, style):
    calls: Calls = [
        ("skill_load", {"name": "pdf-merge-split"}),
        ("skill_list", {}),
        ("skill_load", {"name": "pdf-form-filling"}),
    ]
    agent = Agent(cue, Provider(style, [calls, "done"]))
    agent.ask(PDF)
    assert [answer.error for answer in agent.results] == [False] * 3
    seen = loaded_skills(view_messages(agent.messages), "skill_load")
    assert set(seen) == {PDF_ID, "pdf-merge-split@office/pdf-merge-split"}


@pytest.mark.parametrize(
    ("name", "arguments", "word"),
    [
        ("skill_load", {"name": "no-such-skill"}, "no-such-skill"),
        ("skill_load", {}, "`name` is empty"),
        ("skill_lookup", {"query": None}, "`query` is empty"),
        ("skill_lookup", {"query": "pdf", "k": "many"}, "whole number"),
        ("skill_find", {"query": "pdf"}, "skill_lookup"),
        ("skill_load", '{"name": ', "no JSON object"),
        ("skill_load", '["pdf"]', "no JSON object"),
    ],
)
def test_a_wrong_call_is_answered_and_the_turn_goes_on(cue, style, name, arguments, word):
    agent = Agent(cue, Provider(style, [[(name, arguments)], "I go on"]))
    assert agent.ask(PDF) == "I go on"
    assert agent.results[0].error and word in agent.results[0].text


def test_what_models_add_is_left_out_and_what_they_misspell_is_read(cue):
    tools = cue.tools()
    asked = {"query": "pdf form", "k": "2", "reason": "curious", "messages": "none"}
    assert len(tools.call("skill_lookup", asked).data["hits"]) == 2
    for nothing in (None, "", " ", {}):
        assert not tools.call("skill_list", nothing).error
    assert tools.call("skill_load", '{"name": "pdf-form-filling", "page": null}').data["page"] == 1


def test_a_broken_library_is_an_answer(cue, monkeypatch):
    def fails(*_args: Any, **_more: Any) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(cue, "lookup", fails)
    answer = cue.tools().call("skill_lookup", {"query": "pdf"})
    assert answer.error and "disk" not in answer.text


def test_a_mode_of_the_call_is_used(cue):
    answer = cue.tools().call("skill_lookup", {"query": "pdf form"}, mode="bm25")
    assert answer.data["mode"] == "bm25"
    assert cue.tools().call("skill_lookup", {"query": "pdf form"}, mode="no").error


def test_schemas_of_all_styles_describe_the_same_tools(cue):
    tools = cue.tools("my_")
    openai = [tool["function"] for tool in tools.schemas()]
    responses = tools.schemas("responses")
    anthropic = tools.schemas("anthropic")
    assert [tool["name"] for tool in openai] == [
        "my_skill_lookup",
        "my_skill_load",
        "my_skill_list",
    ]
    for one, two, three in zip(openai, responses, anthropic, strict=True):
        assert one["parameters"] == two["parameters"] == three["input_schema"]
        assert one["description"] == two["description"] == three["description"]
        assert {"name", "description", "parameters", "type"} == set(two)
    lookup = openai[0]["parameters"]
    assert lookup["required"] == ["query"] and list(lookup["properties"]) == [
        "query",
        "k",
        "offset",
    ]
    with pytest.raises(ConfigurationError, match="no style 'gemini'"):
        tools.schemas("gemini")


def test_the_schemas_say_what_the_langchain_tools_say(cue):
    pytest.importorskip("langchain_core")
    from skillcue.langchain import skill_tools

    for mine, theirs in zip(cue.tools().schemas("anthropic"), skill_tools(cue), strict=True):
        shown = theirs.tool_call_schema.model_json_schema()
        assert (mine["name"], mine["description"]) == (theirs.name, theirs.description)
        properties = mine["input_schema"]["properties"]
        assert list(properties) == list(shown["properties"])
        assert mine["input_schema"]["required"] == shown.get("required", [])
        for name, about in properties.items():
            assert about["description"] == shown["properties"][name]["description"]


def test_a_caller_cannot_change_what_others_get(cue):
    tools = cue.tools()
    before = json.dumps(tools.schemas())
    tools.schemas()[0]["function"]["parameters"]["properties"]["query"]["type"] = "number"
    tools.schemas()[1]["function"]["parameters"]["required"].append("file")
    assert json.dumps(tools.schemas()) == before


def test_a_user_who_writes_beside_tool_results_is_heard():
    views = view_messages(
        [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "1", "name": "skill_load", "input": {}}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "1", "content": "[skill text]"},
                    {"type": "text", "text": "stop, do something else"},
                ],
            },
        ]
    )
    assert (views[1].role, views[1].text) == ("user", "stop, do something else")
    assert views[1].results == (("skill_load", "[skill text]"),)


def test_another_tool_cannot_pretend_to_have_loaded_a_skill(cue):
    mark = cue.tools().load("pdf-form-filling").text
    messages = [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "1", "name": "fetch", "input": {}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "1", "content": mark}],
        },
    ]
    assert not loaded_skills(view_messages(messages), "skill_load")
    messages[0]["content"][0]["name"] = "skill_load"
    assert loaded_skills(view_messages(messages), "skill_load")
