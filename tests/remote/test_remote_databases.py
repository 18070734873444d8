"""Skills from the rows of real SQLite databases, and of any PEP 249 connection."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from support.remote import skill_text

from skillcue import SkillCue
from skillcue.remote import DatabaseSource, FetchLimits, SqliteSource
from skillcue_hooks.errors import ConfigurationError, LibraryNotFoundError, SkillLookupError


class Table:
    """An SQLite file with one table of skills.

    Args:
        path: The file.
        columns: Of the table ``skills``.
    """

    def __init__(self, path: Path, columns: str = "name, description, body, metadata, files"):
        self.path = path
        self.run(f"CREATE TABLE skills ({columns})")

    @property
    def spec(self) -> str:
        return f"sqlite:///{self.path}?table=skills"

    def run(self, statement: str, *values: object) -> None:
        connection = sqlite3.connect(self.path)
        with connection:
            connection.execute(statement, values)
        connection.close()

    def add(self, name: object, description: object = "Does it.", *more: object) -> None:
        row = [name, description, *more, *[None] * (3 - len(more))]
        row[2] = "# Steps" if row[2] is None else row[2]
        self.run("INSERT INTO skills VALUES (?, ?, ?, ?, ?)", *row)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "tool box.db")


def codes(cue: SkillCue) -> list[str]:
    return [item.code for item in cue.diagnostics]


def names(cue: SkillCue) -> list[str]:
    return [skill.name for skill in cue.list()]


def test_rows_are_skills(table):
    metadata = json.dumps({"tags": ["office"], "allowed-tools": ["read"], "license": "MIT"})
    files = json.dumps({"references/a.txt": "Notes."})
    table.add(
        "alpha", 'Does alpha: it\'s "quoted" #1', "# Steps\n\n---\nname: no\n", metadata, files
    )
    table.add("beta")
    cue = SkillCue(table.spec)
    alpha, beta = cue.list()
    assert alpha.description == 'Does alpha: it\'s "quoted" #1'
    assert (alpha.id, alpha.tags, alpha.allowed_tools) == ("alpha@alpha", ("office",), ("read",))
    assert (alpha.trust, alpha.source) == ("untrusted", "tool box")
    assert cue.load("alpha").text == "# Steps\n\n---\nname: no"
    assert cue.load("alpha", "a.txt").text == "Notes."
    assert beta.name == "beta" and cue.diagnostics == ()
    assert cue.sources[0].digest.startswith("sha256:")
    with pytest.raises(SkillLookupError):
        cue.load("alpha", "../beta/SKILL.md")


def test_whole_texts_are_read_like_files(tmp_path):
    table = Table(tmp_path / "texts.db", "text")
    table.run("INSERT INTO skills VALUES (?)", skill_text("alpha"))
    table.run("INSERT INTO skills VALUES (?)", "no front matter\n")
    (tmp_path / "folder" / "alpha").mkdir(parents=True)
    (tmp_path / "folder" / "alpha" / "SKILL.md").write_text(skill_text("alpha"), "utf-8")
    cue = SkillCue(table.spec)
    local = SkillCue(tmp_path / "folder").list()[0]
    assert (cue.list()[0].id, cue.list()[0].content_hash) == (local.id, local.content_hash)
    assert "header-missing" in codes(cue)


def test_changes_are_seen_at_once_without_reading_twice(table, monkeypatch):
    table.add("alpha")
    source = SqliteSource(table.path, "skills")
    cue = SkillCue(source, recheck="always")
    assert names(cue) == ["alpha"]
    table.add("beta")
    assert names(cue) == ["alpha", "beta"]
    table.run("UPDATE skills SET description = 'New.' WHERE name = 'alpha'")
    assert cue.list()[0].description == "New."
    table.run("DELETE FROM skills WHERE name = 'beta'")
    assert names(cue) == ["alpha"]
    monkeypatch.setattr("skillcue.remote.database._TICK_NS", 0)
    scan = source.scan(None)
    monkeypatch.setattr(SqliteSource, "_open", None)
    assert source.scan(scan) is scan


def test_a_database_in_wal_mode_is_followed(table):
    writer = sqlite3.connect(table.path)
    writer.execute("PRAGMA journal_mode = WAL")
    cue = SkillCue(table.spec, recheck="always")
    for number in range(3):
        with writer:
            writer.execute(
                "INSERT INTO skills VALUES (?, 'Does.', '# S', NULL, NULL)", (f"row-{number}",)
            )
        assert len(names(cue)) == number + 1
    writer.close()


def test_nothing_is_ever_written(table):
    table.add("alpha")
    before = table.path.read_bytes()
    source = SqliteSource(table.path, "skills")
    SkillCue(source).list()
    connection = source._open()
    with pytest.raises(sqlite3.OperationalError, match=r"readonly|read-only"):
        connection.execute("DELETE FROM skills")
    connection.close()
    assert table.path.read_bytes() == before


def test_rows_that_cannot_be_skills_are_left_out_alone(table):
    table.add("alpha")
    table.add("no-body", "Does.", 7)
    table.add(None)
    table.add("bad-json", "Does.", "# S", "{")
    table.add("list", "Does.", "# S", "[1]")
    table.add("deep", "Does.", "# S", "[" * 100_000)
    table.add("up", "Does.", "# S", None, json.dumps({"../x": "y"}))
    table.add("absolute", "Does.", "# S", None, json.dumps({"/tmp/owned.txt": "y"}))
    table.add("over", "Does.", "# S", None, json.dumps({"skill.md": "y"}))
    table.add("below", "Does.", "# S", None, json.dumps({"a": "y", "a/b": "y"}))
    table.add("number", "Does.", "# S", None, json.dumps({"a": 1}))
    cue = SkillCue(table.spec)
    assert names(cue) == ["alpha"]
    assert codes(cue) == ["source-part-left-out"] * 10
    assert not Path("/tmp/owned.txt").exists()


def test_rows_of_one_name_are_told_apart(table):
    table.add("alpha", "First.")
    table.add("ALPHA", "Second.")
    table.add("../../etc", "A name that is a path.")
    cue = SkillCue(table.spec)
    assert {skill.id for skill in cue.list()} >= {"alpha@alpha", "ALPHA@ALPHA-2"}
    folder = cue.list()[0].path.parents[1]
    assert all(skill.path.parents[1] == folder for skill in cue.list())


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (FetchLimits(files=3), "limit files"),
        (FetchLimits(total_bytes=200), "limit total_bytes"),
    ],
)
def test_too_much_is_refused(table, limits, message):
    for number in range(5):
        table.add(f"row-{number}")
    cue = SkillCue(SqliteSource(table.path, "skills", fetch_limits=limits))
    assert codes(cue) == ["source-refused"] and message in cue.diagnostics[0].message


def test_a_row_that_is_too_large_is_left_out(table):
    table.add("alpha")
    table.add("large", "Does.", "x" * 10_000)
    limits = FetchLimits(file_bytes=5_000)
    cue = SkillCue(SqliteSource(table.path, "skills", fetch_limits=limits))
    assert (names(cue), codes(cue)) == (["alpha"], ["source-part-left-out"])


def test_a_view_that_never_ends_is_stopped(tmp_path):
    path = tmp_path / "hostile.db"
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE VIEW skills AS WITH RECURSIVE n(name) AS (SELECT 1 UNION ALL SELECT name + 1 FROM n)"
        " SELECT count(*) AS name, 'x' AS description, 'y' AS body FROM n"
    )
    connection.commit()
    connection.close()
    cue = SkillCue(SqliteSource(path, "skills", fetch_limits=FetchLimits(seconds=0.3)))
    assert codes(cue) == ["source-unreachable"] and "interrupted" in cue.diagnostics[0].message


def test_what_is_no_database_is_said_and_recovers(table, tmp_path):
    table.add("alpha")
    good = table.path.read_bytes()
    cue = SkillCue(table.spec, recheck="always")
    assert names(cue) == ["alpha"]
    table.path.write_bytes(b"no database at all" * 100)
    assert (names(cue), codes(cue)) == (["alpha"], ["source-unreachable"])
    table.path.write_bytes(good)
    assert (names(cue), codes(cue)) == (["alpha"], [])
    table.run("DROP TABLE skills")
    assert (names(cue), codes(cue)) == (["alpha"], ["source-unreachable"])
    assert "no such table" in cue.diagnostics[0].message
    table.run("CREATE TABLE skills (a, b)")
    assert (names(cue), codes(cue)) == (["alpha"], ["source-refused"])
    assert "columns a, b" in cue.diagnostics[0].message


@pytest.mark.parametrize("name", ['x"; DROP TABLE skills; --', "skills; x", "", "1x", "a b"])
def test_names_of_tables_are_only_names(table, name):
    with pytest.raises(ConfigurationError, match="no name of a table"):
        SqliteSource(table.path, name)


def test_a_path_with_marks_of_an_address(tmp_path):
    (tmp_path / "a?mode=rwc#b%41").mkdir()
    table = Table(tmp_path / "a?mode=rwc#b%41" / "s.db")
    table.add("alpha")
    assert names(SkillCue(SqliteSource(table.path, "skills"))) == ["alpha"]


def test_a_missing_database_is_no_source(tmp_path):
    with pytest.raises(LibraryNotFoundError, match="four slashes"):
        SkillCue(f"sqlite:///{tmp_path / 'no.db'}?table=skills")
    assert not (tmp_path / "no.db").exists()


def test_any_connection_with_a_change_query(table):
    table.run("ALTER TABLE skills ADD COLUMN updated_at")
    insert = "INSERT INTO skills VALUES (?, 'Does.', '# S', NULL, NULL, ?)"
    table.run(insert, "alpha", 1)
    asked: list[str] = []

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(table.path)
        connection.set_trace_callback(asked.append)
        return connection

    source = DatabaseSource(
        connect,
        "SELECT name, description, body FROM skills ORDER BY name",
        changed="SELECT max(updated_at), count(*) FROM skills",
        label="team",
        trust="trusted",
    )
    cue = SkillCue(source)
    assert [(s.name, s.source, s.trust) for s in cue.list()] == [("alpha", "team", "trusted")]
    assert source.update() is False
    assert sum("ORDER BY" in statement for statement in asked) == 1
    table.run(insert, "beta", 2)
    assert source.update() is True
    cue.refresh()
    assert names(cue) == ["alpha", "beta"]


def test_all_rows_of_the_cheap_query_count(table):
    table.run("ALTER TABLE skills ADD COLUMN updated_at")
    insert = "INSERT INTO skills VALUES (?, 'Does.', '# S', NULL, NULL, ?)"
    for number in range(450):
        table.run(insert, f"skill-{number:03}", number)
    source = DatabaseSource(
        lambda: sqlite3.connect(table.path),
        "SELECT name, description, body FROM skills ORDER BY name",
        changed="SELECT name, updated_at FROM skills ORDER BY name",
        label="team",
    )
    SkillCue(source, mode="bm25").list()
    assert source.update() is False
    table.run("UPDATE skills SET updated_at = 9999 WHERE name = 'skill-449'")
    table.run("UPDATE skills SET description = 'Does more.' WHERE name = 'skill-449'")
    assert source.update() is True


def test_a_driver_that_fails_is_said_without_its_traceback(tmp_path):
    def connect() -> sqlite3.Connection:
        raise RuntimeError("no route to host")

    source = DatabaseSource(connect, "SELECT 1", label="team")
    cue = SkillCue([source, write_one(tmp_path)])
    assert (names(cue), codes(cue)) == (["local"], ["source-unreachable"])
    assert "no route to host" in cue.diagnostics[0].message


def test_databases_in_one_cache_are_told_apart_by_label(table, tmp_path):
    with pytest.raises(ConfigurationError, match="no label"):
        DatabaseSource(lambda: sqlite3.connect(table.path), "SELECT 1", cache=tmp_path)


def write_one(folder: Path) -> Path:
    (folder / "mine" / "local").mkdir(parents=True)
    (folder / "mine" / "local" / "SKILL.md").write_text(skill_text("local"), "utf-8")
    return folder / "mine"


def test_equal_rows_give_equal_answers_in_any_process(table):
    table.add("alpha", "Does.", "# S", json.dumps({"b": 1, "a": [2]}))
    code = (
        "import sys; from skillcue import SkillCue; cue = SkillCue(sys.argv[1]);"
        "print(cue.sources[0].scan(None).skills[0].content_hash, cue.sources[0].digest)"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code, table.spec],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    }
    assert len(said) == 1
