"""Clients and processes for the tests of the MCP server."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

__all__ = ["Served", "StdioWire", "command", "environment", "raw_stdio", "serving", "text_of"]

WAIT_S = 60
"""Seconds after which a process that does not end is an error."""


def command(*arguments: object) -> list[str]:
    """``skillcue serve`` with this interpreter."""
    return [sys.executable, "-m", "skillcue", "serve", *map(str, arguments)]


def environment() -> dict[str, str]:
    """The variables of this process, without settings of skillcue."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SKILLCUE_")}


def text_of(result: Any) -> str:
    """The text of a tool result of the SDK."""
    return "\n".join(block.text for block in result.content)


@dataclass
class Served:
    """A server over HTTP, and what it said on standard error before it served."""

    url: str
    process: subprocess.Popen[str]
    said: str


@contextlib.contextmanager
def serving(*arguments: object) -> Iterator[Served]:
    """``skillcue serve --transport http`` on a free port, until the block ends."""
    process = subprocess.Popen(
        command("--transport", "http", "--port", "0", *arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    said = ""
    try:
        assert process.stderr is not None
        for line in process.stderr:
            said += line
            if line.startswith("note: Serving"):
                yield Served(line.split()[-1], process, said)
                return
        raise AssertionError(f"it does not serve: {said}")
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=WAIT_S)


class StdioWire:
    """A server over stdio, spoken to in lines of JSON."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        self._next = 0

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The whole answer to a request."""
        self._next += 1
        self._send({"id": self._next, "method": method, "params": params or {}})
        while True:
            line = _stream(self.process.stdout).readline()
            assert line, "the server has ended"
            self.lines.append(line)
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self._next:
                return answer

    def start(self) -> dict[str, Any]:
        """The handshake of before 2026-07-28; the result of ``initialize``."""
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "wire", "version": "1"},
        }
        result: dict[str, Any] = self.ask("initialize", params)["result"]
        self._send({"method": "notifications/initialized"})
        return result

    def end(self) -> tuple[int, str, str]:
        """Close standard input; the exit code and what else was printed."""
        _stream(self.process.stdin).close()
        code = self.process.wait(WAIT_S)
        return code, _stream(self.process.stdout).read(), _stream(self.process.stderr).read()

    def _send(self, message: Mapping[str, Any]) -> None:
        stdin = _stream(self.process.stdin)
        stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        stdin.flush()


@contextlib.contextmanager
def raw_stdio(start: Sequence[str], **variables: str) -> Iterator[StdioWire]:
    """A process that is a server over stdio."""
    process = subprocess.Popen(
        start,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**environment(), **variables},
    )
    try:
        yield StdioWire(process)
    finally:
        if process.poll() is None:
            process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            with contextlib.suppress(BrokenPipeError):
                _stream(stream).close()
        process.wait(WAIT_S)


def _stream(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream
