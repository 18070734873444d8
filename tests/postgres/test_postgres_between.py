"""What stands before a database in production: a standby that only reads, and a pooler."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from support.postgres import MISSING
from support.postgres_server import Pooler, PostgresServer, Replica, pooler_program, programs

from skillcue import SkillCue
from skillcue_adapters.postgres import PostgresIndex
from skillcue_hooks.skill_index import IndexQuery, View
from skillcue_hooks.testing import make_indexed

ENCODER = "made up"


@pytest.fixture
def pooler(postgres_url: str) -> Iterator[str]:
    """Url of a pooler with two connections to the server."""
    if pooler_program() is None:
        pytest.skip("pgbouncer is not installed")
    found = Pooler(urlsplit(postgres_url).port or 5432)
    yield f"postgresql://postgres@127.0.0.1:{found.port}/postgres"
    found.remove()


@pytest.fixture
def primary() -> Iterator[PostgresServer]:
    """A server of its own, to be copied."""
    if programs() is None:
        pytest.skip(MISSING)
    server = PostgresServer()
    server.start()
    yield server
    server.remove()


def eventually(condition: Callable[[], bool], seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def skill_folder(folder: Path, **descriptions: str) -> Path:
    for name, description in descriptions.items():
        file = folder / name / "SKILL.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"---\nname: {name}\ndescription: {description}\n---\nDo it.\n", "utf-8")
    return folder


def test_many_searches_at_a_time_behind_a_pooler(pooler: str, postgres_schema: str) -> None:
    """Transactions of all share two connections: nothing may be left on one of them."""
    index = PostgresIndex(pooler, schema=postgres_schema)
    items = [make_indexed(f"skill{n}", f"tool{n} for work") for n in range(40)]
    index.apply(items, tenant="a", encoder=ENCODER)
    index.apply([make_indexed("own", "tool1 of b")], tenant="b", encoder=ENCODER)

    def search(tenant: str) -> set[str]:
        found: set[str] = set()
        for n in range(30):
            view = View(head={f"tool{n}": 1.0}, vector=items[n].vector if n % 2 else None)
            legs = index.candidates(IndexQuery((view,), 50, (tenant,)))
            found |= {candidate.skill.id for candidate in legs.candidates}
            assert index.statistics((tenant,)).skills == (40 if tenant == "a" else 1)
        return found

    with ThreadPoolExecutor(4) as executor:
        first, second, third, fourth = executor.map(search, "abab")
    index.close()
    assert first == third == {item.skill.id for item in items}
    assert second == fourth == {"own@own"}


def test_changes_are_seen_behind_a_pooler(pooler: str, postgres_schema: str) -> None:
    """What arrives between two transactions the pooler drops, so the index is asked instead."""
    index = PostgresIndex(pooler, schema=postgres_schema)
    index.apply([make_indexed("one", "first")], tenant="a", encoder=ENCODER)
    heard: list[str] = []
    end = index.listen(heard.append)
    assert eventually(lambda: heard.count("") >= 2)
    end()
    index.close()


def test_an_edit_reaches_a_reader_behind_a_pooler(
    pooler: str, postgres_url: str, postgres_schema: str, tmp_path: Path
) -> None:
    folder = skill_folder(tmp_path / "skills", kiln="Fires clay in a kiln.")
    options = f"?schema={postgres_schema}&tenant=a"
    publish(folder, postgres_url + options)
    with SkillCue(f"{pooler}{options}", cache=tmp_path / "cache", events=None) as reader:
        assert names(reader, "clay") == ["kiln"]
        skill_folder(folder, glaze="Mixes glaze for clay.")
        publish(folder, postgres_url + options)
        assert eventually(lambda: len(names(reader, "clay")) == 2)  # or the answer that is kept


def test_a_reader_of_a_standby_sees_changes(primary: PostgresServer, tmp_path: Path) -> None:
    """A standby cannot listen, and its reader would give the answers that it keeps for ever."""
    folder = skill_folder(tmp_path / "skills", kiln="Fires clay in a kiln.")
    publish(folder, f"{primary.url}?tenant=a")
    standby = Replica(primary)
    try:
        standby.start()
        url = f"{standby.url}?tenant=a"
        with SkillCue(url, cache=tmp_path / "cache", events=None) as reader:
            assert eventually(lambda: names(reader, "clay") == ["kiln"])
            skill_folder(folder, glaze="Mixes glaze for clay.")
            publish(folder, f"{primary.url}?tenant=a")
            assert eventually(lambda: len(names(reader, "clay")) == 2)
    finally:
        standby.remove()


def test_a_promoted_standby_is_listened_to(
    primary: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from skillcue_adapters.postgres import listening

    monkeypatch.setattr(listening, "DEAF_S", 0.05)
    PostgresIndex(primary.url).migrate()
    standby = Replica(primary)
    try:
        standby.start()
        index = PostgresIndex(standby.url)
        heard: list[str] = []
        end = index.listen(heard.append)
        assert eventually(lambda: "" in heard)
        primary.stop()
        with psycopg.connect(standby.url, autocommit=True) as connection:
            connection.execute("select pg_promote()")
        index.apply([make_indexed("one", "first")], tenant="first", encoder=ENCODER)

        def told() -> bool:
            index.apply([], ["no such skill"], tenant="a", encoder=ENCODER)
            with psycopg.connect(standby.url, autocommit=True) as connection:
                connection.execute("select pg_notify('skillcue', 'a')")
            return "a" in heard

        assert eventually(told)
        end()
        index.close()
    finally:
        standby.remove()


def publish(folder: Path, url: str) -> None:
    from skillcue.cli import main

    assert main(["publish", str(folder), "--to", url]) == 0


def names(cue: SkillCue, text: str) -> list[str]:
    return [hit.skill.name for hit in cue.lookup(text).hits]
