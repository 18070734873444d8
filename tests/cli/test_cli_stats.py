"""``skillcue stats`` on events that were really stored."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime

import pytest
from support.asking_mode import AskingModes

from skillcue import SkillCue
from skillcue.cli import EXIT_OK, EXIT_USAGE
from skillcue.commands.budget import library_cost
from skillcue.commands.stats import since_when
from skillcue.telemetry import EventSettings
from skillcue.telemetry.reading import read_events
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.language import Completion, Usage
from skillcue_hooks.testing import ScriptedLanguageModel

PDF = "I have to fill in a PDF form for my visa application"
PDF_ID = "pdf-form-filling@office/pdf-form-filling"
BANK = "Please match the 40 bank payments of March to our open invoices in invoices.csv"


def user(text, number):
    return [{"role": "user", "content": text, "id": number}]


def record(example_skills, path, *, text=False, **options):
    """Two conversations: one skill read after advice, one ignored, a search that finds nothing."""
    model = ScriptedLanguageModel([Completion("x", usage=Usage(1, 700, 80, 0.25))])
    settings = EventSettings(path, text=text)
    with SkillCue(
        example_skills, mode="asks", llm=model, plugins=[AskingModes()], events=settings, **options
    ) as cue:
        tools = cue.tools()
        pdf, bank, thanks = user(PDF, "1"), user(BANK, "2"), user("thanks!", "3")
        cue.advise(pdf, run_context={"thread_id": "a"})
        tools.load("pdf-form-filling", messages=pdf, run_context={"thread_id": "a"})
        cue.advise(bank, mode="bm25", run_context={"thread_id": "b"})
        cue.advise(thanks, mode="bm25", run_context={"thread_id": "b"})
        tools.lookup("zzzz qqqq", mode="bm25", messages=thanks, run_context={"thread_id": "b"})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "events.db"


def test_the_numbers(cli, example_skills, path):
    record(example_skills, path)
    done = cli("stats", "--events", path, "--skills", example_skills, "--json")
    assert (done.code, done.err) == (EXIT_OK, "")
    asks, bm25 = done.json["modes"]
    events = read_events(path)
    assert (asks["mode"], asks["turns"], asks["advised"], asks["followed"]) == ("asks", 1, 1, 1)
    assert (bm25["turns"], bm25["advised"], bm25["followed"]) == (2, 1, 0)
    assert (bm25["lookups"], bm25["missed"]) == (1, 1)
    assert asks["cost"]["input_tokens"] == 700 and asks["cost"]["money"] == 0.25
    assert done.json["tokens"] == sum(event.tokens for event in events)
    skills = {skill["skill"]: skill for skill in done.json["skills"]}
    assert (skills[PDF_ID]["loads"], skills[PDF_ID]["ignored"]) == (1, 0)
    ignored = [skill for skill, told in skills.items() if told["ignored"]]
    assert ignored == ["invoice-reconciliation@finance/invoice-reconciliation"]
    (missed,) = done.json["missed"]
    assert (missed["why"], missed["text"], missed["count"]) == ("none", "", 1)
    assert done.json["sessions"] == 2
    assert done.json["first"].endswith("Z") and done.json["first"] <= done.json["last"]


def test_what_was_saved_and_never_read(cli, example_skills, path):
    record(example_skills, path)
    told = cli("stats", "--events", path, "--skills", example_skills, "--json").json
    with SkillCue(example_skills, mode="bm25") as cue:
        cost = library_cost(cue.snapshot())
        ids = {skill.id for skill in cue.list()}
    library = told["library"]
    assert library["descriptions"] == cost.descriptions
    assert library["saved_against_descriptions"] == 3 * cost.descriptions - told["tokens"]
    assert library["saved_against_everything"] == 3 * cost.everything - told["tokens"]
    for mode in told["modes"]:
        saved = mode["turns"] * cost.everything - mode["tokens"]
        assert mode["saved_against_everything"] == saved
    assert library["never_read"] == sorted(ids - {PDF_ID})


def test_the_screen(cli, example_skills, path):
    record(example_skills, path, text=True)
    done = cli("stats", "--events", path, "--skills", example_skills, "--top", 3)
    assert (done.code, done.err) == (EXIT_OK, "")
    lines = done.out.splitlines()
    assert "3 turns, 2 conversations" in lines[0]
    assert any(line.split() == ["1", "none", "zzzz", "qqqq"] for line in lines)
    pdf = next(line.split() for line in lines if line.startswith("pdf-form-filling"))
    assert pdf == ["pdf-form-filling", "1", "0", "0", "1", "#" * 20]
    assert any(line.split() == ["asks", "1", "700", "80", "0.250000"] for line in lines)
    assert "Never read: 47 of 48 skills" in done.out
    assert "and 44 more" in done.out
    everything = next(line for line in lines if line.startswith("all skills with their bodies"))
    assert everything.count("#") == 20


def test_without_a_library_nothing_is_saved_and_it_is_said(cli, example_skills, path):
    record(example_skills, path)
    done = cli("stats", "--events", path)
    assert "--skills FOLDER" in done.err and "saved" not in done.out
    told = cli("stats", "--events", path, "--json").json
    assert told["library"] is None and "saved_against_everything" not in told["modes"][0]


def test_what_the_reader_must_know(cli, example_skills, path):
    record(example_skills, path, shadow=True)
    with SkillCue(example_skills, mode="bm25", events=path) as cue:
        cue.load("recipe-scaling")
    done = cli("stats", "--events", path)
    assert "3 turns were in shadow" in done.err
    assert "Loads that belong to no turn, in no row by mode: 1." in done.err


def test_failures_of_push_are_said(cli, example_skills, path, monkeypatch):
    with SkillCue(example_skills, mode="bm25", events=path) as cue:

        def fails():
            raise OSError("gone")

        monkeypatch.setattr(cue, "snapshot", fails)
        cue.advise(user(PDF, "1"))
    assert "Push failed 1 times" in cli("stats", "--events", path).err


def test_since(cli, example_skills, path):
    record(example_skills, path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE events SET at = at - 200000 WHERE mode = 'asks' OR mode IS NULL")
        db.commit()
    told = cli("stats", "--events", path, "--since", "1d", "--json").json
    assert [mode["mode"] for mode in told["modes"]] == ["bm25"]
    assert len(cli("stats", "--events", path, "--since", "1w", "--json").json["modes"]) == 2
    none = cli("stats", "--events", path, "--since", "2999-01-01")
    assert (none.code, "no event of that time" in none.err) == (EXIT_USAGE, True)
    wrong = cli("stats", "--events", path, "--since", "yesterday")
    assert (wrong.code, "7d" in wrong.err) == (EXIT_USAGE, True)


def test_moments():
    now = 1_800_000_000.0
    assert since_when(None, now) == 0.0
    assert since_when("36h", now) == now - 36 * 3_600
    assert since_when("2w", now) == now - 14 * 86_400
    day = datetime(2026, 1, 31, tzinfo=UTC).timestamp()
    assert since_when("2026-01-31", now) == day
    assert since_when("2026-01-31T01:00+01:00", now) == day
    for wrong in ("", "7", "d", "-1d", "7m"):
        with pytest.raises(ConfigurationError):
            since_when(wrong, now)


def test_no_file_and_no_events(cli, example_skills, path, tmp_path):
    done = cli("stats", "--events", path)
    assert (done.code, "no such file" in done.err) == (EXIT_USAGE, True)
    assert not path.exists()
    with SkillCue(example_skills, mode="bm25", events=path) as cue:
        cue.lookup("pdf")
    with closing(sqlite3.connect(path)) as db:
        db.execute("DELETE FROM events")
        db.commit()
    done = cli("stats", "--events", path)
    assert (done.code, "holds no event" in done.err) == (EXIT_USAGE, True)
    (tmp_path / "traces.jsonl").write_text('{"schema": 1}\n')
    done = cli("stats", "--events", tmp_path / "traces.jsonl")
    assert (done.code, "cannot be read" in done.err) == (EXIT_USAGE, True)


def test_what_a_skill_or_a_user_wrote_is_no_markup(cli, tmp_path, path):
    folder = tmp_path / "skills" / "x"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: '[red]x'\ndescription: Knit a sock\n---\nDo.\n")
    with SkillCue(tmp_path / "skills", mode="bm25", events=EventSettings(path, text=True)) as cue:
        cue.load(cue.list()[0].id)
        cue.lookup("\x1b[31m[bold]zzzz")
    done = cli("stats", "--events", path)
    assert "[bold]zzzz" in done.out and "[red]x" in done.out and "\x1b" not in done.out


def test_while_another_process_writes(example_skills, path, cli):
    with SkillCue(example_skills, mode="bm25", events=path) as cue:
        cue.lookup("pdf")
        assert cue._events.flush()
        done = subprocess.run(
            [sys.executable, "-m", "skillcue", "stats", "--events", str(path), "--json"],
            capture_output=True,
            text=True,
            check=True,
        )
    assert '"lookups": 1' in done.stdout


def test_narrow_terminals_get_lines(cli, example_skills, path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    record(example_skills, path)
    done = cli("stats", "--events", path)
    assert done.code == EXIT_OK and max(map(len, done.out.splitlines())) <= 60


@pytest.mark.parametrize("options", [[], ["--events"], ["--events", "e.db", "--top", "few"]])
def test_wrong_usage(cli, options):
    assert cli("stats", *options).code == EXIT_USAGE


@pytest.mark.parametrize("top", ["-1", "0"])
def test_rows_that_cannot_be_counted(cli, example_skills, path, top):
    record(example_skills, path)
    told = cli("stats", "--events", path, f"--top={top}")
    assert (told.code, told.out) == (EXIT_USAGE, "")
    assert f"--top is {top}." in told.err and "1 row" in told.err
