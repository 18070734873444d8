"""The store of events: what is in it, how large it gets, and that it never stops a turn."""

from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from support.asking_mode import AskingModes

from skillcue import PushSettings, SkillCue
from skillcue.telemetry import EventSettings
from skillcue.telemetry.facts import session_hash
from skillcue.telemetry.reading import read_events
from skillcue.telemetry.settings import LEAST_BYTES
from skillcue.telemetry.store import COLUMNS, EventStore, row_of
from skillcue.telemetry.writer import EventWriter
from skillcue.traces import turn_ids
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.language import Completion, Usage
from skillcue_hooks.testing import ScriptedLanguageModel

SECRET = "zanzibar"
PDF = f"I have to fill in a PDF form for my {SECRET} visa application"
PDF_ID = "pdf-form-filling@office/pdf-form-filling"
RUN = {"thread_id": "thread-7"}
HOUR = 3_600


def user(text):
    return [{"role": "user", "content": text}]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "events.db"


def everything(cue):
    messages = user(PDF)
    cue.advise(messages, run_context=RUN)
    tools = cue.tools()
    tools.lookup(f"pdf form {SECRET}", 2, messages=messages, run_context=RUN)
    tools.load("pdf-form-filling", messages=messages, run_context=RUN)
    cue.lookup("qqqqqq zzzzzz")
    cue.load("pdf-form-filling", "scripts/fill_form.py")


def row(at=0.0, **facts):
    return row_of(
        {f"skillcue.{name}": value for name, value in facts.items()},
        at=at,
        kind="lookup",
        elapsed_ms=1.0,
        turn=None,
        generation="g",
    )


def count(path):
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT count(*) FROM events").fetchone()[0]


def test_what_is_stored(example_skills, path):
    before = time.time()
    with SkillCue(example_skills, mode="bm25", events=path) as cue:
        everything(cue)
    turn, found, loaded, missed, beside = read_events(path)
    (turn_id,) = turn_ids(user(PDF))
    assert (turn.kind, turn.turn, turn.session) == ("turn", turn_id, session_hash(RUN))
    assert (turn.mode, turn.decision, turn.skills) == ("bm25", "offer", (PDF_ID,))
    assert turn.tokens > 0 and turn.elapsed_ms > 0 and before <= turn.at <= time.time()
    assert (found.kind, found.turn, len(found.skills), found.miss) == ("lookup", turn_id, 2, "")
    assert (loaded.kind, loaded.turn, loaded.skills) == ("load", turn_id, (PDF_ID,))
    assert (missed.turn, missed.session, missed.miss) == ("", "", "none")
    assert (beside.file, beside.page, beside.turn) == ("scripts/fill_form.py", 1, turn_id)
    assert [e.at for e in read_events(path)] == sorted(e.at for e in read_events(path))


def test_a_load_and_the_decision_before_it_are_of_one_turn_also_without_messages(
    example_skills, path
):
    with SkillCue(example_skills, mode="bm25", events=path) as cue:
        cue.advise(user(PDF))
        cue.load("pdf-form-filling")
        cue.load("podcast-audio-cleanup")
    turn, offered, other = read_events(path)
    assert turn.turn == offered.turn != "" == other.turn


@pytest.mark.parametrize("text", [False, True])
def test_words_only_where_asked(example_skills, path, text):
    with SkillCue(example_skills, mode="bm25", events=EventSettings(path, text=text)) as cue:
        everything(cue)
    data = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert (SECRET.encode() in data) is text
    assert b"thread-7" not in data
    assert [event.text for event in read_events(path)][:2] == (
        [PDF, f"pdf form {SECRET}"] if text else ["", ""]
    )


def test_what_models_took_and_how_push_failed(example_skills, path, monkeypatch):
    usage = Usage(1, 700, 80, 0.25)
    model = ScriptedLanguageModel([Completion("x", usage=usage)])
    with SkillCue(
        example_skills, mode="asks", llm=model, plugins=[AskingModes()], events=path
    ) as cue:
        cue.advise(user(PDF))

        def fails(*_args, **_more):
            raise TimeoutError(SECRET)

        monkeypatch.setattr(cue, "search", fails)
        cue.advise(user("Please match the bank payments to our open invoices"))
    asked, failed = read_events(path)
    assert (asked.cost, asked.error) == (usage, "")
    assert (failed.cost, failed.error, failed.skills) == (Usage(), "TimeoutError", ())


def test_a_shadow_is_marked(example_skills, path):
    with SkillCue(example_skills, mode="bm25", events=path, shadow=True) as cue:
        cue.advise(user(PDF))
        cue.advisor("skill_load").plan(user(f"{PDF} again"))
    assert [event.shadow for event in read_events(path)] == [True, True]


def test_the_columns_are_the_documented_ones(example_skills, path):
    document = Path(__file__).resolve().parents[2] / "docs" / "reference" / "telemetry.md"
    with SkillCue(example_skills, mode="bm25", events=path) as cue:
        cue.lookup("pdf")
    with closing(sqlite3.connect(path)) as db:
        names = [column[1] for column in db.execute("PRAGMA table_info(events)")]
        mode = db.execute("PRAGMA journal_mode").fetchone()[0]
    assert names == ["id", *COLUMNS] and mode == "wal"
    text = document.read_text("utf-8")
    assert all(f"`{name}`" in text for name in names)


def test_the_file_is_its_owners_alone(example_skills, path):
    with SkillCue(example_skills, mode="bm25", events=path) as cue:
        cue.lookup("pdf")
        assert cue._events.flush()
        assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}


def test_rankings_are_the_same_with_a_full_store(example_skills, tmp_path):
    """That a skill was shown or read often must not make it come up more often."""
    path = tmp_path / "events.db"
    queries = ["pdf form", "clean up a recording", "bank payments", "make it short", "tabelle"]
    asked = [user(PDF), user("thanks"), user("Clean up my podcast recording")]

    def answers(**options):
        with SkillCue(example_skills, wait=True, recheck="manual", **options) as cue:
            rankings = [cue.lookup(query, k=48) for query in queries]
            told = [
                [(h.skill.id, h.score, h.rank, dict(h.signals)) for h in r.hits] for r in rankings
            ]
            advice = [cue.advise(messages) for messages in asked]
            said = [(a.decision, a.text, a.confidence, dict(a.features)) for a in advice]
            return repr((told, said, [r.fingerprint for r in rankings]))

    plain = answers()
    with SkillCue(example_skills, mode="bm25", events=path) as cue:
        for _ in range(200):  # one skill shown and read all the time, which answers no query
            cue.lookup("recipe scaling")
            cue.load("recipe-scaling")
    assert count(path) == 400
    assert answers(events=path) == plain
    assert count(path) > 400


# size and age


def test_what_is_too_old_goes(path):
    store = EventStore(path, LEAST_BYTES, max_age_days=1)
    store.write([row(at=0.0), row(at=10 * HOUR)])
    store.write([row(at=30 * HOUR)])
    store.close()
    assert [event.at for event in read_events(path)] == [10 * HOUR, 30 * HOUR]


def test_what_is_too_much_goes_oldest_first(path):
    store = EventStore(path, LEAST_BYTES, max_age_days=1_000)
    for start in range(0, 3_000, 100):
        store.write([row(at=float(at), text="x" * 500) for at in range(start, start + 100)])
    store.close()
    kept = [event.at for event in read_events(path)]
    assert kept == [float(at) for at in range(3_000 - len(kept), 3_000)]
    assert 100 < len(kept) < 1_000
    assert path.stat().st_size < 3 * LEAST_BYTES


def test_a_batch_that_does_not_fit_at_all_leaves_a_store_that_works(path):
    store = EventStore(path, LEAST_BYTES, max_age_days=1)
    store.write([row(text="x" * 2_000_000)])
    store.write([row(at=1.0)])
    store.close()
    assert [event.at for event in read_events(path)] == [1.0]


# a turn never waits and never fails


@pytest.fixture
def warnings_of(caplog):
    return lambda: [r.getMessage() for r in caplog.records if r.name == "skillcue.telemetry"]


def test_a_turn_does_not_wait_for_another_process(example_skills, path, warnings_of):
    with SkillCue(example_skills, mode="bm25", events=path) as cue:
        cue.lookup("pdf")
        assert cue._events.flush()
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            for _ in range(20):  # while the file is locked
                everything(cue)
            assert not cue._events._writer.flush(timeout=0.05)
            other.execute("ROLLBACK")
        assert cue._events.flush()
    assert count(path) == 1 + 20 * 4 + 1  # the decision is remembered after the first time
    assert warnings_of() == []


def test_a_full_queue_loses_events_and_says_so_once(path, monkeypatch, warnings_of):
    monkeypatch.setattr("skillcue.telemetry.writer.WAITING", 3)
    gate = threading.Event()
    write = EventStore.write

    def waits(self, rows):
        gate.wait(30)
        write(self, rows)

    monkeypatch.setattr(EventStore, "write", waits)
    writer = EventWriter(EventSettings(path))
    for number in range(50):
        writer.put(row(at=float(number)))
    gate.set()
    writer.close()
    assert 3 <= count(path) <= 10
    assert len(warnings_of()) == 1 and "wait to be written" in warnings_of()[0]


def _damaged(path):
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5_000)


def _newer(path):
    EventStore(path, LEAST_BYTES, 1).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")


def _other(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE others (x)")


@pytest.mark.parametrize("spoil", [_damaged, _newer, _other])
def test_a_file_that_cannot_be_used_is_said_once(example_skills, path, spoil, warnings_of):
    spoil(path)
    before = path.read_bytes()
    with SkillCue(example_skills, mode="bm25", events=path) as cue:
        for _ in range(3):
            everything(cue)
            cue._events.flush()
    assert len(warnings_of()) == 1 and "events are lost" in warnings_of()[0]
    if spoil is _newer:  # a later version may mean something else by the same columns
        assert count(path) == 0
    if spoil is _damaged:
        assert path.read_bytes() == before
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_events(path)


def test_a_folder_that_goes_away(example_skills, tmp_path, warnings_of):
    folder = tmp_path / "gone"
    folder.mkdir()
    with SkillCue(example_skills, mode="bm25", events=folder / "events.db") as cue:
        folder.rmdir()
        everything(cue)
    assert len(warnings_of()) == 1


def test_what_nobody_thought_of_loses_one_batch(path, monkeypatch, warnings_of):
    write = EventStore.write

    def fails(self, rows):
        monkeypatch.setattr(EventStore, "write", write)
        raise ZeroDivisionError

    monkeypatch.setattr(EventStore, "write", fails)
    writer = EventWriter(EventSettings(path))
    for at in range(3):
        writer.put(row(at=float(at)))
        assert writer.flush()
    writer.close()
    assert count(path) >= 2
    assert warnings_of() == [
        f"events are lost, {path}: ZeroDivisionError(); further losses are not logged"
    ]


def test_texts_that_have_no_bytes(example_skills, path, warnings_of):
    with SkillCue(example_skills, mode="bm25", events=EventSettings(path, text=True)) as cue:
        cue.lookup("pdf \ud800 form", run_context={"thread_id": "\udcff"})
    (event,) = read_events(path)
    assert (event.text, len(event.session), warnings_of()) == ("pdf ? form", 16, [])


def test_after_close_a_call_begins_anew(example_skills, path):
    cue = SkillCue(example_skills, mode="bm25", events=path)
    cue.lookup("pdf")
    cue.close()
    cue.close()
    cue.lookup("pdf form")
    cue.close()
    assert count(path) == 2


# several processes

AGENT = """
import sys
from skillcue import SkillCue

cue = SkillCue(sys.argv[1], mode="bm25", events=sys.argv[2])
for number in range(100):
    cue.lookup(f"pdf form {number}")
    cue.load("pdf-form-filling")
# not closed: what waits is written at the end of the process
"""

FORKS = """
import os, sys
from skillcue import SkillCue

cue = SkillCue(sys.argv[1], mode="bm25", events=sys.argv[2])
cue.load("pdf-form-filling")
for _ in range(3):
    child = os.fork()
    if not child:
        for _ in range(10):
            cue.load("pdf-merge-split")
        cue.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
cue.load("pdf-form-filling")
cue.close()
"""


def start(program, *arguments):
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        env=env,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_processes_share_a_file(example_skills, path):
    running = [start(AGENT, example_skills, path) for _ in range(4)]
    for process in running:
        _, said = process.communicate(timeout=300)
        assert (process.returncode, said) == (0, "")
    assert count(path) == 4 * 200


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_a_forked_process_has_a_writer_of_its_own(example_skills, path):
    process = start(FORKS, example_skills, path)
    _, said = process.communicate(timeout=300)
    assert (process.returncode, said) == (0, "")
    skills = [event.skills[0].split("@")[0] for event in read_events(path)]
    assert skills == ["pdf-form-filling", *["pdf-merge-split"] * 30, "pdf-form-filling"]


def test_threads_share_a_writer(example_skills, path):
    with SkillCue(example_skills, mode="bm25", events=path) as cue:
        threads = [
            threading.Thread(target=lambda: [cue.load("pdf-form-filling") for _ in range(50)])
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert count(path) == 300


# settings


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"text": "no"}, "text"),
        ({"max_bytes": LEAST_BYTES - 1}, "max_bytes"),
        ({"max_bytes": 1e9}, "max_bytes"),
        ({"max_bytes": True}, "max_bytes"),
        ({"max_age_days": 0}, "max_age_days"),
        ({"max_age_days": float("nan")}, "max_age_days"),
        ({"max_age_days": "7"}, "max_age_days"),
    ],
)
def test_wrong_settings(path, options, word):
    with pytest.raises(ConfigurationError, match=word):
        EventSettings(path, **options)


def test_wrong_paths(example_skills, tmp_path):
    (tmp_path / "notes.txt").write_text("no database")
    for wrong in (tmp_path, tmp_path / "nowhere" / "events.db", tmp_path / "notes.txt", 7, ""):
        with pytest.raises(ConfigurationError):
            SkillCue(example_skills, events=wrong)


def test_blocked_by_name(example_skills, path):
    with SkillCue(example_skills, mode="bm25", events=path, block_plugins=["events"]) as cue:
        cue.lookup("pdf")
    assert not path.exists()


def test_nothing_of_it_is_loaded_without_the_setting(example_skills):
    program = (
        "import sys; from skillcue import SkillCue; cue = SkillCue(sys.argv[1], mode='bm25'); "
        "cue.lookup('pdf'); print([m for m in ('sqlite3', 'skillcue.telemetry') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(example_skills)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "skillcue.telemetry" not in done.stdout


def test_conversations_are_read_with_the_settings_of_push(example_skills, path):
    messages = [*user("x" * 900), {"role": "assistant", "content": "y"}, *user(PDF)]
    push = PushSettings(context_tokens=10)
    with SkillCue(example_skills, mode="bm25", events=path, push=push) as cue:
        cue.advise(messages)
        cue.tools().lookup("pdf form", messages=messages)
    decided, found = read_events(path)
    assert decided.turn == found.turn == turn_ids(messages, push)[-1] != turn_ids(messages)[-1]


@pytest.fixture(autouse=True)
def log_level(caplog):
    caplog.set_level(logging.WARNING, logger="skillcue.telemetry")
