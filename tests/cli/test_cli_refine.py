"""``skillcue refine`` against a real server on this machine that plays a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.asking_mode import openai_server
from support.refining import TASK, command, good_script, write_skills

USAGE = {"prompt_tokens": 100, "completion_tokens": 20}


def said(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": USAGE}


@pytest.fixture
def options(tmp_path: Path) -> list[str]:
    skills = write_skills(tmp_path / "skills")
    return ["--skills", str(skills), "--base", "bm25", "--cache", str(tmp_path / "cache")]


def test_steps_cost_and_result_are_shown(cli: Any, options: list[str]) -> None:
    with openai_server(*map(said, good_script())) as server:
        spec = f"openai:tiny@{server.url}"
        result = cli("refine", TASK, "--llm", spec, *options)
        again = cli("refine", TASK, "--llm", spec, *options)
    assert result.code == 0, result.err
    assert "1 found: pdf-tables" in result.out
    assert "read workbook-merge@workbook-merge, page 1 of 1" in result.out
    assert "handed in pdf-to-workbook" in result.out
    assert "cost: 4 calls, 400 tokens in, 80 out, no known price" in result.out
    assert "Merge the sheets." in result.out
    assert "(when it was made)" in again.out
    assert len(server.requests) == 4


def test_json(cli: Any, options: list[str]) -> None:
    with openai_server(*map(said, good_script())) as server:
        result = cli("refine", TASK, "--llm", f"openai:tiny@{server.url}", "--json", *options)
    found = result.json
    assert found["refined"]
    assert found["cost"]["calls"] == 4
    assert [step["command"] for step in found["steps"]] == ["keyword", "detail", "detail", "finish"]
    (skill,) = found["skills"]
    assert skill["derived_from"] == ["pdf-tables@pdf-tables", "workbook-merge@workbook-merge"]
    assert found["hits"][0]["id"] == skill["id"]
    assert Path(skill["path"]).is_file()


def test_a_failure_is_said_and_the_base_ranking_shown(cli: Any, options: list[str]) -> None:
    with openai_server(said("I would rather not.")) as server:
        result = cli("refine", TASK, "--llm", f"openai:tiny@{server.url}", *options)
    assert result.code == 1
    assert "malformed twice" in result.err
    assert "pdf-tables" in result.out
    assert len(server.requests) == 2


def test_bounds_are_options(cli: Any, options: list[str]) -> None:
    bounds = ["--commands", "1", "--tokens", "9000", "--seconds", "30"]
    with openai_server(said(command("keyword", query="pdf"))) as server:
        result = cli("refine", TASK, "--llm", f"openai:tiny@{server.url}", *bounds, *options)
    assert result.code == 1
    assert "it would take more than 1 commands (--commands)" in result.err


def test_money_is_a_bound_that_is_named_as_it_is_typed(cli: Any, options: list[str]) -> None:
    bounds = ["--price", "1000,1000", "--money", "0.5"]
    with openai_server(said(command("keyword", query="pdf"))) as server:
        result = cli("refine", TASK, "--llm", f"openai:tiny@{server.url}", *bounds, *options)
    assert result.code == 1
    assert "it would cost more than 0.5 (--money)" in result.err


def test_an_empty_library_costs_nothing(cli: Any, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with openai_server(said("hello")) as server:
        result = cli("refine", TASK, "--llm", f"openai:tiny@{server.url}", "--skills", empty)
    assert (result.code, result.out) == (1, "")
    assert f"There is no skill in {empty}" in result.err and "refined" not in result.err
    assert not server.requests


@pytest.mark.parametrize(
    "arguments",
    [[TASK], ["", "--llm", "openai:m@http://127.0.0.1:1/v1"], [TASK, "--llm", "x"]],
    ids=["no model", "no task", "no such model"],
)
def test_wrong_usage(cli: Any, options: list[str], arguments: list[str]) -> None:
    assert cli("refine", *arguments, *options).code == 2


def test_what_one_process_refined_another_one_loads(
    process: Any, options: list[str], tmp_path: Path
) -> None:
    with openai_server(*map(said, good_script())) as server:
        made = process("refine", TASK, "--llm", f"openai:tiny@{server.url}", "--json", *options)
    (skill,) = made.json["skills"]
    library, cache = options[:2], ["--cache", str(tmp_path / "cache")]
    by_id = process("load", skill["id"], *library, *cache)
    by_name = process("load", skill["name"], *library, *cache)
    assert by_id == by_name
    assert (by_id.code, by_id.err) == (0, "")
    assert by_id.out == skill["body"] + "\n"
    elsewhere = process("load", skill["name"], *library)
    assert elsewhere.code == 1
    assert "No skill is named 'pdf-to-workbook'" in elsewhere.err


def test_a_name_of_several_is_an_error_with_their_ids(cli: Any, options: list[str]) -> None:
    ids = []
    for task in (TASK, f"{TASK} again"):
        script = good_script()
        script[-1] = script[-1].replace("Extract the tables with", f"{len(ids)}. Extract with")
        with openai_server(*map(said, script)) as server:
            made = cli("refine", task, "--llm", f"openai:tiny@{server.url}", "--json", *options)
        ids.append(made.json["skills"][0]["id"])
    result = cli("load", "pdf-to-workbook", *options[:2], *options[4:])
    assert result.code == 1
    assert "2 refined skills of different tasks are named 'pdf-to-workbook'." in result.err
    assert all(skill_id in result.err for skill_id in ids)


def test_steps_are_shown_on_a_terminal_as_they_happen(
    terminal: Any, process: Any, options: list[str]
) -> None:
    fresh = options[:-2]
    with openai_server(*map(said, good_script())) as server:
        shown = terminal("refine", TASK, "--llm", f"openai:tiny@{server.url}", *fresh)
    assert shown.code == 0
    assert "asking the model" in shown.out
    before, _, _ = shown.out.partition("argument")
    assert "4. finish: handed in pdf-to-workbook" in before
    for more in ([], ["--json"]):
        with openai_server(*map(said, good_script())) as server:
            quiet = process("refine", TASK, "--llm", f"openai:tiny@{server.url}", *more, *fresh)
        assert (quiet.code, quiet.err) == (0, "")
