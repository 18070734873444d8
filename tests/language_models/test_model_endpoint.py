"""``openai:MODEL@http://...`` against a real server on this machine."""

from __future__ import annotations

import socket
import traceback

import pytest
from support.asking_mode import openai_server

from skillcue_adapters.language_models import CallLimits, open_language_model
from skillcue_hooks.errors import LanguageModelError
from skillcue_hooks.language import ChatMessage, Completion, ToolCall, ToolSpec, Usage

QUICK = CallLimits(backoff_s=0.001, longest_backoff_s=0.002)
KEY = "sk-SECRET"
SEARCH = ToolSpec("search", "Finds skills.", {"type": "object", "properties": {}})


def body(content="yes", usage=True, **message):
    made = {"choices": [{"message": {"role": "assistant", "content": content, **message}}]}
    tokens = {"prompt_tokens": 12, "completion_tokens": 3}
    return {**made, "usage": tokens} if usage else made


def ask(server, *messages, options="", **more):
    model = open_language_model(f"openai:tiny@{server.url}{options}", limits=QUICK)
    asked = messages or (ChatMessage("user", "Grüße"),)
    return model.complete(asked, max_tokens=9, timeout_s=20, **more)


def test_request_and_answer():
    with openai_server(body()) as server:
        found = ask(server, ChatMessage("system", "S"), ChatMessage("user", "Grüße"))
    assert found == Completion("yes", (), Usage(1, 12, 3, None))
    assert server.paths == ["/v1/chat/completions"]
    assert server.requests == [
        {
            "model": "tiny",
            "max_tokens": 9,
            "messages": [
                {"role": "system", "content": "S"},
                {"role": "user", "content": "Grüße"},
            ],
        }
    ]


def test_prices_and_temperature():
    with openai_server(body()) as server:
        model = open_language_model(
            f"openai:tiny@{server.url}/?temperature=0", prices={"tiny": (1.0, 2.0)}
        )
        found = model.complete([ChatMessage("user", "x")], max_tokens=9, timeout_s=20)
    assert found.usage.money == pytest.approx(18e-6)
    assert server.requests[0]["temperature"] == 0.0
    assert server.paths == ["/v1/chat/completions"]


def test_tools_there_and_back():
    function = {"name": "search", "arguments": '{"query": "pdf"}'}
    calls = [{"id": "c1", "type": "function", "function": function}]
    with openai_server(body(None, tool_calls=calls), body()) as server:
        found = ask(server, tools=[SEARCH])
        assert found.tool_calls == (ToolCall("c1", "search", {"query": "pdf"}),)
        assert found.text == ""
        ask(
            server,
            ChatMessage("user", "x"),
            ChatMessage("assistant", "", found.tool_calls),
            ChatMessage("tool", "3 skills", tool_call_id="c1"),
        )
    assert server.requests[0]["tools"][0]["function"]["name"] == "search"
    assert "tools" not in server.requests[1]
    assert server.requests[1]["messages"][1]["tool_calls"] == calls
    assert server.requests[1]["messages"][2] == {
        "role": "tool",
        "content": "3 skills",
        "tool_call_id": "c1",
    }


WRITTEN = ["{not json", "[1]", "3", "null", "[" * 10_000]


@pytest.mark.parametrize("arguments", WRITTEN, ids=["cut", "list", "number", "null", "deep"])
def test_arguments_that_are_no_object_are_handed_on_as_they_were_written(arguments):
    calls = [{"id": "c1", "function": {"name": "search", "arguments": arguments}}]
    with openai_server(body(None, tool_calls=calls)) as server:
        found = ask(server, tools=[SEARCH]).tool_calls
    assert found == (ToolCall("c1", "search", {}, invalid=arguments),)


@pytest.mark.parametrize("arguments", [None, "", {}, "{}"], ids=repr)
def test_no_arguments_are_no_mistake(arguments):
    calls = [{"id": "c1", "function": {"name": "search", "arguments": arguments}}]
    with openai_server(body(None, tool_calls=calls)) as server:
        assert ask(server, tools=[SEARCH]).tool_calls == (ToolCall("c1", "search", {}),)


def test_tokens_are_estimated_where_the_server_does_not_count():
    with openai_server(body(usage=False)) as server:
        assert ask(server).usage.estimated


@pytest.mark.parametrize(
    ("garbage", "says"),
    [
        (b"\n<!doctype html><p>SECRET", "answers with a page of HTML"),
        (b"{}", "answers with JSON without choices"),
        (b'{"choices": []}', "answers with JSON without choices"),
        (b'{"choices": [3]}', "answers with JSON that is no chat completion"),
        (b"[]", "answers with JSON without choices"),
        (
            b'{"choices": [{"message": {"tool_calls": [{}]}}]}',
            "answers with JSON that is no chat completion",
        ),
        (b'{"error": {"message": "SECRET"}}', "answers with JSON that reports an error"),
        (b"\xffSECRET", "answers with something else than JSON"),
        (b"[" * 100_000, "answers with something else than JSON"),
        (b"", "answers with nothing"),
    ],
    ids=lambda value: value[:40] if isinstance(value, bytes) else "",
)
def test_something_else_than_a_completion_is_no_answer(garbage, says):
    with openai_server((200, {}, garbage)) as server:
        with pytest.raises(LanguageModelError, match=says) as caught:
            ask(server)
        assert len(server.requests) == 1
    assert f"{server.url}/chat/completions" in caught.value.message
    assert "?" in caught.value.cure or "log" in caught.value.cure
    assert "SECRET" not in "".join(traceback.format_exception(caught.value))


def test_a_page_where_an_api_should_be():
    with openai_server((200, {}, b"<html>")) as server:
        for url, cure in [
            (server.url, "Is the address an API, or does a login or a proxy stand before it?"),
            (server.url.removesuffix("/v1"), "Does the address have to end in /v1?"),
        ]:
            model = open_language_model(f"openai:tiny@{url}")
            with pytest.raises(LanguageModelError, match="a page of HTML") as caught:
                model.complete([ChatMessage("user", "x")], max_tokens=9, timeout_s=20)
            assert caught.value.cure == cure


def test_statuses_that_pass_are_tried_again_and_others_not(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with openai_server((429, {}, {}), (503, {}, {}), body()) as server:
        assert ask(server).text == "yes"
        assert len(server.requests) == 3
    with openai_server((401, {}, {"error": f"Incorrect key {KEY}"}), body()) as server:
        with pytest.raises(LanguageModelError, match=r"\(HTTPError, status 401\)") as caught:
            ask(server)
        assert len(server.requests) == 1
        assert KEY not in repr(caught.value)


def test_the_key_is_read_for_each_call_and_is_in_no_name(monkeypatch):
    with openai_server(body()) as server:
        model = open_language_model(f"openai:tiny@{server.url}")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        model.complete([ChatMessage("user", "x")], max_tokens=9, timeout_s=20)
        assert open_language_model(f"openai:tiny@{server.url}").fingerprint == model.fingerprint
        monkeypatch.setenv("MY_KEY", "other")
        ask(server, options="?key_env=MY_KEY")
        monkeypatch.delenv("OPENAI_API_KEY")
        ask(server)
    assert server.keys == [f"Bearer {KEY}", "Bearer other", None]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirection_does_not_take_the_key_along(monkeypatch, status):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with openai_server(body()) as thief:
        moved = (status, {"Location": f"{thief.url}/chat/completions"}, {})
        refused = pytest.raises(LanguageModelError, match=f"status {status}")
        with openai_server(moved) as server, refused:
            ask(server)
        assert thief.requests == []


def test_a_proxy_is_not_asked_for_this_machine(monkeypatch):
    with openai_server((502, {}, {})) as proxy, openai_server(body()) as server:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        assert ask(server).text == "yes"
        assert proxy.requests == []


def test_nobody_there():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    model = open_language_model(f"openai:tiny@http://127.0.0.1:{port}/v1", limits=QUICK)
    with pytest.raises(LanguageModelError, match="ConnectionRefusedError"):
        model.complete([ChatMessage("user", "x")], max_tokens=9, timeout_s=20)


def test_models_and_places_have_names_of_their_own():
    specs = ["a@http://h/v1", "b@http://h/v1", "a@http://g/v1", "a@http://h/v1?temperature=0"]
    names = {open_language_model(f"openai:{spec}").fingerprint for spec in specs}
    assert len(names) == 4
    assert open_language_model("openai:@cf/x/y@http://h/v1").name == "@cf/x/y"
