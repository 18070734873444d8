"""The vector index, sparse vectors, and one statement a query."""

from __future__ import annotations

import random
import re
from array import array
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from skillcue_adapters.indexed import pruning
from skillcue_adapters.postgres import PostgresIndex, searching
from skillcue_adapters.postgres import index as postgres_index
from skillcue_adapters.postgres.vectors import Longs, Reals
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.skill_index import IndexedSkill, IndexQuery, View
from skillcue_hooks.testing import FakeEncoder, make_indexed

ENCODER = FakeEncoder()
WORDS = [f"word{number}" for number in range(300)]
K1, B = 1.5, 0.75


def made(number: int, dice: random.Random, tenant: str = "a") -> IndexedSkill:
    words = dice.choices(WORDS, [1 / (n + 5) for n in range(300)], k=dice.randint(3, 30))
    body = dice.choices(WORDS, k=dice.randint(0, 60))
    return make_indexed(
        f"skill{number:04}",
        " ".join(words),
        " ".join(body),
        tenant=tenant,
        tags=("rare",) if number % 97 == 0 else (),
    )


@pytest.fixture
def skills() -> list[IndexedSkill]:
    dice = random.Random(3)
    return [made(number, dice) for number in range(1200)]


@pytest.fixture
def approximate(
    postgres_url: str, postgres_schema: str, skills: list[IndexedSkill]
) -> Iterator[PostgresIndex]:
    """Every search of a vector goes through the vector index."""
    index = PostgresIndex(postgres_url, schema=postgres_schema, exact_up_to=0)
    index.apply(skills, tenant="a", encoder=ENCODER.fingerprint)
    yield index
    index.close()


def ids(index: PostgresIndex, query: IndexQuery) -> list[str]:
    legs = index.candidates(query)
    return [legs.candidates[n].skill.id for n in legs.dense[0]]


def nearest(skills: list[IndexedSkill], vector: array[float], count: int) -> list[float]:
    products = np.array([item.vector for item in skills]) @ np.array(vector)
    return sorted(products.tolist(), reverse=True)[:count]


def test_the_vector_index_finds_nearly_all_of_the_nearest(
    approximate: PostgresIndex, skills: list[IndexedSkill]
) -> None:
    """Compared by similarity: skills with equal vectors are as good as each other."""
    by_id = {item.skill.id: item for item in skills}
    shares = []
    for number in range(0, 1200, 60):
        vector = skills[number].vector
        found = ids(approximate, IndexQuery((View(vector),), 20, ("a",)))
        assert len(found) == 20
        assert found[0] in {i.skill.id for i in skills if list(i.vector) == list(vector)}
        products = [float(np.dot(by_id[i].vector, vector)) for i in found]
        assert products == sorted(products, reverse=True), "in the order of exact products"
        cut = nearest(skills, vector, 20)[-1]
        shares.append(np.mean([product >= cut - 1e-6 for product in products]))
    assert np.mean(shares) >= 0.95


def test_the_vector_index_is_used(approximate: PostgresIndex, postgres_url: str) -> None:
    schema = repr(approximate).partition("schema='")[2].rstrip("')")

    def scans() -> int:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            row = connection.execute(
                "select idx_scan from pg_stat_all_indexes where schemaname = %s"
                " and indexrelname = 'skill_by_vector'",
                [schema],
            ).fetchone()
        assert row
        return int(row[0])

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"analyze {schema}.skill")
    before = scans()
    ids(approximate, IndexQuery((View(made(5000, random.Random(1)).vector),), 20, ("a",)))
    approximate.close()  # what a process counted is known when it ends
    for _ in range(500):
        if scans() > before:
            break
    assert scans() > before


def test_filters_and_small_tenants_get_as_many_as_they_ask_for(
    approximate: PostgresIndex, skills: list[IndexedSkill]
) -> None:
    dice = random.Random(4)
    few = [made(number, dice, tenant="b") for number in range(30)]
    approximate.apply(few, tenant="b", encoder=ENCODER.fingerprint)
    for number in range(0, 1200, 150):
        view = View(skills[number].vector)
        assert len(ids(approximate, IndexQuery((view,), 25, ("b",)))) == 25
        rare = ids(approximate, IndexQuery((view,), 10, ("a",), (("tag", "rare"),)))
        assert len(rare) == 10
        assert all(int(i.partition("@")[0].removeprefix("skill")) % 97 == 0 for i in rare)


def test_a_search_that_gives_up_early_is_made_again_over_all_vectors(
    approximate: PostgresIndex,
    skills: list[IndexedSkill],
    postgres_url: str,
    postgres_schema: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A filter that so few pass that the vector index stops before it has found them."""
    monkeypatch.setattr(searching, "SCANNED", 1)
    monkeypatch.setattr(searching, "SEARCH_WIDTH", (1, 1))
    # The planner would rather look at all of so few skills.
    options = "options=-c%20enable_seqscan%3Doff%20-c%20enable_sort%3Doff"
    index = PostgresIndex(f"{postgres_url}?{options}", schema=postgres_schema, exact_up_to=0)
    for number in range(0, 1200, 300):
        query = IndexQuery((View(skills[number].vector),), 13, ("a",), (("tag", "rare"),))
        assert len(ids(index, query)) == 13
    index.close()


def test_a_budget_goes_to_the_terms_that_are_worth_most(
    postgres_url: str, postgres_schema: str
) -> None:
    index = PostgresIndex(postgres_url, schema=postgres_schema)
    kilns = [make_indexed(f"kiln{n}", "oven") for n in range(5)]
    plain = [make_indexed(f"plain{n:02}", "fire clay glaze") for n in range(60)]
    index.apply([*kilns, *plain], tenant="a", encoder=ENCODER.fingerprint)
    view = View(head={"oven": 1.0, "fire": 0.6, "clay": 0.6, "glaze": 0.6})

    def found(depth: int, postings: int | None, view: View = view) -> set[str]:
        legs = index.candidates(IndexQuery((view,), depth, ("a",), postings=postings))
        return {legs.candidates[n].skill.name[:4] for n in legs.lexical[0]}

    assert found(5, None) == {"plai"}
    assert found(5, 5) == {"kiln"}, "others are in more skills than may be looked at"
    assert found(6, 5) == {"plai"}, "too few skills were looked at"
    assert found(5, 65) == {"plai"}
    heavy = View(head={"oven": 0.1, "fire": 9.0})
    assert found(5, 5, heavy) == {"plai"}, "worth goes before rarity"
    assert found(61, 5, heavy) == {"plai", "kiln"}
    index.close()


def test_the_lexical_leg_is_bm25(approximate: PostgresIndex, skills: list[IndexedSkill]) -> None:
    """Also after the mean lengths have moved, and with the lengths of skills that are gone."""
    long = [make_indexed(f"long{n}", " ".join(WORDS * 2), tenant="a") for n in range(60)]
    approximate.apply(long, tenant="a", encoder=ENCODER.fingerprint)
    gone = [item.skill.id for item in skills[::7]]
    approximate.apply([], gone, tenant="a", encoder=ENCODER.fingerprint)
    held = [item for item in [*skills, *long] if item.skill.id not in set(gone)]
    weights = {word: 1.0 + n / 7 for n, word in enumerate(WORDS[5:60:6])}
    body = {word: weight / 2 for word, weight in weights.items()}
    query = IndexQuery((View(head=weights, body=body),), 50, ("a",))
    legs = approximate.candidates(query)
    found = [legs.candidates[n].skill.id for n in legs.lexical[0]]
    scores = bm25(held, weights, body)
    best = sorted(scores, key=lambda i: (-scores[i], i))[:50]
    # Mean lengths may be off by the drift that is let through, so near ties may change places.
    assert len({*found[:20]} & {*best}) == 20
    assert [scores[i] for i in found] == pytest.approx([scores[i] for i in best], rel=0.03)


def bm25(
    held: list[IndexedSkill], head: dict[str, float], body: dict[str, float]
) -> dict[str, float]:
    """Scores as they are defined, skill by skill."""
    scores: dict[str, float] = {}
    for side, weights in (("head", head), ("body", body)):
        lengths = {item.skill.id: sum(getattr(item, side).values()) for item in held}
        average = sum(lengths.values()) / len(held)
        for item in held:
            counts, norm = getattr(item, side), K1 * (1 - B + B * lengths[item.skill.id] / average)
            for term, weight in weights.items():
                if count := counts.get(term):
                    gain = weight * count * (K1 + 1) / (count + norm)
                    scores[item.skill.id] = scores.get(item.skill.id, 0.0) + gain
    return scores


def test_candidates_are_one_statement(
    postgres_url: str, postgres_schema: str, skills: list[IndexedSkill]
) -> None:
    """Two views, both legs, names and filters; read in the log of the server."""
    url = f"{postgres_url}?options=-c%20log_statement%3Dall"
    index = PostgresIndex(url, schema=postgres_schema)
    index.apply(skills[:300], tenant="a", encoder=ENCODER.fingerprint)
    views = tuple(
        View(
            item.vector, dict.fromkeys(item.head, 1.0), dict.fromkeys(item.body, 1.0), (item.name,)
        )
        for item in skills[:2]
    )
    with psycopg.connect(postgres_url) as connection:
        row = connection.execute("show data_directory").fetchone()
    assert row
    log = Path(row[0]).parent / "log"
    before = log.stat().st_size
    legs = index.candidates(IndexQuery(views, 20, ("a",), (("trust", "trusted"),)))
    assert len(legs.candidates) >= 20
    index.close()
    with log.open("rb") as file:
        file.seek(before)
        written = file.read().decode(errors="replace")
    sent = [line for line in written.splitlines() if re.search(r"LOG:  (execute|statement)", line)]
    asked = [line for line in sent if not re.search(r"BEGIN|COMMIT|select set_config", line)]
    assert len(asked) == 1, sent
    assert "with scope as materialized" in asked[0]
    assert len(sent) == 4, "begin, settings, the statement, commit"


def test_vectors_of_any_length_that_can_be_indexed(postgres_url: str, postgres_schema: str) -> None:
    index = PostgresIndex(postgres_url, schema=postgres_schema, exact_up_to=0)
    for dim in (1, 3072, 4000):
        item = replace(make_indexed("long"), vector=np.full(dim, 0.1, dtype=np.float32))
        index.apply([item], tenant="a", encoder=f"encoder of {dim}")
        assert index.dim == dim
        assert ids(index, IndexQuery((View(item.vector),), 5, ("a",))) == [item.skill.id]
        index.apply([], [item.skill.id], tenant="a", encoder=f"encoder of {dim}")
    item = replace(make_indexed("long"), vector=np.full(4001, 0.1, dtype=np.float32))
    with pytest.raises(ConfigurationError, match="4000"):
        index.apply([item], tenant="a", encoder="x")
    index.close()


def test_an_emptied_index_takes_another_encoder_beside_an_older_transaction(
    postgres_url: str, postgres_schema: str
) -> None:
    index = PostgresIndex(postgres_url, schema=postgres_schema)
    short = replace(make_indexed("short"), vector=np.full(8, 0.1, dtype=np.float32))
    index.apply([short], tenant="a", encoder="short")
    with psycopg.connect(postgres_url) as older:
        older.execute("set transaction isolation level repeatable read")
        older.execute("select count(*) from pg_class")  # what is deleted from now on stays for it
        index.apply([], [short.skill.id], tenant="a", encoder="short")
        long = replace(make_indexed("long"), vector=np.full(16, 0.1, dtype=np.float32))
        index.apply([long], tenant="a", encoder="long")
    assert ids(index, IndexQuery((View(long.vector),), 5, ("a",))) == [long.skill.id]
    index.close()


def test_a_query_of_another_length_is_a_mistake(approximate: PostgresIndex) -> None:
    with pytest.raises(ConfigurationError, match="encoder"):
        approximate.candidates(IndexQuery((View(array("f", [1.0, 0.0])),), 5, ("a",)))


def test_very_many_terms_and_very_large_texts(postgres_url: str, postgres_schema: str) -> None:
    index = PostgresIndex(postgres_url, schema=postgres_schema)
    words = " ".join(f"term{number}" for number in range(40_000))
    huge = make_indexed("huge", "One", words, text=words * 20, files={"a.bin": bytes(5_000_000)})
    index.apply([huge], tenant="a", encoder=ENCODER.fingerprint)
    assert index.read_text(huge.skill.id, ["a"]) == huge.text
    assert index.files(huge.skill.id, ["a"]) == {"a.bin": 5_000_000}
    assert index.statistics(["a"]).body_terms == 40_000
    asked = IndexQuery((View(head={"one": 1.0}, body={"term7": 1.0, "term39999": 1.0}),), 5, ("a",))
    (found,) = index.candidates(asked).candidates
    assert found.body == {"term7": 1, "term39999": 1}
    index.apply([], [huge.skill.id], tenant="a", encoder=ENCODER.fingerprint)
    assert index.frequencies(["term7"], ["a"]) == {}
    index.close()


@pytest.mark.parametrize("skill_id", ["nul\x00@x", "x" * 2001, "lone\ud800"])
def test_ids_that_cannot_be_stored_are_a_mistake(
    postgres_url: str, postgres_schema: str, skill_id: str
) -> None:
    index = PostgresIndex(postgres_url, schema=postgres_schema)
    item = make_indexed("x", id=skill_id)
    with pytest.raises(ConfigurationError, match="cannot be stored"):
        index.apply([item], tenant="a", encoder=ENCODER.fingerprint)
    assert index.fetch([skill_id], ["a"]) == {}
    index.close()


@pytest.mark.parametrize("tenant", ["nul\x00", "x" * 129])
def test_tenants_that_cannot_be_stored_are_a_mistake(
    postgres_url: str, postgres_schema: str, tenant: str
) -> None:
    index = PostgresIndex(postgres_url, schema=postgres_schema)
    with pytest.raises(ConfigurationError, match="name of a tenant"):
        index.apply([make_indexed("x")], tenant=tenant, encoder=ENCODER.fingerprint)
    index.close()


@pytest.mark.parametrize(
    "wrong",
    [
        {"schema": "Upper"},
        {"schema": "a;drop"},
        {"schema": ""},
        {"connections": 0},
        {"wait_s": 0.0},
        {"read_s": -1.0},
        {"exact_up_to": -1},
    ],
    ids=str,
)
def test_settings_that_cannot_be_used_are_a_mistake(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        PostgresIndex("postgresql://127.0.0.1/x", **wrong)  # type: ignore[arg-type]


def test_the_planner_knows_of_a_tenant_that_has_grown(
    postgres_url: str, postgres_schema: str
) -> None:
    index = PostgresIndex(postgres_url, schema=postgres_schema)
    items = [make_indexed(f"skill{number}", f"Do {number}.") for number in range(600)]
    query = f"select reltuples from pg_class where oid = '{postgres_schema}.skill'::regclass"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        index.apply(items[:10], tenant="a", encoder=ENCODER.fingerprint)
        assert connection.execute(query).fetchone() == (-1.0,)  # nobody has counted
        index.apply(items, tenant="a", encoder=ENCODER.fingerprint)
        assert connection.execute(query).fetchone() == (600.0,)
    index.close()


@pytest.mark.parametrize(
    ("kind", "name", "numbers"),
    [(Longs, "bigint", [0, -1, 2**63 - 1, -(2**63)]), (Reals, "real", [0.0, -1.5, 3.25e7, 1e-3])],
)
@pytest.mark.parametrize("count", [0, 1, 4])
def test_numbers_arrive_as_they_are(
    postgres_url: str, postgres_schema: str, kind: Any, name: str, numbers: list[Any], count: int
) -> None:
    index = PostgresIndex(postgres_url, schema=postgres_schema)
    index.migrate()

    def sent(connection: Any, _: Any) -> Any:
        asked = "select array(select unnest(%s) order by 1), pg_typeof(%s)::text"
        return connection.execute(asked, [kind(numbers[:count])] * 2).fetchone()

    found, kind_found = index._connections.read([], sent)
    index.close()
    assert found == pytest.approx(sorted(numbers[:count]))
    assert kind_found == f"{name}[]"


def test_a_search_among_many_looks_at_more_neighbours(
    postgres_url: str, postgres_schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = PostgresIndex(postgres_url, schema=postgres_schema)
    index.apply(
        [make_indexed(f"kiln{n}") for n in range(9)], tenant="a", encoder=ENCODER.fingerprint
    )
    index.statistics(["a"])
    monkeypatch.setattr(pruning, "USUAL_SKILLS", 1)
    asked: list[str] = []

    def noted(query: IndexQuery, skills: int) -> Any:
        settings = searching.search_settings(query, skills)
        asked.append(settings["hnsw.ef_search"])
        return settings

    monkeypatch.setattr(postgres_index, "search_settings", noted)
    view = View(ENCODER.encode_queries(["kiln"])[0])
    assert index.candidates(IndexQuery((view,), 100, ("a",))).candidates
    assert index.candidates(IndexQuery((view,), 5000, ("a",))).candidates
    index.close()
    assert asked == ["450", "1000"]  # nine skills: three times as many as usual, and at most
