"""A tenant's rows are hidden by the database itself, whatever statement is sent."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import psycopg
import pytest

from skillcue_adapters.postgres import PostgresIndex
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.skill_index import IndexQuery, View
from skillcue_hooks.testing import FakeEncoder, make_indexed

ENCODER = FakeEncoder().fingerprint
SECURED = ("skill", "content", "file", "skill_name", "term_count", "library")
SECRET = make_indexed("secret", "Hidden kiln.", "Plans.", tenant="b", files={"a.txt": b"x"})
OWN = make_indexed("own", "Open kiln.", "Text.", tenant="a", files={"a.txt": b"y"})


@pytest.fixture
def index(postgres_url: str, postgres_schema: str) -> Iterator[PostgresIndex]:
    with_rows = PostgresIndex(postgres_url, schema=postgres_schema)
    with_rows.apply([OWN], tenant="a", encoder=ENCODER)
    with_rows.apply([SECRET], tenant="b", encoder=ENCODER)
    yield with_rows
    with_rows.close()


@pytest.fixture
def role(postgres_url: str) -> Iterator[str]:
    """A role that may log in, and nothing else."""
    name = f"r{uuid.uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"create role {name} login")
        yield name
        connection.execute(f"drop owned by {name}")
        connection.execute(f"drop role {name}")


@pytest.fixture
def reader(postgres_url: str, index: PostgresIndex, role: str) -> str:
    """Url of a role that was granted reading."""
    index.grant(role)
    return postgres_url.replace("postgres@", f"{role}@")


@pytest.mark.parametrize("table", SECURED)
@pytest.mark.parametrize(
    ("tenants", "seen"),
    [
        (None, set()),
        ("", set()),
        ("{}", set()),
        ("{a}", {"a"}),
        ("{b}", {"b"}),
        ("{a,b}", {"a", "b"}),
    ],
)
def test_raw_sql_sees_the_tenants_of_the_setting(
    reader: str, postgres_schema: str, table: str, tenants: str | None, seen: set[str]
) -> None:
    with psycopg.connect(reader) as connection:
        if tenants is not None:
            connection.execute("select set_config('skillcue.tenants', %s, true)", [tenants])
        rows = connection.execute(f"select tenant from {postgres_schema}.{table}").fetchall()
    assert {row[0] for row in rows} == seen


def test_the_setting_ends_with_the_transaction(reader: str, postgres_schema: str) -> None:
    index = PostgresIndex(reader, schema=postgres_schema, connections=1)
    assert index.fetch([SECRET.skill.id], ["b"])
    assert index.fetch([SECRET.skill.id], ["a"]) == {}
    index.close()
    with psycopg.connect(reader, autocommit=True) as connection:
        query = f"select count(*) from {postgres_schema}.skill"
        with connection.transaction():
            connection.execute("select set_config('skillcue.tenants', '{b}', true)")
            assert connection.execute(query).fetchone() == (1,)
        assert connection.execute(query).fetchone() == (0,)


def test_a_reader_finds_and_reads_all_of_its_tenants(reader: str, postgres_schema: str) -> None:
    index = PostgresIndex(reader, schema=postgres_schema)
    view = View(OWN.vector, {"kiln": 1.0}, {"text": 1.0}, (OWN.name, SECRET.name))
    for tenant, item in (("a", OWN), ("b", SECRET)):
        legs = index.candidates(IndexQuery((view,), 10, (tenant,)))
        assert [candidate.skill.id for candidate in legs.candidates] == [item.skill.id]
        assert legs.lexical == ((0,),)
        assert index.encoder == ENCODER
        assert index.statistics([tenant]).skills == 1
        assert index.read_text(item.skill.id, [tenant]) == item.text
        assert index.files(item.skill.id, [tenant]) == {"a.txt": 1}
        assert [one.skill.id for one in index.sample(5, [tenant])] == [item.skill.id]
    index.close()


def test_the_lexical_leg_keeps_to_the_setting(reader: str, postgres_schema: str) -> None:
    """It runs with the rights of the owner; called by hand it finds no more."""
    with psycopg.connect(reader) as connection:
        query = (
            f"select count(*) from {postgres_schema}.lexical((select array_agg(term) from"
            f" {postgres_schema}.term_count), null, null, (select '{{1:0}}/536870912'::sparsevec), 9, null,"
            " null, null, null, null)"
        )
        assert connection.execute(query).fetchone() == (0,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f"select tenant from {postgres_schema}.lexicon")


def test_terms_that_happen_to_share_a_number_lead_to_no_other_tenant(
    index: PostgresIndex, postgres_url: str, postgres_schema: str
) -> None:
    """Numbers of terms differ by tenant, nearly always; here they are made equal."""
    with psycopg.connect(postgres_url) as connection:
        connection.execute(
            f"update {postgres_schema}.lexicon set terms = (select terms from"
            f" {postgres_schema}.lexicon where tenant = 'a') where tenant = 'b'"
        )
    for filters in ((), (("trust", "trusted"),)):
        legs = index.candidates(IndexQuery((View(head={"kiln": 1.0}),), 10, ("a",), filters))
        assert [candidate.skill.id for candidate in legs.candidates] == [OWN.skill.id]


@pytest.mark.parametrize(
    "statement",
    [
        "delete from {}.skill",
        "update {}.library set skills = 0",
        "insert into {}.migration values (9)",
    ],
)
def test_a_reader_changes_nothing(reader: str, postgres_schema: str, statement: str) -> None:
    with psycopg.connect(reader) as connection:
        connection.execute("select set_config('skillcue.tenants', '{a,b}', true)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement.format(postgres_schema))
    index = PostgresIndex(reader, schema=postgres_schema)
    with pytest.raises(ConfigurationError, match="owner"):
        index.apply([make_indexed("new", tenant="a")], tenant="a", encoder=ENCODER)
    index.close()


def test_who_was_granted_nothing_is_told_whom_to_ask(
    postgres_url: str, index: PostgresIndex, role: str, postgres_schema: str
) -> None:
    stranger = PostgresIndex(postgres_url.replace("postgres@", f"{role}@"), schema=postgres_schema)
    with pytest.raises(ConfigurationError, match="grant"):
        stranger.revision(["a"])
    stranger.close()


def test_the_owner_is_bound_by_the_policies_as_well(postgres_url: str, role: str) -> None:
    schema = f"own_{role}"
    owner = postgres_url.replace("postgres@", f"{role}@")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("create extension if not exists vector schema public")
        connection.execute(f"create schema {schema} authorization {role}")
    index = PostgresIndex(owner, schema=schema)
    index.apply([OWN], tenant="a", encoder=ENCODER)
    index.apply([SECRET], tenant="b", encoder=ENCODER)
    taken = make_indexed("x", tenant="a", id=SECRET.skill.id)
    with pytest.raises(ConfigurationError, match=r"for tenant 'a'\. Ids are name@tenant/path"):
        index.apply([taken], tenant="a", encoder=ENCODER)
    view = View(OWN.vector, {"kiln": 1.0})
    legs = index.candidates(IndexQuery((view,), 10, ("a",)))
    assert [candidate.skill.id for candidate in legs.candidates] == [OWN.skill.id]
    assert index.apply([], [OWN.skill.id], tenant="a", encoder=ENCODER)
    index.close()
    with psycopg.connect(owner) as connection:
        rows = connection.execute(f"select tenant from {schema}.skill").fetchall()
        assert rows == []
        connection.execute("select set_config('skillcue.tenants', '{b}', true)")
        moved = f"update {schema}.skill set tenant = 'a'"
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(moved)
