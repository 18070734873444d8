"""Ways to run the command line: in this process for many cases, as a process for the real thing."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from skillcue.cli import main


@dataclass(frozen=True)
class Result:
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Result]


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings of whoever runs the tests must not change them."""
    for name in [name for name in os.environ if name.startswith("SKILLCUE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command in this process."""

    def run(*arguments: object) -> Result:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        result = Result(code, captured.out, captured.err)
        assert "Traceback" not in result.out + result.err
        return result

    return run


@pytest.fixture
def process() -> Command:
    """Run a command as a process of its own."""

    def run(
        *arguments: object,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        code: str | None = None,
    ) -> Result:
        start = ["-c", code] if code else ["-m", "skillcue"]
        done = subprocess.run(
            [sys.executable, *start, *map(str, arguments)],
            env={**os.environ, **(env or {})},
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
            check=False,
        )
        result = Result(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert "Traceback" not in result.out + result.err, result.err
        return result

    return run


@pytest.fixture
def terminal() -> Command:
    """Run a command as a process whose output and errors go to one terminal."""

    def run(*arguments: object, env: Mapping[str, str] | None = None) -> Result:
        ours, theirs = pty.openpty()
        child = subprocess.Popen(
            [sys.executable, "-m", "skillcue", *map(str, arguments)],
            env={**os.environ, **(env or {})},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        parts = []
        with contextlib.suppress(OSError):  # EIO: the last writer is gone
            while part := os.read(ours, 65536):
                parts.append(part)
        os.close(ours)
        return Result(child.wait(timeout=120), b"".join(parts).decode(), "")

    return run
