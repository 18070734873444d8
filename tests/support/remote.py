"""Real repositories, archives and servers for the sources that are fetched."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

ENVIRONMENT = {
    **os.environ,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}


class Repository:
    """A git repository on this machine.

    Args:
        folder: Where to make it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")

    @property
    def url(self) -> str:
        return f"file://{self.folder}"

    def git(self, *arguments: str) -> str:
        """Standard output of one command."""
        done = subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments],
            cwd=self.folder,
            env=ENVIRONMENT,
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        return done.stdout.strip()

    def commit(self, message: str = "change") -> str:
        """Commit everything; gives the commit."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")


def skill_text(name: str, description: str = "", body: str = "# Steps\n") -> str:
    return f"---\nname: {name}\ndescription: {description or f'Does {name}.'}\n---\n\n{body}"


def write_skill_at(folder: Path, name: str, description: str = "") -> Path:
    """A skill with a file beside it; gives its folder."""
    place = folder / name
    (place / "references").mkdir(parents=True, exist_ok=True)
    (place / "SKILL.md").write_text(skill_text(name, description), "utf-8")
    (place / "references" / "notes.txt").write_text(f"Notes of {name}.", "utf-8")
    return place


MCP_SERVER = """
import sys
from fastmcp import FastMCP
from fastmcp.skills.provider import SkillsDirectoryProvider

server = FastMCP("skills", providers=[SkillsDirectoryProvider(sys.argv[1], reload=True)])
if len(sys.argv) > 2:
    server.run(transport="http", host="127.0.0.1", port=int(sys.argv[2]), show_banner=False)
else:
    server.run(transport="stdio", show_banner=False)
"""
"""A fastmcp server with its own Skills extension: folder, and a port or nothing for stdio."""

RAW_SERVER = """
import json, sys

answers = json.load(open(sys.argv[1], encoding="utf-8"))
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    params = request.get("params") or {}
    key = request["method"]
    if key == "resources/read":
        key += " " + params["uri"]
    elif params.get("cursor"):
        key += " " + params["cursor"]
    with open(sys.argv[1] + ".log", "a", encoding="utf-8") as log:
        log.write(key + "\\n")
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    if key in answers:
        reply["result"] = answers[key]
    else:
        reply["error"] = {"code": -32601, "message": "no " + key}
    print(json.dumps(reply), flush=True)
"""
"""Answers over standard input and output from a JSON file: whatever a hostile server may say."""


class HttpServer:
    """The fastmcp server on a port of this machine, in a process of its own.

    Args:
        script: File with `MCP_SERVER`.
        skills: What it serves.
    """

    def __init__(self, script: Path, skills: Path) -> None:
        self._script = script
        self._skills = skills
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        self._process = subprocess.Popen(
            [sys.executable, str(self._script), str(self._skills), str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + 60
        while time.monotonic() < end and self._process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        raise RuntimeError("the server did not start")

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
