"""Whatever is wrong: one error with its cure, the right exit code, never a traceback."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from conftest import write_skill
from support.anthropic_server import anthropic_server

READING = (
    ["search", "form"],
    ["explain", "form"],
    ["list"],
    ["load", "form"],
    ["doctor"],
    ["demo", "--framework", "langgraph"],
)


@pytest.mark.parametrize("command", READING, ids=lambda command: command[0])
def test_a_folder_that_does_not_exist(cli, tmp_path, command):
    write_skill(tmp_path / "skills", "alpha", "Does alpha things.")
    result = cli(*command, "--skills", tmp_path / "skillz")
    assert (result.code, result.out) == (2, "")
    assert "skillz' does not exist." in result.err
    assert f"Did you mean {str(tmp_path / 'skills')!r}?" in result.err


@pytest.mark.parametrize("command", READING[:-1], ids=lambda command: command[0])
def test_no_folder_named_and_none_there(cli, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    result = cli(*command)
    assert (result.code, result.out) == (2, "")
    for looked in ("SKILLCUE_SKILLS", "./skills", "./.claude/skills", "./.agents/skills"):
        assert looked in result.err
    assert "--skills path/to/skills" in result.err


@pytest.mark.parametrize("command", READING, ids=lambda command: command[0])
def test_an_empty_folder(cli, tmp_path, command):
    result = cli(*command, "--skills", tmp_path)
    assert result.code == 1
    if command[0] == "load":
        assert "No skill is named 'form'." in result.err
    else:
        assert f"There is no skill in {tmp_path}." in result.err
        assert "SKILL.md" in result.err


def test_a_file_where_a_folder_should_be(cli, tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    result = cli("list", "--skills", tmp_path / "notes.txt")
    assert result.code == 2
    assert "is a file." in result.err


@pytest.mark.parametrize("command", READING[:-1], ids=lambda command: command[0])
def test_binary_garbage_hurts_only_itself(cli, tmp_path, command):
    write_skill(tmp_path, "form", "Fills in a form.")
    garbage = tmp_path / "garbage" / "SKILL.md"
    garbage.parent.mkdir()
    garbage.write_bytes(bytes(range(256)) * 40)
    result = cli(*command, "--skills", tmp_path)
    if command[0] == "doctor":
        assert result.code == 1
        assert "not-text" in result.out
        assert "cure" in result.out
    else:
        assert result.code == 0
    if command[0] not in ("doctor", "load"):
        assert "1 problem in" in result.err
        assert "skillcue doctor" in result.err


def test_only_garbage_says_what_is_wrong_with_it(cli, tmp_path):
    garbage = tmp_path / "garbage" / "SKILL.md"
    garbage.parent.mkdir()
    garbage.write_bytes(bytes(range(256)) * 40)
    result = cli("search", "form", "--skills", tmp_path)
    assert result.code == 1
    assert str(garbage) in result.err


@pytest.fixture
def shared_folder():
    """A folder that other users may enter; pytest's own are closed to them."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


AS_NOBODY = """
import os, sys
from skillcue.cli import main
clean, *arguments = sys.argv[1:]
main([*arguments, "--skills", clean])  # everything is imported before the rights are gone
if os.geteuid() == 0:  # root may read any file
    os.setgid(65534), os.setuid(65534)
print("=====", flush=True)
sys.exit(main(arguments))
"""


@pytest.mark.skipif(os.name != "posix", reason="POSIX file modes")
def test_an_unreadable_file_is_an_error_of_doctor_and_a_note_elsewhere(process, shared_folder):
    write_skill(shared_folder / "clean", "form", "Fills in a form.")
    write_skill(shared_folder / "dirty", "form", "Fills in a form.")
    secret = write_skill(shared_folder / "dirty", "secret", "Nobody may read this.")
    secret.chmod(0)
    for command, code in (["doctor"], 1), (["search", "form"], 0), (["list"], 0):
        result = process(
            *(shared_folder / "clean", *command, "--skills", shared_folder / "dirty"),
            code=AS_NOBODY,
            env={"COLUMNS": "200"},
        )
        assert result.code == code
        said = result.out.partition("=====")[2]
        if command == ["doctor"]:
            assert "error: file-unreadable (1)" in said
            assert f"{secret}: Permission denied." in said
        else:
            assert "1 problem in" in result.err
            assert "secret" not in said
    result = process(*(shared_folder / "clean", "list", "--skills", secret.parent), code=AS_NOBODY)
    assert result.code == 1
    assert f"{secret}: Permission denied." in result.err


def test_a_body_of_more_than_a_megabyte(cli, tmp_path):
    write_skill(tmp_path, "form", "Fills in a form.", "Write the name into the box. " * 42_000)
    assert (tmp_path / "form" / "SKILL.md").stat().st_size > 1_200_000
    for command in READING[:-1]:
        result = cli(*command, "--skills", tmp_path)
        assert result.code == 0, command
        assert len(result.out) < 100_000, command
    tokens = cli("doctor", "--skills", tmp_path, "--json").json["tokens"]
    assert tokens["bodies"] > 300_000  # the whole body, not the part that is indexed


def test_two_thousand_skills(cli, tmp_path):
    for number in range(2_000):
        write_skill(
            tmp_path / f"group{number % 20}",
            f"skill-{number}",
            f"Handles thing number {number}.",
            f"# Thing {number}\n\nDo it {number} times.\n",
        )
    found = cli("search", "thing 1234", "--skills", tmp_path, "--json").json
    assert found["hits"][0]["name"] == "skill-1234"
    assert cli("list", "--skills", tmp_path, "--json").json["total"] == 2_000
    assert cli("load", "skill-77", "--skills", tmp_path).code == 0
    report = cli("doctor", "--skills", tmp_path, "--json")
    assert (report.code, report.json["skills"]) == (0, 2_000)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{not json", "is no JSON: "),
        (b"\xff\xfe\x00bad", "is no UTF-8 text"),
        (b"", "is no JSON: "),
        (b'"a text"', "holds no list of messages"),
        (b'{"title": "x"}', "holds no list of messages"),
        (b"[1, 2]", "message 1 has no role"),
        (b'[{"role": "robot", "content": "x"}]', "message 1 has no role"),
        (b'[{"role": "user", "content": 7}]', "message 1 has no content"),
        (b'[{"role": "user", "content": ["x"]}]', "message 1 has no content"),
        (b'[{"role": "assistant", "content": "x"}]', "holds no user message"),
        (b"[]", "holds no user message"),
        (b"[" * 100_000, "is nested too deeply"),
        (b'{"messages": ' + b" " * (8 * 1024 * 1024), "is larger than"),
    ],
)
def test_a_conversation_that_is_none(cli, tmp_path, example_skills, content, said):
    file = tmp_path / "talk.json"
    file.write_bytes(content)
    for command in ("explain", "demo"):
        result = cli(command, "--conversation", file, "--skills", example_skills)
        assert (result.code, result.out) == (2, "")
        assert said in result.err
        assert str(file) in result.err
        assert len(result.err.splitlines()) >= 2  # the cure


@pytest.mark.parametrize("command", ["explain", "demo"])
def test_a_conversation_that_cannot_be_read(cli, tmp_path, example_skills, command):
    for path in (tmp_path / "missing.json", tmp_path):
        result = cli(command, "--conversation", path, "--skills", example_skills)
        assert result.code == 2
        assert "cannot be read" in result.err


@pytest.mark.parametrize(
    "command",
    [["search", "x"], ["explain", "x"], ["demo", "--framework", "llamaindex"]],
    ids=lambda command: command[0],
)
def test_an_unknown_mode_names_the_known_ones(cli, example_skills, command):
    result = cli(*command, "--mode", "bm52", "--skills", example_skills)
    assert (result.code, result.out) == (2, "")
    assert "Unknown skill mode 'bm52'." in result.err
    assert "Did you mean 'bm25'?" in result.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["search", "x", "--k", "0"], "k is 0"),
        (["explain", "x", "--k", "-3"], "k is -3"),
        (["search", "  "], "The query is empty."),
        (["explain", ""], "The query is empty."),
        (["search", "x", "--filter", "tag"], "is no FIELD=VALUE"),
        (["search", "x", "--filter", "colour=red"], "colour"),
        (["search", "x", "--filter", "tag=a", "--filter", "tag=b"], "given twice"),
        (["load", "pdf-form-filling", "--page", "0"], "--page is 0"),
        (["list", "--skills", ""], "--skills is empty."),
    ],
)
def test_arguments_out_of_range(cli, example_skills, arguments, said):
    result = cli(*arguments, "--skills", example_skills)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["load", "pdf-form-fillin"], "pdf-form-filling"),
        (["load", "pdf-form-filling", "--file", "nothing.md"], "scripts/fill_form.py"),
        (["load", "pdf-form-filling", "--file", "../../../../etc/passwd"], "not a path inside"),
        (["load", "pdf-form-filling", "--page", "99"], "has 1 page, not 99."),
    ],
)
def test_what_does_not_resolve_is_exit_code_1_and_names_what_does(
    cli, example_skills, arguments, said
):
    result = cli(*arguments, "--skills", example_skills)
    assert (result.code, result.out) == (1, "")
    assert said in result.err


def test_control_characters_of_a_skill_never_reach_the_terminal(cli, tmp_path):
    write_skill(
        tmp_path,
        "evil",
        '"Clears the screen \\e[2J\\u202e and [bold]shouts[/bold]."',
        "# Steps\n\nA bell \a, an escape \x1b[31m and a backspace \b.\n",
    )
    for command in (["list"], ["search", "screen"], ["explain", "screen"], ["load", "evil"]):
        result = cli(*command, "--skills", tmp_path)
        assert result.code == 0
        assert not set(result.out) & set("\x1b\a\b\u202e")
    assert "[bold]shouts[/bold]" in cli("list", "--skills", tmp_path).out


def test_control_characters_of_a_conversation_never_reach_the_terminal(
    cli, tmp_path, example_skills
):
    file = tmp_path / "talk.json"
    messages = [{"role": "user", "content": "fill in \x1b[31mthe\a pdf form \u202e now"}]
    file.write_text(json.dumps({"title": "A \x1b[2J title", "messages": messages}))
    for command in (["explain"], ["demo", "--framework", "langgraph"]):
        result = cli(*command, "--conversation", file, "--skills", example_skills)
        assert result.code == 0
        assert "pdf form" in result.out
        assert not set(result.out) & set("\x1b\a\u202e")


PLUGIN_SOURCE = r"""
from skillcue import StaticSource
from skillcue_hooks import Skill, hookimpl

@hookimpl
def skillcue_open_source(spec):
    if spec.startswith("memory:") or spec.endswith(".db"):
        skill = Skill("", "alpha", "Does alpha \x1b[2J things.", "# A\x1b[31m\n\nBody.\n")
        return StaticSource("memory", [skill], "untrusted")
"""


@pytest.fixture
def plugin_source(tmp_path):
    """Environment with a plugin that opens ``memory:`` and files that end in ``.db``."""
    info = tmp_path / "memory-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: memory\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[skillcue]\nmemory = memory_plugin\n")
    (tmp_path / "memory_plugin.py").write_text(PLUGIN_SOURCE)
    return {"PYTHONPATH": str(tmp_path), "SKILLCUE_LOAD_PLUGINS": "memory"}


def test_a_plugin_opens_what_is_no_folder(process, tmp_path, plugin_source):
    (tmp_path / "skills.db").write_bytes(b"")
    for spec in ("memory:", tmp_path / "skills.db"):
        listed = process("list", "--json", "--skills", spec, env=plugin_source)
        assert [skill["name"] for skill in listed.json["skills"]] == ["alpha"]
        for command in (["list"], ["search", "alpha"], ["load", "alpha"], ["doctor"]):
            result = process(*command, "--skills", spec, env=plugin_source)
            assert result.code == 0
            assert "\x1b" not in result.out


def test_a_terminal_that_cannot_show_a_character(process, tmp_path):
    write_skill(tmp_path, "zuowen", "批改作文 and naïve café.")
    for command in (["list"], ["search", "作文"], ["doctor"], ["load", "zuowen"]):
        result = process(*command, "--skills", tmp_path, env={"PYTHONIOENCODING": "ascii"})
        assert result.code == 0
        assert "zuowen" in result.out or command[0] == "load"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "command", [["list"], ["doctor"], ["load", "csv-cleaning"], ["list", "--json"], ["--help"]]
)
def test_a_reader_that_goes_away_ends_the_command_quietly(example_skills, command, unbuffered):
    options = [] if command == ["--help"] else ["--skills", str(example_skills)]
    child = subprocess.Popen(
        [sys.executable, "-m", "skillcue", *command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )
    assert child.stdout is not None
    child.stdout.close()
    _, errors = child.communicate(timeout=120)
    assert errors == b""
    # argparse itself passes over a write that fails at once.
    assert child.returncode == (0 if command == ["--help"] and unbuffered else 141)


@pytest.mark.skipif(
    importlib.util.find_spec("langchain_anthropic") is None,
    reason="langchain-anthropic is not installed: no real provider client to run the demo with",
)
def test_a_pipe_that_is_closed_while_the_demo_runs(example_skills):
    with anthropic_server() as server:
        child = subprocess.Popen(
            [sys.executable, "-m", "skillcue", "demo", "--skills", str(example_skills)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={
                **os.environ,
                "PYTHONUNBUFFERED": "1",
                "SKILLCUE_DEMO_MODEL": "anthropic:claude-test",
                "ANTHROPIC_API_KEY": "test",
                "ANTHROPIC_BASE_URL": server.url,
            },
        )
        assert child.stdout is not None
        while b"== LangGraph" not in child.stdout.readline():
            assert child.poll() is None
        child.stdout.close()
        _, errors = child.communicate(timeout=120)
    # Not an error of the model, although it is the model's turn that was being shown.
    assert (child.returncode, errors) == (141, b"")


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
def test_ctrl_c_is_one_line_and_exit_code_130(tmp_path):
    pipe = tmp_path / "talk.json"
    os.mkfifo(pipe)  # as conversation file: the command reads, and nothing comes
    child = subprocess.Popen(
        [sys.executable, "-m", "skillcue", "explain", "--conversation", pipe],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    writer = _open_once_there_is_a_reader(pipe)
    time.sleep(0.5)  # a signal between two system calls would only be seen after the second
    child.send_signal(signal.SIGINT)
    out, errors = child.communicate(timeout=60)
    os.close(writer)
    assert (child.returncode, out, errors) == (130, b"", b"error: Interrupted.\n")


def _open_once_there_is_a_reader(pipe: Path) -> int:
    deadline = time.monotonic() + 60
    while True:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            assert time.monotonic() < deadline, "the command never opened the pipe"
            time.sleep(0.02)


def test_a_plugin_that_cannot_be_loaded_is_a_line(process, tmp_path):
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[skillcue]\nbroken = broken_plugin\n")
    (tmp_path / "broken_plugin.py").write_text("raise RuntimeError('no luck')\n")
    write_skill(tmp_path / "skills", "form", "Fills in a form.")
    env = {"PYTHONPATH": str(tmp_path), "SKILLCUE_LOAD_PLUGINS": "broken"}
    result = process("list", "--json", "--skills", tmp_path / "skills", env=env)
    assert (result.code, result.json["total"]) == (0, 1)
    assert result.err.count("\n") == 1
    assert "broken (broken 1.0) is not loaded: RuntimeError('no luck')" in result.err


def test_a_mode_that_raises_is_a_line_and_a_traceback_on_request(tmp_path):
    info = tmp_path / "angry-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: angry\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[skillcue]\nangry = angry_plugin\n")
    (tmp_path / "angry_plugin.py").write_text(
        "from skillcue_hooks import hookimpl\n"
        "def build(library, context):\n"
        "    raise RuntimeError('no luck')\n"
        "@hookimpl\n"
        "def skillcue_register_retrievers(register):\n"
        "    register('angry', build)\n"
    )
    write_skill(tmp_path / "skills", "form", "Fills in a form.")
    arguments = ["search", "form", "--mode", "angry", "--skills", str(tmp_path / "skills")]
    for option in ([], ["--traceback"]):
        done = subprocess.run(
            [sys.executable, "-m", "skillcue", *arguments, *option],
            env={**os.environ, "PYTHONPATH": str(tmp_path), "SKILLCUE_LOAD_PLUGINS": "angry"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert "error: RuntimeError: no luck" in done.stderr
        assert ("Traceback" in done.stderr) == bool(option)


@pytest.mark.parametrize("number", [10**9, 10**30])
def test_numbers_beyond_all_reason(cli, example_skills, number):
    found = cli("search", "pdf form", "--k", number, "--skills", example_skills, "--json")
    assert (found.code, len(found.json["hits"])) == (0, found.json["total"])
    page = cli("load", "csv-cleaning", "--page", number, "--skills", example_skills)
    assert page.code == 1


@pytest.mark.parametrize("query", ["\udcff", "a\0b", "x" * 100_000, "%s {0} $HOME [bold]", "-- "])
def test_queries_nobody_types(cli, example_skills, query):
    for command in ("search", "explain"):
        assert cli(command, "--skills", example_skills, "--", query).code in (0, 1)
        assert cli(command, "--json", "--skills", example_skills, "--", query).json


def test_json_errors_leave_stdout_empty_or_one_document(cli, tmp_path):
    assert cli("list", "--json", "--skills", tmp_path / "missing").out == ""
    listed = cli("list", "--json", "--skills", tmp_path).json
    assert (listed["total"], listed["skills"]) == (0, [])
    assert listed["sources"] == [
        {"label": tmp_path.name, "trust": "trusted", "place": str(tmp_path), "digest": None}
    ]
    explained = cli("explain", "x", "--json", "--skills", tmp_path)
    assert (explained.code, explained.json["hits"]) == (1, [])
    report = cli("doctor", "--json", "--skills", tmp_path)
    assert (report.code, report.json["skills"]) == (1, 0)
    assert json.loads(report.out)["tokens"]["everything"] == 0
