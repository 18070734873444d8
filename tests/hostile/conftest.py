"""Hostile skills in a library, and a machine on which nothing may be run or reached."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from support.hostile_skills import write_hostile
from support.llamaindex_warnings import allow_llamaindex_warnings

from skillcue import PushSettings, SkillCue


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    allow_llamaindex_warnings(items, Path(__file__).parent)


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A file that hostile skills would write."""
    return tmp_path / "canary"


@pytest.fixture
def hostile(tmp_path: Path, canary: Path) -> Path:
    """The folder of all hostile skills and an honest one."""
    return write_hostile(tmp_path / "library", canary)


@pytest.fixture(autouse=True)
def nothing_runs(canary: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever opens a connection or starts a program fails the test, and so does the canary."""
    touched: list[str] = []

    def refuse(*args: Any, **_options: Any) -> NoReturn:
        touched.append(repr(args)[:200])
        raise AssertionError(f"something was reached or run: {args!r}")

    connect = socket.socket.connect

    def connect_locally(self: socket.socket, address: Any) -> Any:
        return connect(self, address) if self.family == socket.AF_UNIX else refuse(address)

    monkeypatch.setattr(socket.socket, "connect", connect_locally)
    for module, name in (
        (socket, "create_connection"),
        (socket, "getaddrinfo"),
        (subprocess, "Popen"),
        (subprocess, "run"),
    ):
        monkeypatch.setattr(module, name, refuse)
    monkeypatch.setattr("os.system", refuse)
    monkeypatch.setattr("os.popen", refuse)
    yield
    assert touched == []
    assert not canary.exists()


@pytest.fixture(params=["trusted", "scanned", "untrusted"])
def cue(request: pytest.FixtureRequest, hostile: Path) -> Iterator[SkillCue]:
    """The library at its weakest (all trusted, nobody scans), as it comes, and untrusted."""
    options: dict[str, Any] = {}
    if request.param == "trusted":
        options["block_plugins"] = ["scanner"]
    elif request.param == "untrusted":
        options["trust"] = "untrusted"
    push = PushSettings(load_tokens=2_000, tokens_replayed=6_000)
    with SkillCue(hostile, mode="bm25", push=push, recheck="manual", **options) as opened:
        yield opened
