"""``skillcue serve`` over stdio, as the process that a client starts."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import write_skill
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from support.mcp_clients import WAIT_S, command, environment, raw_stdio, text_of


def started(*arguments: object) -> Any:
    start = command(*arguments)
    return stdio_client(StdioServerParameters(command=start[0], args=start[1:], env=environment()))


@pytest.mark.parametrize("handshake", ["auto", "legacy"])
async def test_a_client_starts_it_and_uses_everything(example_skills, handshake):
    async with Client(started("--skills", example_skills), mode=handshake) as client:
        found = await client.call_tool("skill_lookup", {"query": "merge two pdf files", "k": 1})
        name = found.structured_content["hits"][0]["name"]
        loaded = await client.call_tool("skill_load", {"name": name})
        prompt = await client.get_prompt("use_skills")
        read = await client.read_resource("skill://office/pdf-merge-split/SKILL.md")
    assert name == "pdf-merge-split"
    assert "qpdf" in text_of(loaded)
    assert "skill_lookup" in prompt.messages[0].content.text
    assert read.contents[0].text.startswith("---\nname: pdf-merge-split\n")


def test_what_stands_on_the_wire(example_skills):
    with raw_stdio(command("--skills", example_skills, "--mode", "bm25")) as wire:
        hello = wire.start()
        tools = wire.ask("tools/list")["result"]["tools"]
        answer = wire.ask(
            "tools/call",
            {
                "name": "skill_lookup",
                "arguments": {"query": "merge pdf", "k": 1},
                "_meta": {"skillcue/method": "dense"},
            },
        )["result"]
        code, out, err = wire.end()
    assert hello["serverInfo"]["name"] == "skillcue"
    assert hello["instructions"].startswith("You have a library of skills")
    assert [tool["annotations"] for tool in tools] == [
        {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
    ] * 3
    assert ["outputSchema" in tool for tool in tools] == [True, False, False]
    assert answer["structuredContent"]["mode"] == "dense"
    assert answer["isError"] is False
    assert (code, out, err) == (0, "", "")


def test_nothing_but_the_protocol_is_on_stdout(tmp_path):
    """Not even when plugins and skills print, log and fail."""
    write_skill(tmp_path, "tea", "Brew tea.")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "SKILL.md").write_bytes(b"\x00\x01\x02" * 100)
    program = (
        "import logging, sys\n"
        "from skillcue import cli, facade\n"
        "real = facade.SkillCue.lookup\n"
        "def lookup(*args, **named):\n"
        "    print('printed by a plugin')\n"
        "    logging.getLogger().warning('logged by a plugin')\n"
        "    logging.getLogger('skillcue.x').warning('logged by skillcue')\n"
        "    return real(*args, **named)\n"
        "facade.SkillCue.lookup = lookup\n"
        "first = facade.SkillCue.__init__\n"
        "def init(*args, **named):\n"
        "    print('printed at the start')\n"
        "    first(*args, **named)\n"
        "facade.SkillCue.__init__ = init\n"
        "sys.exit(cli.main(sys.argv[1:]))\n"
    )
    start = [sys.executable, "-c", program, "serve", "--skills", str(tmp_path), "--mode", "bm25"]
    with raw_stdio(start) as wire:
        wire.start()
        for _ in range(3):
            wire.ask("tools/call", {"name": "skill_lookup", "arguments": {"query": "tea"}})
        code, out, err = wire.end()
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in wire.lines)
    assert (code, out) == (0, "")
    assert "printed at the start" in err
    assert "printed by a plugin" in err
    assert "logged by skillcue" in err
    assert "1 problem" in err


def test_the_handshake_does_not_wait_for_the_library(example_skills, tmp_path):
    """The library is not read before a file is there, which the test makes afterwards."""
    gate = tmp_path / "go"
    program = (
        "import os, sys, time\n"
        "from skillcue import cli\n"
        "from skillcue.library import live\n"
        "real = live.LiveLibrary.snapshot\n"
        "def snapshot(self):\n"
        "    while not os.path.exists(os.environ['GATE']):\n"
        "        time.sleep(0.01)\n"
        "    return real(self)\n"
        "live.LiveLibrary.snapshot = snapshot\n"
        "sys.exit(cli.main(sys.argv[1:]))\n"
    )
    start = [sys.executable, "-c", program, "serve", "--skills", str(example_skills)]
    with raw_stdio(start, GATE=str(gate)) as wire:
        wire.start()
        assert len(wire.ask("tools/list")["result"]["tools"]) == 3
        assert wire.ask("ping")["result"] == {}
        gate.touch()
        answer = wire.ask("tools/call", {"name": "skill_list"})["result"]
    assert "48 skills" in answer["content"][0]["text"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_it_at_once(example_skills, number, code):
    with raw_stdio(command("--skills", example_skills, "--mode", "bm25")) as wire:
        wire.start()
        wire.ask("tools/call", {"name": "skill_list"})
        wire.process.send_signal(number)
        assert wire.process.wait(WAIT_S) == code
        assert wire.process.stdout.read() == ""
        assert wire.process.stderr.read() == ""


def test_a_client_that_goes_away_ends_it(example_skills):
    with raw_stdio(command("--skills", example_skills)) as wire:
        assert wire.end()[:2] == (0, "")


def test_a_client_that_reads_no_more_ends_it_without_a_word(example_skills):
    with raw_stdio(command("--skills", example_skills, "--mode", "bm25")) as wire:
        wire.start()
        wire.process.stdout.close()
        request = json.dumps({"jsonrpc": "2.0", "id": 9, "method": "tools/list"})
        with contextlib.suppress(BrokenPipeError):
            while (
                wire.process.poll() is None
            ):  # it waits for a line, whatever became of its answers
                wire.process.stdin.write(f"{request}\n")
                wire.process.stdin.flush()
                time.sleep(0.1)
        assert wire.process.wait(WAIT_S) == 0
        assert wire.process.stderr.read() == ""


def test_broken_lines_do_not_end_it(example_skills):
    with raw_stdio(command("--skills", example_skills, "--mode", "bm25")) as wire:
        wire.start()
        for line in (
            "not json",
            "[]",
            '{"jsonrpc": "2.0"}',
            '{"jsonrpc":"2.0","id":{},"method":1}',
        ):
            wire.process.stdin.write(line + "\n")
        wire.process.stdin.flush()
        assert len(wire.ask("tools/list")["result"]["tools"]) == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--skills", "does-not-exist"], "does not exist"),
        (["--skills", ".", "--mode", "magic"], "Unknown skill mode 'magic'"),
        (["--skills", ".", "--mode", "refine"], "needs a language model"),
        (["--skills", ".", "--port", "99999", "--transport", "http"], "--port is 99999"),
        (["--skills", ".", "--host", "203.0.113.9", "--transport", "http"], "Cannot listen on"),
        (["--skills", ".", "--port", "5"], "--port would do nothing over stdio"),
        (
            ["--skills", ".", "--host", "::1", "--allow-host", "a"],
            "--host and --allow-host would do nothing over stdio",
        ),
        (["--skills", ""], "is no skill source"),
        (["--skills", ".", "--augment"], "--augment needs a folder"),
        (["--skills", ".", "--price", "1,2"], "--price needs a model"),
    ],
)
def test_a_wrong_set_up_ends_with_the_cure_before_anything_is_served(
    tmp_path: Path, monkeypatch, arguments, said
):
    monkeypatch.chdir(tmp_path)
    with raw_stdio(command(*arguments)) as wire:
        assert wire.process.wait(WAIT_S) == 2
        assert wire.process.stdout.read() == ""
        assert said in wire.process.stderr.read()
