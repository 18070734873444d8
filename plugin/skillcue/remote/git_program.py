"""Runs ``git`` so that nothing of a repository runs with it: arguments as a list, no shell, no
hooks, no prompts, no filters, few transports, and an end."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from skillcue.remote.failures import RefusedError, UnreachableError

__all__ = ["GitProgram", "end", "without_credentials"]

POLL_S = 0.1
"""How often a running git is looked at, seconds."""
OUTPUT_BYTES = 64 * 1024 * 1024
"""Most bytes of output of one command that are taken."""
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.alternateRefsCommand=",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.fsckObjects=true",
    "gc.auto=0",
    "maintenance.auto=false",
    "credential.interactive=false",
)
_FOREIGN = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_CONFIG_PARAMETERS",
    "GIT_EXTERNAL_DIFF",
    "GIT_TRACE",
)
"""Variables that a surrounding git command sets, and that would redirect this one."""
_USER_INFO = re.compile(r"(?<=://)[^/@\s]+@")
_LINES_SHOWN = 3


def without_credentials(text: str) -> str:
    """`text` with what stands before ``@`` in its addresses left out."""
    return _USER_INFO.sub("", text)


class GitProgram:
    """Commands on one repository folder.

    Args:
        folder: A bare repository.
        protocols: Transports that may be used, such as ``https:ssh``.
        seconds: Time that all commands together may take.
        limit: Bytes that the folder may grow to.
    """

    def __init__(self, folder: Path, protocols: str, seconds: float, limit: int) -> None:
        self._folder = folder
        self._protocols = protocols
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._limit = limit

    def run(self, *arguments: str) -> bytes:
        """Standard output of one command.

        Raises:
            UnreachableError: There is no git, it failed, or it took too long.
            RefusedError: It brought more than `limit` bytes.
        """
        output = self._folder.parent / "output"
        errors = self._folder.parent / "errors"
        with output.open("wb") as out, errors.open("wb") as err:
            process = self._start(arguments, out.fileno(), err.fileno())
            code = self._wait(process)
        if output.stat().st_size > OUTPUT_BYTES:
            raise RefusedError("It says too much.", "Take a smaller repository.")
        if code != 0:
            raise UnreachableError(f"git {arguments[0]} failed: {_said(errors)}", _cure(errors))
        return output.read_bytes()

    def stream(self, *arguments: str) -> subprocess.Popen[bytes]:
        """A running command that is written to and read from; the caller ends it."""
        return self._start(arguments, subprocess.PIPE, subprocess.DEVNULL, subprocess.PIPE)

    @property
    def seconds_left(self) -> float:
        """Until all commands must have ended."""
        return self._end - time.monotonic()

    def _start(
        self, arguments: tuple[str, ...], output: int, errors: int, given: int = subprocess.DEVNULL
    ) -> subprocess.Popen[bytes]:
        program = shutil.which("git")
        if program is None:
            raise UnreachableError("There is no program git.", "Install git.")
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        return subprocess.Popen(
            [program, f"--git-dir={self._folder}", *settings, *arguments],
            stdin=given,
            stdout=output,
            stderr=errors,
            cwd=self._folder.parent,
            env=self._environment(),
            start_new_session=True,  # so that its helpers end with it
        )

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
        kept.setdefault("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")
        kept.setdefault("GIT_ASKPASS", "")
        return {
            **kept,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": self._protocols,
            "GIT_LFS_SKIP_SMUDGE": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "LC_ALL": "C",
        }

    def _wait(self, process: subprocess.Popen[bytes]) -> int:
        while True:
            try:
                return process.wait(POLL_S)
            except subprocess.TimeoutExpired:
                pass
            if time.monotonic() >= self._end:
                end(process)
                raise UnreachableError(
                    f"git was stopped after {self._seconds:g} seconds.",
                    "Look at the network, or raise FetchLimits(seconds=...).",
                )
            if _size(self._folder.parent) > self._limit:
                end(process)
                raise RefusedError(
                    f"It is larger than {self._limit} bytes (limit download_bytes).",
                    "Take a smaller repository, or raise FetchLimits(download_bytes=...).",
                )


def end(process: subprocess.Popen[bytes]) -> None:
    """Stop a command and the helpers it started."""
    kill: Callable[[], None] = process.kill
    if sys.platform != "win32" and process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    else:
        kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:  # closing writes what nobody reads any more
                pass
    process.wait()


def _size(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except OSError:  # git renames and removes while it works
                continue
    return total


def _said(errors: Path) -> str:
    text = errors.read_bytes()[:4096].decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("fatal:", "error:", "ERROR:"))] or lines
    return without_credentials(" ".join(told[:_LINES_SHOWN])) or "it says nothing."


def _cure(errors: Path) -> str:
    text = errors.read_bytes()[:4096].decode("utf-8", "replace").casefold()
    if "authentication" in text or "terminal prompts disabled" in text or "permission" in text:
        return "Give git access: a credential helper, or an SSH key without a prompt."
    if "remote ref" in text or "not our ref" in text or "unadvertised" in text:
        return "Name a branch, a tag, or a full commit of 40 characters."
    return "Look at the address and the network."
