"""``--llm`` where a mode needs a language model, against a real server on this machine."""

from __future__ import annotations

import argparse
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.asking_mode import OpenAiServer, openai_server
from support.conversations import write_garden
from support.refining import TASK, good_script, write_skills

from skillcue.commands.arguments import build_parser

TEXT = "my lettuce looks sad"
VARIANTS = {"variants": ["keep slugs off my lettuce", "lettuce damaged by snails"]}
USAGE = {"prompt_tokens": 1000, "completion_tokens": 100}


def said(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": USAGE}


@pytest.fixture
def garden(tmp_path: Path) -> Path:
    return write_garden(tmp_path / "garden")


@pytest.fixture
def server() -> Iterator[OpenAiServer]:
    with openai_server(said(json.dumps(VARIANTS))) as found:
        yield found


def spec(server: OpenAiServer) -> str:
    return f"openai:tiny@{server.url}"


def test_a_search_is_expanded_and_says_what_it_took(process, garden, server):
    command = ("search", TEXT, "--skills", garden, "--mode", "expand", "--llm", spec(server))
    result = process(*command, "--price", "2,10")
    assert result.code == 0, result.err
    assert "slug-control" in result.out
    assert "cost: 1 call, 1000 tokens in, 100 out, money 0.0030" in result.out
    found = process(*command, "--json").json
    assert (found["mode"], found["degraded"]) == ("expand", None)
    assert found["cost"]["calls"] == 1 and found["cost"]["money"] is None
    assert len(server.requests) == 2


def test_an_expanded_search_is_explained(process, garden, server):
    command = ("explain", TEXT, "--skills", garden, "--mode", "expand", "--llm", spec(server))
    result = process(*command)
    assert result.code == 0, result.err
    assert "cost: 1 call, 1000 tokens in, 100 out, no known price" in result.out
    assert process(*command, "--json").json["cost"]["calls"] == 1


def test_turns_of_a_conversation_are_explained(process, garden, server, tmp_path):
    talk = tmp_path / "talk.json"
    talk.write_text(json.dumps([{"role": "user", "content": TEXT}]))
    options = ("--skills", garden, "--mode", "expand", "--llm", spec(server))
    result = process("explain", "--conversation", talk, *options)
    assert result.code == 0, result.err
    assert "cost" in result.out and "1000 tokens in" in result.out
    [turn] = process("explain", "--conversation", talk, *options, "--json").json["turns"]
    assert turn["cost"]["calls"] == 1


def test_a_model_that_fails_is_said_beside_the_answer(process, garden):
    with openai_server(said("no")) as server:
        options = ("--skills", garden, "--mode", "expand", "--llm", spec(server))
        result = process("explain", TEXT, *options)
    assert result.code == 0
    assert result.out.count("not expanded: ") == 2  # the ranking and the decision
    assert len(server.requests) == 3  # once for both


def test_a_task_is_refined_by_search(process, tmp_path):
    skills = write_skills(tmp_path / "skills")
    with openai_server(*map(said, good_script())) as server:
        result = process(
            "search", TASK, "--skills", skills, "--mode", "refine", "--llm", spec(server)
        )
    assert "pdf-to-workbook" in result.out
    assert "cost: 4 calls" in result.out


def test_refine_knows_the_price(cli, tmp_path):
    skills = write_skills(tmp_path / "skills")
    with openai_server(*map(said, good_script())) as server:
        options = ("--skills", skills, "--base", "bm25", "--price", "1,10")
        result = cli("refine", TASK, "--llm", spec(server), *options)
    assert "cost: 4 calls, 4000 tokens in, 400 out, money 0.0080" in result.out


SEARCHING = (
    ("search", "x"),
    ("explain", "x"),
    ("index", "--cache", "cache"),
    ("export-pairs", "--out", "pairs.jsonl"),
    ("demo",),
)
LLM = "--llm openai:MODEL@URL"


@pytest.mark.parametrize("command", SEARCHING, ids=lambda command: command[0])
@pytest.mark.parametrize(
    ("options", "cure"),
    [
        (("--mode", "expand"), LLM),
        (("--mode", "refine"), LLM),
        (("--price", "1,2"), LLM),
        (("--llm-timeout", "5"), LLM),
        (("--llm", "gpt-5"), "Write openai:MODEL@http://host:port/v1\n"),
        (("--mode", "two_stage"), "--cross-encoder onnx:/path/to/model"),
        (("--mode", "two_stage", "--cross-encoder", "x"), "lm:model.\n"),
    ],
    ids=["expand", "refine", "price", "time", "llm", "two_stage", "cross-encoder"],
)
def test_what_is_missing_is_named_as_it_is_typed(
    cli, garden, tmp_path, monkeypatch, command, options, cure
):
    monkeypatch.chdir(tmp_path)
    result = cli(*command, "--skills", garden, *options)
    assert (result.code, result.out) == (2, "")
    assert cure in result.err
    assert_is_typed(result.err)


def assert_is_typed(text: str) -> None:
    for python in ("SkillCue", "pass ", "Pass ", "llm=", "cache=", "skill_"):
        assert python not in text


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "1e9"])
def test_what_is_no_time_is_said(cli, garden, seconds):
    options = ("--skills", garden, "--llm", "openai:m@http://127.0.0.1:1/v1")
    result = cli("search", "x", *options, f"--llm-timeout={seconds}")
    assert (result.code, result.out) == (2, "")
    assert "Give seconds above 0, to 86,400." in result.err


def test_a_model_that_hangs_is_given_up_after_the_time_that_was_given(cli, garden, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes requests and answers none
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        options = ("--skills", garden, "--cache", tmp_path / "cache", "--llm", f"openai:m@{url}")
        result = cli("augment", *options, "--llm-timeout", "0.2")
    assert result.code == 1
    assert "the model gives no answer" in result.err  # while it goes on
    assert "Raise --llm-timeout (0.2), or take a faster model." in result.err
    assert "CallLimits" not in result.err.splitlines()[-1]


@pytest.mark.parametrize("price", ["1", "a,b", "-1,2", "nan,1", "inf,1", "1e13,1", "1,2,3", ""])
def test_what_is_no_price_is_said(cli, garden, price):
    options = ("--skills", garden, "--llm", "openai:m@http://127.0.0.1:1/v1", f"--price={price}")
    result = cli("search", "x", *options)
    assert (result.code, result.out) == (2, "")
    assert "Give two numbers from 0 to 1e+12, such as --price 0.15,0.60." in result.err


@pytest.mark.parametrize("command", [c for c in SEARCHING if c[0] != "index"], ids=lambda c: c[0])
def test_augment_needs_a_folder(cli, garden, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    result = cli(*command, "--skills", garden, "--augment")
    assert result.code == 2
    assert "Add --cache FOLDER, the folder of `skillcue augment --cache FOLDER`." in result.err
    assert_is_typed(result.err)


@pytest.mark.parametrize(
    ("arguments", "cure"),
    [
        (["nothing"], "`skillcue search` or `skillcue list`"),
        (["bee-hotel", "--page", "9"], "Give --page 1, or none."),
    ],
)
def test_load_names_commands_and_not_tools(cli, garden, arguments, cure):
    result = cli("load", *arguments, "--skills", garden)
    assert cure in result.err
    assert_is_typed(result.err)


def commands() -> dict[str, argparse.ArgumentParser]:
    [found] = [
        action.choices
        for action in build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    return dict(found)


COMMON = {
    "--mode": {"demo", "search", "explain", "index", "export-pairs", "calibrate", "serve"},
    "--llm": {
        "demo",
        "search",
        "explain",
        "refine",
        "index",
        "augment",
        "export-pairs",
        "eval",
        "serve",
    },
    "--cache": {
        "demo",
        "search",
        "explain",
        "refine",
        "index",
        "augment",
        "export-pairs",
        "eval",
        "serve",
    },
    "--skills": {*commands()} - {"plugins", "publish"},
    "--json": {*commands()} - {"serve"},
    "--traceback": {*commands()},
}
COMMON["--price"] = COMMON["--llm-timeout"] = COMMON["--llm"]


@pytest.mark.parametrize("option", COMMON)
def test_who_has_what_is_common(option):
    having = {
        name for name, parser in commands().items() if option in parser._option_string_actions
    }
    assert having >= COMMON[option]


@pytest.mark.parametrize("name", sorted(commands()))
def test_examples_of_help_can_be_parsed(name):
    """No example names an option that is not there."""
    import shlex

    parser = commands()[name]
    assert parser.epilog is not None
    examples = [
        line.strip()
        for line in parser.epilog.splitlines()
        if line.startswith(f"  skillcue {name} ")
    ]
    assert examples
    for example in examples:
        arguments = shlex.split(example.split(" > ")[0])[1:]
        assert build_parser().parse_args(arguments).module == name.replace("-", "_")
