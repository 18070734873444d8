"""The whole way over a real PostgreSQL server: processes, failure, tenants, the command line."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from support.conversations import PHRASES, write_garden
from support.indexes import over, put
from support.postgres_server import PostgresServer

from skillcue import SkillCue
from skillcue.cli import main
from skillcue.indexed import publish
from skillcue.indexed.connect import connect
from skillcue_adapters.postgres import PostgresIndex
from skillcue_adapters.postgres.connections import Connections
from skillcue_hooks.errors import ConfigurationError, IndexUnavailableError

TOMATO = PHRASES[0]
NAME = "tomato-pruning"
WAIT_S = 60.0

READER = """
import json, sys, time
from skillcue import SkillCue
cue = SkillCue(sys.argv[1], mode="bm25")
cue.lookup("anything at all")
print("ready", flush=True)
end = time.monotonic() + 60
while time.monotonic() < end:
    hits = cue.lookup(sys.argv[2]).hits
    if hits and hits[0].skill.description.startswith(sys.argv[2]):
        print(json.dumps({"seen": time.time(), "text": cue.load(hits[0].skill.name).text}), flush=True)
        break
    time.sleep(0.002)
cue.close()
"""


@pytest.fixture
def address(postgres_url: str, postgres_schema: str) -> str:
    return f"{postgres_url}?schema={postgres_schema}"


@pytest.fixture
def garden(tmp_path: Path) -> Path:
    return write_garden(tmp_path / "garden")


def test_rankings_and_advice_are_those_of_memory(address, example_skills):
    report = publish(example_skills, address)
    assert len(report.new) == 48
    assert publish(example_skills, address).unchanged == 48
    with SkillCue(example_skills, wait=True) as in_memory, SkillCue(address, wait=True) as shared:
        for text in ("Fill in the attached pdf form of a customer", "thanks a lot!", "git bisect"):
            expected, found = in_memory.lookup(text), shared.lookup(text)
            assert [h.skill.id for h in found.hits] == [h.skill.id for h in expected.hits]
            assert [h.score for h in found.hits] == pytest.approx(
                [h.score for h in expected.hits], abs=1e-5
            )
            messages = [{"role": "user", "content": text}]
            assert shared.advise(messages).text == in_memory.advise(messages).text
        files = in_memory.load("pdf-form-filling").files
        assert shared.load("pdf-form-filling").files == files
        assert shared.load("pdf-form-filling").text == in_memory.load("pdf-form-filling").text


def test_another_process_sees_an_edit_at_once(address, garden, record_property, capsys):
    put_at(garden, address, "acme")
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, f"{address}&tenant=acme", "Quinces and medlars"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert reader.stdout is not None
        assert reader.stdout.readline().strip() == "ready"
        path = garden / NAME / "SKILL.md"
        path.write_text(f"---\nname: {NAME}\ndescription: Quinces and medlars\n---\n\nNew body.\n")
        with SkillCue(f"{address}&tenant=acme", mode="bm25") as here:
            here.lookup(TOMATO)
            began = time.time()
            put_at(garden, address, "acme")
            stored = time.time()
            assert here.load(NAME).text.strip() == "New body."
        seen = json.loads(reader.stdout.readline())
        assert seen["text"].strip() == "New body."
        record_property("seconds", seen["seen"] - stored)
        with capsys.disabled():
            print(
                f"\nan edit was seen by another process {seen['seen'] - began:.3f} s after publishing "
                f"began, {seen['seen'] - stored:.3f} s after it ended"
            )
    finally:
        reader.kill()
        reader.wait()
        reader.stdout.close()


def put_at(folder: Path, address: str, tenant: str) -> None:
    connected = connect(f"{address}&tenant={tenant}")
    try:
        put(folder, connected.indexed.index, tenant)
    finally:
        connected.indexed.index.close()


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    own = PostgresServer()
    own.start()
    yield own
    own.remove()


def test_a_server_that_dies_and_comes_back(postgres_url, server, garden):
    address = server.url
    put_at(garden, f"{address}?schema=skillcue", "acme")
    with SkillCue(f"{address}?tenant=acme", mode="bm25") as cue:
        say = [{"role": "user", "content": TOMATO}]
        cue.wait_ready()
        assert cue.advise(say).text
        server.kill()
        advice = cue.advise([{"role": "user", "content": f"{TOMATO}, please"}])
        assert (advice.text, advice.degraded) == ("", "the index cannot be reached")
        answer = cue.tools().lookup("something else")
        assert answer.error
        assert "127.0.0.1" in answer.text
        server.start()
        end = time.monotonic() + WAIT_S
        while cue.tools().lookup("something else").error:
            assert time.monotonic() < end, "it does not come back"
            time.sleep(0.1)
        put_more = garden / "quince" / "SKILL.md"
        put_more.parent.mkdir()
        put_more.write_text("---\nname: quince\ndescription: Cook quinces.\n---\n\nSlowly.\n")
        put_at(garden, f"{address}?schema=skillcue", "acme")
        while not (hits := cue.lookup("cook quinces").hits) or hits[0].skill.name != "quince":
            assert time.monotonic() < end, "changes after the restart are not told"
            time.sleep(0.1)
        advice = cue.advise([{"role": "user", "content": f"Please: {TOMATO}"}])
        assert advice.degraded is None and advice.confidence > 0.0


def test_one_tenant_is_nowhere_for_another(address, garden):
    put_at(garden, address, "acme")
    put_at(garden / "bee-hotel", address, "other")
    with SkillCue(f"{address}&tenant=other", mode="bm25") as cue:
        tools = cue.tools()
        shown = [
            tools.list().text,
            tools.lookup(TOMATO).text,
            tools.load(f"{NAME[:-1]}").text.replace(NAME[:-1], ""),
            cue.advise([{"role": "user", "content": f"use the {NAME} skill"}]).text,
        ]
        assert not any("tomato" in text.replace("tomato plants", "") for text in shown)
        assert [skill.name for skill in cue.list()] == ["bee-hotel"]
    with SkillCue(f"{address}&tenant=other&tenant=acme", mode="bm25") as both:
        assert len(both.list()) == 9
        assert both.load("bee-hotel").skill.id == "bee-hotel@other"


def test_the_command_line(address, garden, capsys):
    to = f"{address}&tenant=acme"
    index = connect(address).indexed.index
    index.revision(("acme",))  # which makes the tables
    index.close()
    put_static = ["publish", str(garden), "--to", to, "--encoder", "static"]
    assert main([*put_static, "--dry-run", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["new"]) == 8
    assert main(put_static) == 0
    said = capsys.readouterr().out
    assert "of tenant acme: 8 new, 0 changed, 0 deleted, 0 as they were" in " ".join(said.split())
    assert main(["search", TOMATO, "--skills", to, "--encoder", "static", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hits"][0]["name"] == NAME
    assert main(["list", "--skills", to, "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["total"] == 8
    assert listed["sources"][0]["digest"].startswith("revision:")
    assert main(["load", NAME, "--skills", to]) == 0
    capsys.readouterr()
    assert main(["doctor", "--skills", to, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["skills"], report["searchable"]) == (8, 8)
    assert report["tokens"]["bodies"] > 0
    for command in (
        ["augment", "--cache", str(garden)],
        ["lock"],
        ["export-pairs", "--out", "x", "--encoder", "static"],
    ):
        assert main([*command, "--skills", to]) == 2
        assert "folders they come from" in capsys.readouterr().err
    for more in ([], ["--dry-run"]):
        assert main(["publish", str(garden), "--to", to, "--encoder", "minilm", *more]) == 2
        assert "another encoder" in capsys.readouterr().err
    assert main(["search", TOMATO, "--skills", to]) == 2  # the index is of mode static
    assert "encoder" in capsys.readouterr().err


@pytest.mark.parametrize("tenants", [("", "acme"), ("eu", "eu/acme")])
def test_tenants_whose_ids_are_the_same_are_told_what_to_do(
    address, postgres_schema, tmp_path, tenants
):
    write_garden(tmp_path / "teams" / "acme")
    whole, part = (f"{address}&tenant={tenant}" for tenant in tenants)
    publish(tmp_path / "teams", whole, encoder="static")
    with pytest.raises(ConfigurationError, match="another schema") as caught:
        publish(tmp_path / "teams" / "acme", part, encoder="static")
    assert f"for tenant {tenants[1]!r}" in str(caught.value)
    elsewhere = part.replace(postgres_schema, f"{postgres_schema}_too")
    try:
        assert len(publish(tmp_path / "teams" / "acme", elsewhere, encoder="static").new) == 8
    finally:
        with psycopg.connect(address.partition("?")[0]) as connection:
            connection.execute(f"drop schema {postgres_schema}_too cascade")
    apart = f"{address}&tenant=acme-eu"
    assert len(publish(tmp_path / "teams" / "acme", apart, encoder="static").new) == 8


def test_an_address_says_what_is_ours_and_leaves_the_rest(postgres_url):
    connected = connect(
        "postgresql://user:pass%40word@db.example,db2.example/skills"
        "?tenant=acme&target_session_attrs=read-write&tenant=a%20b&schema=own"
    )
    assert connected.owned
    assert connected.indexed.tenants == ("acme", "a b")
    index = connected.indexed.index
    assert isinstance(index, PostgresIndex)
    assert "own" in repr(index)
    assert "pass" not in repr(index) + connected.indexed.label
    connected.indexed.index.close()
    with pytest.raises(ConfigurationError, match="schema"):
        connect("postgresql://db.example/skills?schema=a&schema=b")


@pytest.mark.parametrize(
    ("query", "named"),
    [("tenat=a", "tenat"), ("tenant=a&sslmode=require&bogus=1", "bogus"), ("sslMode=x", "sslMode")],
)
def test_a_parameter_that_libpq_does_not_know_is_named(query, named):
    with pytest.raises(ConfigurationError, match=f"parameter '{named}'.*tenant and schema"):
        connect(f"postgresql://user:pw0rd@db.example/skills?{query}")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://user:hid?den=x@db.example/skills?bogus=1",
        "postgresql://db.example/skills?password=hid&den=x",
        "postgresql://db.example/skills?sslpassword=hid&den=x",
        "postgresql://db.example/skills?p%61ssword=hid&den=x",
        "postgresql://db.example/skills?hid%20den=1",
        "postgresql://user:hid%20den@db.example/skills?hid",
    ],
)
def test_what_may_be_of_a_password_is_not_named(address):
    with pytest.raises(ConfigurationError) as caught:
        connect(address)
    assert "hid" not in str(caught.value)
    assert "den" not in str(caught.value)


def test_parameters_that_libpq_knows_are_used():
    for query in ("ssl=true", "sslm%6Fde=require&options=-c%20geqo%3Doff", "host=a.example", ""):
        connect(f"postgresql://user@/skills?{query}").indexed.index.close()


def test_a_server_that_is_not_there_is_told_when_it_is_asked(postgres_url):
    cue = SkillCue("postgresql://postgres@127.0.0.1:1/nothing?connect_timeout=1", mode="bm25")
    answer = cue.tools().lookup("anything")
    assert answer.error
    assert cue.advise([{"role": "user", "content": TOMATO}]).degraded
    with pytest.raises(IndexUnavailableError):
        cue.wait_ready()
    cue.close()


def test_over_an_open_index_of_the_user(address, garden):
    connected = connect(address)
    index = connected.indexed.index
    put(garden, index, "acme")
    with over(index, "acme") as cue:
        assert cue.lookup(TOMATO).hits[0].skill.name == NAME
    assert index.revision(("acme",))  # still open
    index.close()


def test_a_start_that_fails_leaves_nothing_behind(server):
    server.stop()
    before = {thread.name for thread in threading.enumerate()}
    for _ in range(3):
        with pytest.raises(IndexUnavailableError):
            SkillCue(server.url, mode="bm25", wait=True)
    end = time.monotonic() + WAIT_S
    while {t.name for t in threading.enumerate() if "listen" in t.name} - before:
        assert time.monotonic() < end, "a listener goes on"
        time.sleep(0.05)


def test_a_dry_run_makes_no_tables(server, garden, capsys):
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("drop schema if exists skillcue cascade")
        with pytest.raises(ConfigurationError, match="have version"):
            publish(garden, server.url, dry_run=True)
        command = ["publish", str(garden), "--to", server.url, "--encoder", "static", "--dry-run"]
        assert main(command) == 2
        assert "have version" in capsys.readouterr().err
        query = "select count(*) from pg_tables where schemaname = 'skillcue'"
        assert connection.execute(query).fetchone() == (0,)


@pytest.mark.parametrize("mode", ["bm25", "dense", "hybrid", "skillsight"])
def test_a_search_of_known_words_is_one_statement(address, garden, mode, monkeypatch):
    publish(garden, f"{address}&tenant=acme", encoder="static")
    with SkillCue(
        f"{address}&tenant=acme", mode=mode, encoder="static", cache=False, wait=True
    ) as cue:
        cue.lookup("tomato plants and compost")
        cue.lookup("compost")
        reads = []
        real = Connections.read

        def counted(self, *arguments, **named):
            reads.append(arguments)
            return real(self, *arguments, **named)

        monkeypatch.setattr(Connections, "read", counted)
        assert cue.lookup("plants compost", k=3).hits
        assert len(reads) == 1
