"""The tables come to be, once, whoever starts first; and what is said where they cannot be used."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from skillcue_adapters.postgres import PostgresIndex
from skillcue_adapters.postgres.migrations import MIGRATIONS
from skillcue_hooks.errors import ConfigurationError, IndexUnavailableError
from skillcue_hooks.testing import FakeEncoder, make_indexed

ENCODER = FakeEncoder().fingerprint


@pytest.fixture
def database(postgres_url: str) -> Iterator[str]:
    """Url of a new database, without pgvector."""
    name = f"d{uuid.uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"create database {name}")
        yield f"{postgres_url.rpartition('/')[0]}/{name}"
        connection.execute(f"drop database {name} with (force)")


def tables(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "select count(*) from pg_tables where schemaname not in ('pg_catalog',"
            " 'information_schema')"
        ).fetchone()
    assert row
    return int(row[0])


def test_the_first_use_makes_them(database: str) -> None:
    index = PostgresIndex(database)
    assert tables(database) == 0, "nothing is connected to before"
    assert index.statistics(["a"]).skills == 0
    index.close()
    assert tables(database) > 0


@pytest.mark.parametrize("extension", [False, True])
def test_processes_may_start_together(database: str, extension: bool) -> None:
    """Of one schema, and of two; with pgvector there, and without."""
    if extension:
        with psycopg.connect(database) as connection:
            connection.execute("create extension vector schema public")

    def start(number: int) -> str:
        index = PostgresIndex(database, schema=f"s{number % 2}")
        item = make_indexed(f"skill{number}", tenant="a")
        index.apply([item], tenant="a", encoder=ENCODER)
        index.close()
        return item.skill.id

    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(start, range(8)))
    for half in (0, 1):
        index = PostgresIndex(database, schema=f"s{half}")
        assert set(index.fetch(ids, ["a"])) == set(ids[half::2])
        index.close()


def test_migrating_again_does_nothing(postgres_url: str, postgres_schema: str) -> None:
    index = PostgresIndex(postgres_url, schema=postgres_schema)
    index.apply([make_indexed("kept", tenant="a")], tenant="a", encoder=ENCODER)
    index.migrate()
    index.migrate()
    assert index.statistics(["a"]).skills == 1
    index.close()
    with psycopg.connect(postgres_url) as connection:
        rows = connection.execute(f"select version from {postgres_schema}.migration").fetchall()
    assert [version for (version,) in rows] == list(range(1, len(MIGRATIONS) + 1))


def test_tables_of_a_later_release_are_left_alone(postgres_url: str, postgres_schema: str) -> None:
    PostgresIndex(postgres_url, schema=postgres_schema).migrate()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"insert into {postgres_schema}.migration (version) values (999)")
    index = PostgresIndex(postgres_url, schema=postgres_schema)
    with pytest.raises(ConfigurationError, match="Upgrade skillcue"):
        index.revision(["a"])
    with pytest.raises(ConfigurationError, match="Upgrade skillcue"):
        index.migrate()
    index.close()


def test_without_auto_migrate_the_cure_is_named(postgres_url: str, postgres_schema: str) -> None:
    index = PostgresIndex(postgres_url, schema=postgres_schema, auto_migrate=False)
    with pytest.raises(ConfigurationError, match="migrate"):
        index.revision(["a"])
    index.migrate()
    assert index.statistics(["a"]).skills == 0
    index.close()


def test_tables_that_vanish_are_an_outage_to_who_has_read_them(
    postgres_url: str, postgres_schema: str
) -> None:
    index = PostgresIndex(postgres_url, schema=postgres_schema)
    index.revision(["a"])
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"drop schema {postgres_schema} cascade")
    with pytest.raises(IndexUnavailableError, match="publish again"):
        index.revision(["a"])
    index.close()


def test_a_failed_migration_leaves_nothing(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from skillcue_adapters.postgres import migrations

    broken = (*MIGRATIONS, "create table {s}.more (no bigint); select 1 / 0;")
    index = PostgresIndex(database)
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", broken)
        with pytest.raises(psycopg.errors.DivisionByZero):
            index.migrate()
    assert tables(database) == 0
    index.migrate()
    assert tables(database) > 0
    index.close()


def test_a_missing_driver_is_named_with_its_extra() -> None:
    program = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from skillcue_hooks.errors import MissingExtraError\n"
        "try:\n    import skillcue_adapters.postgres\n"
        "except MissingExtraError as error:\n    print(error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert 'pip install "skillcue[postgres]"' in run.stdout
