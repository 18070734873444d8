"""The server is away, dies, comes back: nothing acknowledged is lost, and nobody waits for ever."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from support.postgres_server import PostgresServer

from skillcue_adapters.postgres import PostgresIndex
from skillcue_adapters.postgres.connections import Connections
from skillcue_adapters.postgres.migrations import Connection
from skillcue_hooks.errors import ConfigurationError, IndexUnavailableError
from skillcue_hooks.skill_index import IndexQuery, View
from skillcue_hooks.testing import FakeEncoder, make_indexed

ENCODER = FakeEncoder().fingerprint
WAIT_S = 60.0
"""Longest wait for something that takes a second, seconds."""

ITEM = make_indexed("kiln", "Fire a kiln.")
ASKED = IndexQuery((View(ITEM.vector, {"kiln": 1.0}),), 5, ("a",))

WRITER = """
import sys
from skillcue_adapters.postgres import PostgresIndex
from skillcue_hooks.testing import FakeEncoder, make_indexed

index = PostgresIndex(sys.argv[1])
print("ready", flush=True)
for number in range(1_000_000):
    item = make_indexed(f"skill{number}", "Fire a kiln.", files={"a.txt": b"x" * 2000})
    index.apply([item], tenant="a", encoder=FakeEncoder().fingerprint)
    print(item.skill.id, flush=True)
"""


@pytest.fixture(scope="module")
def own_server(postgres_url: str) -> Iterator[PostgresServer]:
    """A server that may be killed, with the settings of one that must not lose anything."""
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture
def server(own_server: PostgresServer) -> Iterator[PostgresServer]:
    """It runs, without tables."""
    if not runs(own_server):
        own_server.start()
    with psycopg.connect(own_server.url, autocommit=True) as connection:
        connection.execute("drop schema if exists skillcue cascade")
    yield own_server


@pytest.fixture
def index(server: PostgresServer) -> Iterator[PostgresIndex]:
    with_row = PostgresIndex(server.url, wait_s=2.0)
    with_row.apply([ITEM], tenant="a", encoder=ENCODER)
    yield with_row
    with_row.close()


def runs(server: PostgresServer) -> bool:
    try:
        psycopg.connect(server.url, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def eventually(holds: Callable[[], bool]) -> float:
    """Seconds until it holds."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < WAIT_S
        time.sleep(0.01)
    return time.monotonic() - began


def test_a_killed_server_loses_nothing_that_was_acknowledged(server: PostgresServer) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, server.url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout
    assert writer.stdout.readline() == "ready\n"
    acknowledged = [writer.stdout.readline().strip() for _ in range(40)]
    server.kill()
    rest, errors = writer.communicate(timeout=WAIT_S)
    acknowledged += rest.split()
    assert "IndexUnavailableError" in errors
    server.start()
    index = PostgresIndex(server.url)
    held = {skill.id for skill in index.iterate(["a"])}
    lost = set(acknowledged) - held
    counted = index.statistics(["a"]).skills, index.frequencies(["kiln"], ["a"])["kiln"].head
    index.close()
    assert lost == set()
    assert len(held) - len(acknowledged) <= 1, "at most the one that was under way"
    assert counted == (len(held), len(held)), "rows and counts are of one transaction"


def test_a_server_that_is_away_from_the_start_is_named(tmp_path: Path) -> None:
    index = PostgresIndex("postgresql://ann:secret@127.0.0.1:1/skills", wait_s=2.0)
    with pytest.raises(IndexUnavailableError) as raised:
        index.revision(["a"])
    index.close()
    assert "ann@127.0.0.1:1/skills" in str(raised.value)
    assert "Check that the server runs" in raised.value.cure
    assert "secret" not in str(raised.value)


def test_it_recovers_by_itself_when_the_server_comes_back(
    server: PostgresServer, index: PostgresIndex
) -> None:
    before = index.candidates(ASKED)
    server.kill()
    for act in (
        lambda: index.candidates(ASKED),
        lambda: index.revision(["a"]),
        lambda: index.apply([ITEM], tenant="a", encoder=ENCODER),
        lambda: next(index.iterate(["a"])),
    ):
        with pytest.raises(IndexUnavailableError, match="cannot be reached"):
            act()
    server.start()
    after = index.candidates(ASKED)
    assert [c.skill for c in after.candidates] == [c.skill for c in before.candidates]
    assert after.revision == before.revision


def test_connections_that_broke_unnoticed_are_renewed(
    server: PostgresServer, index: PostgresIndex
) -> None:
    """A restart, or a firewall that forgot them: the next read does not fail."""
    index.candidates(ASKED)
    with psycopg.connect(server.url, autocommit=True) as connection:
        ended = connection.execute(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity"
            " where application_name = 'skillcue'"
        ).fetchone()
    assert ended
    assert ended[0] >= 1
    assert len(index.candidates(ASKED).candidates) == 1


def test_no_free_connection_is_said(server: PostgresServer) -> None:
    index = PostgresIndex(server.url, connections=1, wait_s=1.0)
    index.apply([ITEM], tenant="a", encoder=ENCODER)
    with psycopg.connect(server.url) as blocker:
        blocker.execute("lock table skillcue.library in access exclusive mode")
        waiting = threading.Thread(target=lambda: index.revision(["a"]))
        waiting.start()
        eventually(lambda: waits_for_lock(server))
        with pytest.raises(IndexUnavailableError, match="None of 1 connections"):
            index.revision(["a"])
        blocker.rollback()
        waiting.join()
    assert index.revision(["a"])
    index.close()


def waits_for_lock(server: PostgresServer) -> bool:
    with psycopg.connect(server.url) as connection:
        row = connection.execute(
            "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
        ).fetchone()
    return bool(row and row[0])


def test_a_server_that_does_not_answer_in_time_is_said(server: PostgresServer) -> None:
    index = PostgresIndex(server.url, read_s=0.2)
    index.apply([ITEM], tenant="a", encoder=ENCODER)
    with psycopg.connect(server.url) as blocker:
        blocker.execute(
            "set local idle_in_transaction_session_timeout = '20s'"
        )  # nothing hangs for ever
        blocker.execute("lock table skillcue.library in access exclusive mode")
        with pytest.raises(IndexUnavailableError, match="did not answer in time"):
            index.candidates(ASKED)
    assert len(index.candidates(ASKED).candidates) == 1
    index.close()


def test_a_server_that_hangs_is_not_waited_for(server: PostgresServer) -> None:
    """Its kernel still answers, so neither a limit of the server nor keepalives end it."""
    index = PostgresIndex(server.url, wait_s=2.0, read_s=0.5)
    index.apply([ITEM], tenant="a", encoder=ENCODER)
    assert index.candidates(ASKED).candidates
    server.signal(signal.SIGSTOP)
    try:
        began = time.monotonic()
        for _ in range(2):
            with pytest.raises(IndexUnavailableError):
                index.candidates(ASKED)
        assert time.monotonic() - began < WAIT_S
    finally:
        server.signal(signal.SIGCONT)
    eventually(lambda: answers(index))
    index.close()


def test_callers_wait_side_by_side_for_a_server_that_hangs(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not for one another: each would try for as long as it takes, then let the next one."""
    index = PostgresIndex(server.url, wait_s=2.0, read_s=0.5)
    index.apply([ITEM], tenant="a", encoder=ENCODER)
    tries: list[float] = []
    connect = Connections.connect

    def counted(self: Connections) -> Connection:
        tries.append(time.monotonic())
        return connect(self)

    monkeypatch.setattr(Connections, "connect", counted)
    server.signal(signal.SIGSTOP)
    try:
        with ThreadPoolExecutor(12) as executor:
            found = list(executor.map(lambda _: answers(index), range(24)))
    finally:
        server.signal(signal.SIGCONT)
    assert not any(found)
    assert len(tries) <= 6, tries  # of two dozen callers
    eventually(lambda: answers(index))
    index.close()


def answers(index: PostgresIndex) -> bool:
    try:
        return bool(index.candidates(ASKED).candidates)
    except IndexUnavailableError:
        return False


def test_a_right_that_is_taken_away_is_an_outage_to_who_reads(server: PostgresServer) -> None:
    owner = PostgresIndex(server.url)
    owner.apply([ITEM], tenant="a", encoder=ENCODER)
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("drop role if exists agent")
        connection.execute("create role agent login")
        owner.grant("agent")
        index = PostgresIndex(server.url_of("postgres", "agent"))
        assert index.candidates(ASKED).candidates
        connection.execute("revoke all on all tables in schema skillcue from agent")
        with pytest.raises(IndexUnavailableError, match="may not"):
            index.candidates(ASKED)
        late = PostgresIndex(server.url_of("postgres", "agent"))
        with pytest.raises(ConfigurationError, match="may not"):
            late.candidates(ASKED)
        late.close()
        index.close()
        owner.close()
        connection.execute("drop schema skillcue cascade")
        connection.execute("drop owned by agent")
        connection.execute("drop role agent")


def test_a_replica_that_only_reads_is_said(server: PostgresServer, index: PostgresIndex) -> None:
    reads = PostgresIndex(f"{server.url}?options=-c%20default_transaction_read_only%3Don")
    assert len(reads.candidates(ASKED).candidates) == 1
    with pytest.raises(IndexUnavailableError, match="only reads"):
        reads.apply([make_indexed("new")], tenant="a", encoder=ENCODER)
    reads.close()


@pytest.mark.parametrize(
    "url", ["postgresql://ann:se@cret@host:x/db", "postgresql://[bad", "colour=red password=secret"]
)
def test_a_url_that_cannot_be_read_is_a_mistake_without_the_password(url: str) -> None:
    with pytest.raises(ConfigurationError, match="postgresql://user:password") as raised:
        PostgresIndex(url)
    assert "cret" not in str(raised.value).replace("postgresql://user:password", "")
    assert raised.value.__cause__ is None


def test_a_closed_index_says_so(server: PostgresServer) -> None:
    index = PostgresIndex(server.url)
    index.revision(["a"])
    index.close()
    index.close()
    with pytest.raises(IndexUnavailableError, match="closed"):
        index.revision(["a"])


def test_a_listener_hears_of_a_server_that_came_back(
    server: PostgresServer, index: PostgresIndex
) -> None:
    """It calls for every tenant then: what happened meanwhile was missed."""
    heard: list[str] = []
    end = index.listen(heard.append)
    index.apply([make_indexed("one")], tenant="a", encoder=ENCODER)
    eventually(lambda: heard == ["a"])
    server.kill()
    server.start()
    eventually(lambda: "" in heard)
    other = PostgresIndex(server.url)
    other.apply([make_indexed("two")], tenant="a", encoder=ENCODER)
    other.close()
    eventually(lambda: heard[-1] == "a")
    end()


def test_a_listener_begins_when_the_server_does(server: PostgresServer) -> None:
    server.stop()
    index = PostgresIndex(server.url, wait_s=0.5)
    heard: list[str] = []
    end = index.listen(heard.append)
    assert heard == []
    server.start()
    eventually(lambda: heard == [""])
    end()
    index.close()


def test_ending_a_listener_ends_its_connection(server: PostgresServer) -> None:
    index = PostgresIndex(server.url)
    index.revision(["a"])
    before = threading.active_count()
    end = index.listen(lambda tenant: None)
    assert threading.active_count() == before + 1
    end()
    eventually(lambda: threading.active_count() == before)
    index.close()


EDITOR = """
import sys, time
from skillcue_adapters.postgres import PostgresIndex
from skillcue_hooks.testing import FakeEncoder, make_indexed

index = PostgresIndex(sys.argv[1])
index.revision(["a"])
print("ready", flush=True)
for line in sys.stdin:
    item = make_indexed(line.strip(), "Fire a kiln.")
    index.apply([item], tenant="a", encoder=FakeEncoder().fingerprint)
    print(time.time(), flush=True)
"""


def test_a_change_in_another_process_is_told(
    server: PostgresServer, index: PostgresIndex, capsys: pytest.CaptureFixture[str]
) -> None:
    heard: list[float] = []
    end = index.listen(lambda tenant: heard.append(time.time()))
    editor = subprocess.Popen(
        [sys.executable, "-c", EDITOR, server.url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert editor.stdin
    assert editor.stdout
    assert editor.stdout.readline() == "ready\n"
    lags = []
    for number in range(5):
        print(f"edit{number}", file=editor.stdin, flush=True)
        stored = float(editor.stdout.readline())
        eventually(lambda seen=number: len(heard) > seen)  # type: ignore[misc]
        lags.append(heard[number] - stored)
        assert f"edit{number}@edit{number}" in index.fetch([f"edit{number}@edit{number}"], ["a"])
    editor.stdin.close()
    assert editor.wait(WAIT_S) == 0
    editor.stdout.close()
    end()
    with capsys.disabled():
        print(f" told after {', '.join(f'{1000 * lag:.1f}' for lag in lags)} ms", end=" ")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_has_its_own_connections(index: PostgresIndex) -> None:
    """It reads, hears of changes, and what it does leaves the parent's connections alone."""
    heard: list[str] = []
    end = index.listen(heard.append)
    index.candidates(ASKED)
    context = multiprocessing.get_context("fork")
    reads, tells = context.Pipe()
    child = context.Process(target=_in_child, args=(index, heard, tells))
    child.start()
    for _ in range(20):
        assert len(index.candidates(ASKED).candidates) == 1
    assert reads.poll(WAIT_S)
    assert reads.recv() == ["kiln@kiln"]
    index.apply([make_indexed("parents")], tenant="a", encoder=ENCODER)
    assert reads.poll(WAIT_S), "the child did not hear of it"
    assert reads.recv() == "a"
    child.join(WAIT_S)
    assert child.exitcode == 0
    eventually(lambda: "a" in heard)
    assert len(index.candidates(ASKED).candidates) >= 1
    end()


def _in_child(
    index: PostgresIndex, heard: list[str], tells: multiprocessing.connection.Connection
) -> None:
    ids: list[str] = []
    for _ in range(20):
        ids = [candidate.skill.id for candidate in index.candidates(ASKED).candidates]
    tells.send(ids)
    eventually(lambda: "a" in heard)
    tells.send("a")
    index.close()
