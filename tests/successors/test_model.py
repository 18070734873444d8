"""Learning in the background from a store that several processes write to."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing

import pytest
from support.next_histories import Chain, Writer

from skillcue import SkillCue
from skillcue.successors import NextSettings, model
from skillcue.successors.model import Learned, NextModel, fit
from skillcue.telemetry.reading import holds_events, read_events

SETTINGS = NextSettings(control=0)
WAIT_S = 30.0


def known(ids):
    return frozenset(ids)


def names(found):
    return [item.skill.name for item in found]


def until(condition):
    """Wait for what another thread does."""
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


@pytest.fixture
def looking_often(monkeypatch):
    monkeypatch.setattr(model, "LOOK_S", 0.0)


def write_more(path, chain, number, first="more", at=None):
    writer, rng = Writer(at or time.time() - 4_000.0), random.Random(1)
    for i in range(number):
        writer.conversation(f"{first}{i}", chain, rng)
    writer.write(path)


# a load never waits


def test_a_load_does_not_wait_for_a_fit(events, skills, monkeypatch):
    go_on, over = threading.Event(), threading.Event()
    real = model.fit

    def slow(*args):
        go_on.wait(WAIT_S)
        over.set()
        return real(*args)

    monkeypatch.setattr(model, "fit", slow)
    with SkillCue(skills, mode="bm25", events=events, next_skills=SETTINGS) as cue:
        answer = cue.tools().load("extract")
        assert not answer.error and "Often" not in answer.text
        assert not over.is_set()
        go_on.set()
        until(lambda: names(cue.next_skills("extract")) == ["reconcile"])


def test_ready_means_learned(events, skills):
    with SkillCue(skills, mode="bm25", events=events, next_skills=SETTINGS, wait=True) as cue:
        assert names(cue.next_skills("extract")) == ["reconcile"]


async def test_off_the_event_loop(events, skills):
    with SkillCue(skills, mode="bm25", events=events, next_skills=SETTINGS, wait=True) as cue:
        assert names(await cue.anext_skills("extract")) == ["reconcile"]


# what is stored, as it is stored


def test_without_a_file_nothing_is_known(tmp_path, skills):
    path = tmp_path / "none.db"
    assert fit(path, SETTINGS, known) == Learned()
    with SkillCue(skills, mode="bm25", events=path, next_skills=SETTINGS, wait=True) as cue:
        assert cue.next_skills("extract") == ()


def test_a_file_that_is_just_being_made_is_none_yet(tmp_path):
    path = tmp_path / "new.db"
    path.touch()
    assert not holds_events(path)
    assert fit(path, SETTINGS, known) == Learned()


def test_a_file_of_another_version_is_told_of_and_loads_go_on(events, skills, caplog):
    with closing(sqlite3.connect(events)) as db:
        db.execute("PRAGMA user_version = 99")
    with SkillCue(skills, mode="bm25", events=events, next_skills=SETTINGS) as cue:
        assert not cue.tools().load("extract").error
        until(lambda: "learning what comes next" in caplog.text)
        assert cue.next_skills("extract") == ()
        assert cue.wait_ready()
    assert caplog.text.count("learning what comes next") == 1


def test_it_learns_while_it_runs(tmp_path, skills, looking_often):
    """Real calls of the tools, from the first load to the first suggestion."""
    rng = random.Random(2)
    events = tmp_path / "events.db"
    with SkillCue(skills, mode="bm25", events=events, next_skills=SETTINGS) as cue:
        tools = cue.tools()
        for number in range(80):
            context = {"thread_id": str(number)}
            tools.load("extract", run_context=context)
            query = "reconcile" if rng.random() < 0.4 else "setup of something other"
            tools.lookup(query, k=1, run_context=context)
            tools.load("reconcile" if rng.random() < 0.95 else "report", run_context=context)
        cue._events.flush()
        until(lambda: names(cue.next_skills("extract")) == ["reconcile"])
        assert tools.load("extract").text.splitlines()[-1].startswith("Often loaded next: rec")


def test_another_process_learns_from_the_same_store(events, skills):
    program = f"""
from skillcue import SkillCue
from skillcue.successors import NextSettings
cue = SkillCue({str(skills)!r}, mode="bm25", events={str(events)!r}, wait=True,
               next_skills=NextSettings(control=0))
print([item.skill.name for item in cue.next_skills("extract")])
"""
    with SkillCue(skills, mode="bm25", events=events, next_skills=SETTINGS, wait=True) as cue:
        cue.load("report")
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert done.stdout == "['reconcile']\n", done.stderr
        assert names(cue.next_skills("extract")) == ["reconcile"]


# when it is fitted again


@pytest.fixture
def counted(monkeypatch):
    """How often a history was read."""
    calls = []
    real = model.fit
    monkeypatch.setattr(model, "fit", lambda *args: calls.append(1) or real(*args))
    return calls


def test_a_little_more_is_no_reason_and_a_share_is(events, skills, counted):
    with SkillCue(skills, mode="bm25") as cue:
        learner = NextModel(events, SETTINGS, cue.snapshot)
        before = learner.fit()
        assert learner.fit() is before
        write_more(events, Chain("other", "setup", 1.0, 0.0, ends=0.0), 4)
        assert learner.fit() is before
        write_more(events, Chain("other", "setup", 1.0, 0.0, ends=0.0), 4, "yet-more")
        assert learner.fit() is not before
    assert len(counted) == 2


def test_a_skill_that_was_renamed_is_not_suggested_and_the_new_one_is_learned(
    events, skills, write, looking_often
):
    with SkillCue(skills, mode="bm25", events=events, next_skills=SETTINGS, wait=True) as cue:
        assert names(cue.next_skills("extract")) == ["reconcile"]
        (skills / "reconcile").rename(skills / "match")
        place = skills / "match" / "SKILL.md"
        place.write_text("---\nname: match\ndescription: matches\n---\nBody\n", "utf-8")
        cue.refresh()
        assert cue.next_skills("extract") == ()
        write_more(events, Chain("extract", "match", 1.0, 0.4, ends=0.0), 20)
        until(lambda: names(cue.next_skills("extract")) == ["match"])


def test_a_library_that_has_a_skill_again_is_learned_for_at_once(events, write, counted):
    folder = write({"extract": "", "report": ""})
    with SkillCue(folder, mode="bm25") as cue:
        learner = NextModel(events, SETTINGS, cue.snapshot)
        assert "reconcile@reconcile" in learner.fit().unknown
        assert learner.fit().after("extract@extract") == []
        write({"reconcile": ""})
        cue.refresh()
        assert [e.then for e in learner.fit().after("extract@extract")] == ["reconcile@reconcile"]
    assert len(counted) == 2


def test_the_file_is_looked_at_seldom(events, skills, counted):
    with SkillCue(skills, mode="bm25", events=events, next_skills=SETTINGS, wait=True) as cue:
        cue.next_skills("extract")
        looked = cue._successors._model._looked_at
        for _ in range(50):
            cue.next_skills("extract")
        assert cue._successors._model._looked_at == looked
    assert len(counted) == 1


def test_closed_it_learns_no_more(events, skills, looking_often):
    cue = SkillCue(skills, mode="bm25", events=events, next_skills=SETTINGS, wait=True)
    cue.close()
    assert names(cue.next_skills("extract")) == ["reconcile"]
    assert not any(thread.name == "skillcue-next" for thread in threading.enumerate())
    cue.close()


# a file that is not as it should be


def test_damaged_rows_are_left_out(events):
    whole = fit(events, SETTINGS, known)
    insert = (
        "INSERT INTO events (at, kind, session, skills, elapsed_ms) VALUES (?, 'load', 's', ?, 1)"
    )
    with closing(sqlite3.connect(events)) as db:
        for at, listed in (("text", '["x"]'), (1.0, "[" * 100_000), (2.0, "{}"), (3.0, "no json")):
            db.execute(insert, (at, listed))
        db.commit()
    assert fit(events, SETTINGS, known).evidence == whole.evidence != {}
    stored = read_events(events)
    assert len(stored) > 100 and all(isinstance(event.at, float) for event in stored)


def test_a_file_of_somebody_else_is_left_as_it_is(tmp_path, skills, caplog):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE theirs (x)")
        db.commit()
    before = path.read_bytes()
    with SkillCue(skills, mode="bm25", events=path) as cue:
        cue.lookup("extract")
    assert path.read_bytes() == before
    assert "schema 0 is not" in caplog.text
