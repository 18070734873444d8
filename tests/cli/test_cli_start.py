"""The front door: help, version, usage errors, start time, and the reference page."""

from __future__ import annotations

import argparse
import importlib.metadata
import re
from pathlib import Path

import pytest

import skillcue
from skillcue import cli as front
from skillcue.commands.arguments import build_parser

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
COMMANDS = (
    "demo",
    "search",
    "explain",
    "list",
    "load",
    "refine",
    "doctor",
    "eval",
    "calibrate",
    "cost",
    "stats",
    "next",
    "index",
    "augment",
    "export-pairs",
    "lock",
    "publish",
    "serve",
    "plugins",
)


def parsers() -> dict[str, argparse.ArgumentParser]:
    action = next(a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(action.choices)


def test_help_loads_no_framework_and_nothing_heavy(process):
    code = (
        "import sys\n"
        "from skillcue.cli import main\n"
        "assert main(sys.argv[1:]) == 0\n"
        "heavy = 'numpy scipy rich yaml pydantic langchain_core langgraph langchain llama_index'\n"
        "print('LOADED', sorted(set(heavy.split()) & set(sys.modules)))"
    )
    for arguments in (["--help"], ["search", "--help"], ["demo", "--help"]):
        assert "LOADED []" in process(*arguments, code=code).out


def test_version(cli):
    assert cli("--version").out == f"skillcue {skillcue.__version__}\n"


def test_the_console_script_is_the_front_door():
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="skillcue")
    assert script.load() is front.main


def test_every_command_is_there():
    assert tuple(parsers()) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples_that_parse(cli, command):
    result = cli(command, "--help")
    assert (result.code, result.err) == (0, "")
    examples = re.findall(rf"^  (?:\w+=\S+ )?skillcue {command}(.*)$", result.out, re.MULTILINE)
    assert examples
    for example in examples:
        words = [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|(\S+)', example)]
        words = words[: words.index(">")] if ">" in words else words
        assert build_parser().parse_args([command, *words]).module == command.replace("-", "_")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["serch", "x"], "invalid choice: 'serch'"),
        (["search"], "the following arguments are required: QUERY"),
        (["search", "merge", "two", "pdfs"], "unrecognized arguments: two pdfs"),
        (["search", "x", "--k", "many"], "argument --k: invalid int value: 'many'"),
        (["search", "x", "--skill", "y"], "unrecognized arguments: --skill y"),
        (["explain"], "one of the arguments QUERY --conversation is required"),
        (["explain", "x", "--conversation", "y"], "not allowed with argument"),
        (["demo", "--framework", "crewai"], "invalid choice: 'crewai'"),
        (["load"], "the following arguments are required: NAME"),
    ],
)
def test_wrong_usage_is_one_error_and_where_to_find_help(cli, arguments, said):
    result = cli(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("error: ")
    assert said in result.err
    assert re.search(r"\n       Try: skillcue.* --help\n\Z", result.err)


def test_the_reference_page_has_every_command_and_option():
    page = REFERENCE.read_text("utf-8")
    shared, *sections = re.split(r"^## `skillcue (?=\w)", page, flags=re.MULTILINE)
    by_name = {section.partition("`")[0]: section for section in sections}
    assert tuple(by_name) == COMMANDS
    for name, parser in parsers().items():
        for action in parser._actions:
            for option in action.option_strings or [str(action.metavar)]:
                assert f"`{option}" in by_name[name] + shared, f"{name} {option}"


def test_the_reference_page_has_no_option_that_does_not_exist():
    known = {o for p in parsers().values() for a in p._actions for o in a.option_strings}
    named = set(re.findall(r"`(--[a-z-]+)", REFERENCE.read_text("utf-8")))
    assert named <= known


def test_the_reference_page_has_every_exit_code_and_default():
    page = REFERENCE.read_text("utf-8")
    codes = {getattr(front, name) for name in front.__all__ if name.startswith("EXIT_")}
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)} == codes
    for command, default in (("search", 5), ("explain", 3)):
        assert parsers()[command].get_default("k") == default
        section = page.partition(f"## `skillcue {command}`")[2].partition("\n## ")[0]
        assert f"(default: {default})" in section
