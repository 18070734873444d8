"""``skillcue serve --transport http``, over a real socket."""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
import socket
import subprocess
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from conftest import write_skill
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from support.mcp_clients import WAIT_S, Served, command, environment, serving, text_of

from skillcue import SkillCue
from skillcue.mcp import MODE_HEADER, MODE_META, skill_server

QUERY = {"query": "merge two pdf files", "k": 1}


def post(served: Served, body: Any, **headers: str) -> tuple[int, str]:
    """One POST with exactly these headers."""
    where = urlsplit(served.url)
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=WAIT_S)
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    usual = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    try:
        connection.request(
            "POST",
            where.path,
            data,
            {**usual, **{k.replace("_", "-"): v for k, v in headers.items()}},
        )
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


PING = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"}}}  # fmt: skip


@pytest.mark.parametrize("handshake", ["auto", "legacy"])
async def test_header_meta_and_argument_choose_the_mode(served, handshake):
    async with httpx2.AsyncClient(headers={MODE_HEADER: "hybrid"}) as web:
        transport = streamable_http_client(served.url, http_client=web)
        async with Client(transport, mode=handshake) as client:
            modes = [
                (await client.call_tool("skill_lookup", arguments, meta=meta)).structured_content
                for arguments, meta in [
                    (QUERY, None),
                    (QUERY, {MODE_META: "dense"}),
                    ({**QUERY, "mode": "bm25"}, {MODE_META: "dense"}),
                ]
            ]
    assert [found["mode"] for found in modes] == ["hybrid", "dense", "bm25"]
    assert {found["hits"][0]["name"] for found in modes} == {"pdf-merge-split"}


async def test_a_header_with_an_unknown_mode_is_a_tool_error(served):
    async with (
        httpx2.AsyncClient(headers={MODE_HEADER: "magic"}) as web,
        Client(streamable_http_client(served.url, http_client=web)) as client,
    ):
        answer = await client.call_tool("skill_lookup", QUERY)
        listed = await client.call_tool("skill_list")
    assert answer.is_error is True
    assert "Unknown skill mode 'magic'. Available modes: bm25" in text_of(answer)
    assert listed.is_error is False


async def test_twenty_calls_at_once_from_four_clients(served):
    async def client_of(mode: str) -> list[Any]:
        async with Client(served.url) as client:
            calls = (client.call_tool("skill_lookup", {**QUERY, "mode": mode}) for _ in range(5))
            return await asyncio.gather(*calls)

    answers = await asyncio.gather(*map(client_of, ("bm25", "dense", "hybrid", "skillsight")))
    found = [answer.structured_content for several in answers for answer in several]
    assert [item["mode"] for item in found] == [
        mode for mode in ("bm25", "dense", "hybrid", "skillsight") for _ in range(5)
    ]
    assert {item["hits"][0]["name"] for item in found} == {"pdf-merge-split"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example:80"}, 421),
        ({"Host": "127.0.0.1:8000@evil.example"}, 421),
        ({"Host": "127.0.0.1:evil"}, 421),
        ({"Host": "localhost:1234"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:8000.evil.example"}, 403),
        ({"Origin": "http://localhost:6274"}, 200),
    ],
)
def test_pages_of_other_hosts_are_refused(served, headers, status):
    assert post(served, PING, **headers)[0] == status


def test_the_guard_can_be_told_another_name(example_skills):
    options = ("--skills", example_skills, "--mode", "bm25", "--allow-host", "skills.test")
    with serving(*options) as served:
        assert post(served, PING, Host="skills.test")[0] == 200
        assert post(served, PING, Host="skills.test:8443", Origin="https://skills.test")[0] == 200
        assert post(served, PING, Host="other.test")[0] == 421


def test_host_names_have_no_case(example_skills):
    options = ("--skills", example_skills, "--mode", "bm25", "--allow-host", "Skills.Test")
    with serving(*options) as served:
        for host in ("skills.test", "SKILLS.test", "SKILLS.TEST:8443", "LocalHost:1"):
            assert post(served, PING, Host=host, Origin="https://SKILLS.Test")[0] == 200
        assert post(served, PING, Host="OTHER.test")[0] == 421
        assert post(served, PING, Host="SKILLS.test", Origin="https://OTHER.test")[0] == 403


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"x" * 5_000_000])
def test_a_hostile_body_is_refused_and_the_next_request_answered(served, body):
    status, text = post(served, body)
    assert 400 <= status < 500
    assert "Traceback" not in text
    assert post(served, PING)[0] == 200


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_it_in_order_though_a_client_is_still_there(example_skills, number, code):
    with serving("--skills", example_skills, "--mode", "bm25") as served:
        where = urlsplit(served.url)
        with socket.create_connection((where.hostname, where.port), timeout=WAIT_S) as half:
            half.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:1\r\n")
            served.process.send_signal(number)
            out, err = served.process.communicate(timeout=WAIT_S)
    assert (served.process.returncode, out) == (code, "")
    assert "Traceback" not in err


def test_it_listens_on_this_machine_only_unless_told_otherwise(served):
    assert "whoever reaches it" not in served.said
    assert urlsplit(served.url).hostname == "127.0.0.1"
    assert urlsplit(served.url).path == "/mcp"


def test_another_address_is_a_warning_and_keeps_the_guard(example_skills):
    with serving("--skills", example_skills, "--mode", "bm25", "--host", "0.0.0.0") as served:
        assert "whoever reaches it may read" in served.said
        port = urlsplit(served.url).port
        local = Served(f"http://127.0.0.1:{port}/mcp", served.process, "")
        assert post(local, PING)[0] == 200
        assert post(local, PING, Host="evil.example")[0] == 421


def test_a_port_that_is_taken_is_an_error_with_the_cure(example_skills):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        options = ("--skills", example_skills, "--transport", "http", "--port", port)
        done = subprocess.run(
            command(*options),
            env=environment(),
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"Cannot listen on 127.0.0.1 port {port}" in done.stderr
    assert "--port" in done.stderr


async def test_no_answer_names_a_path_of_this_machine(tmp_path):
    tmp_path = tmp_path / "notes at home"  # blanks and words as in our own sentences
    folder = write_skill(tmp_path, "kit", "A kit.").parent
    (folder / "notes.txt").write_text("Notes.")
    (folder / "logo.png").write_bytes(b"\x89PNG\x00" * 100)
    with serving("--skills", tmp_path, "--mode", "bm25") as served:
        async with Client(served.url) as client:
            whole = text_of(await client.call_tool("skill_load", {"name": "kit"}))
            binary = {"name": "kit", "file": "logo.png"}
            image = text_of(await client.call_tool("skill_load", binary))
            gone = text_of(await client.call_tool("skill_load", {"name": "kit", "file": "x.md"}))
    assert "Files: logo.png, notes.txt" in whole
    assert "is not text (500 bytes)" in image
    assert "notes.txt" in gone
    assert not any(str(tmp_path) in said for said in (whole, image, gone))


async def test_no_error_of_the_set_up_names_a_path(tmp_path):
    write_skill(tmp_path / "lib", "kit", "A kit.")
    missing = tmp_path / "private" / "model"
    cues = {
        "two_stage": {"cross_encoder": f"onnx:{missing}"},
        "expand": {"llm": "openai:m@http://127.0.0.1:9/v1"},
    }
    for mode, more in cues.items():
        with SkillCue(tmp_path / "lib", mode="bm25", **more) as cue:
            app = skill_server(cue).streamable_http_app()
            async with app.router.lifespan_context(app):
                web = httpx2.AsyncClient(
                    transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1:8000"
                )
                http = streamable_http_client("http://127.0.0.1:8000/mcp", http_client=web)
                async with web, Client(http) as client:
                    asked = {"query": "a kit", "mode": mode}
                    answer = await client.call_tool("skill_lookup", asked)
        told = text_of(answer) + str(answer.structured_content)
        assert "private" not in told and "/v1" not in told and "127.0.0.1" not in told
        assert "the log of the server says why" in told, (mode, told)


async def test_a_client_on_this_machine_is_told_where_the_files_are(tmp_path):
    folder = write_skill(tmp_path, "kit", "A kit.").parent
    (folder / "logo.png").write_bytes(b"\x89PNG\x00" * 100)
    with SkillCue(tmp_path, mode="bm25") as cue:
        async with Client(skill_server(cue)) as client:
            whole = text_of(await client.call_tool("skill_load", {"name": "kit"}))
            binary = {"name": "kit", "file": "logo.png"}
            image = text_of(await client.call_tool("skill_load", binary))
    assert f"Base directory: {folder}" in whole
    assert str(folder / "logo.png") in image
