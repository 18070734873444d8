"""Processes that share one cache folder: a task that several start at once is paid for once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.refining import TASK, FixedModel, good_script

from skillcue import SkillCue
from skillcue_adapters.locks import next_process

WORKER = """
import sys, time
sys.path[:0] = sys.argv[5].split(":")
from pathlib import Path
from support.refining import TASK, FixedModel, good_script
from skillcue import SkillCue

skills, cache, calls, answer = sys.argv[1:5]
script = iter(good_script() if answer == "good" else ["no", "no"])

def said(_messages):
    with open(calls, "a") as file:
        file.write("call\\n")
    while answer == "hang":
        time.sleep(0.1)
    time.sleep(0.2)
    return next(script)

model = FixedModel([said] * 4)
modes = {"refine": {"base": "bm25", "seconds": 30.0}}
with SkillCue(skills, llm=model, mode="bm25", modes=modes, cache=cache) as cue:
    cue.lookup("warm up")
    print("ready", flush=True)
    sys.stdin.readline()
    ranking = cue.lookup(TASK, mode="refine")
    print(ranking.hits[0].skill.name, ranking.cost.calls, ranking.degraded, flush=True)
"""


class Workers:
    """Processes that refine `TASK` when they are told to."""

    def __init__(self, skills: Path, folder: Path) -> None:
        self.calls = folder / "calls"
        self._arguments = [str(skills), str(folder / "cache"), str(self.calls)]
        self._running: list[subprocess.Popen[str]] = []

    def start(self, answer: str = "good") -> subprocess.Popen[str]:
        tests = str(Path(__file__).parents[1])
        worker = subprocess.Popen(
            [sys.executable, "-c", WORKER, *self._arguments, answer, tests],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=dict(os.environ),
        )
        self._running.append(worker)
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
        return worker

    def go(self, worker: subprocess.Popen[str]) -> None:
        assert worker.stdin is not None
        worker.stdin.write("\n")
        worker.stdin.flush()

    def said(self, worker: subprocess.Popen[str]) -> str:
        out, _ = worker.communicate(timeout=60)
        assert worker.returncode == 0
        return out.strip()

    def number_of_calls(self) -> int:
        return len(self.calls.read_text().splitlines()) if self.calls.exists() else 0

    def stop(self) -> None:
        for worker in self._running:
            worker.kill()
            worker.wait()
            for stream in (worker.stdin, worker.stdout):
                assert stream is not None
                stream.close()


@pytest.fixture
def workers(skills: Path, tmp_path: Path) -> Iterator[Workers]:
    workers = Workers(skills, tmp_path)
    yield workers
    workers.stop()


def wait_for_calls(workers: Workers, number: int) -> None:
    end = time.monotonic() + 60
    while workers.number_of_calls() < number:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_processes_that_ask_at_once_pay_once(workers: Workers, tmp_path: Path) -> None:
    both = [workers.start(), workers.start()]
    for worker in both:
        workers.go(worker)
    said = sorted(workers.said(worker) for worker in both)
    assert said == ["pdf-to-workbook 0 None", "pdf-to-workbook 4 None"]
    assert workers.number_of_calls() == 4
    assert list((tmp_path / "cache" / "refined" / "working").iterdir()) == []


def test_a_dead_process_keeps_nobody_waiting(workers: Workers) -> None:
    hanging, other = workers.start("hang"), workers.start()
    workers.go(hanging)
    wait_for_calls(workers, 1)
    workers.go(other)
    hanging.kill()
    assert workers.said(other) == "pdf-to-workbook 4 None"


def test_who_waited_for_a_failure_tries_it(workers: Workers) -> None:
    failing, other = workers.start("bad"), workers.start()
    workers.go(failing)
    wait_for_calls(workers, 1)
    workers.go(other)
    assert "pdf-tables 2 not refined" in workers.said(failing)
    assert workers.said(other) == "pdf-to-workbook 4 None"


def test_the_wait_ends_with_the_seconds_of_the_mode(skills: Path, tmp_path: Path) -> None:
    """The seconds are part of what a task is known by, so the lock is taken by its name."""
    modes: dict[str, Any] = {"refine": {"base": "bm25", "seconds": 0.5}}
    working = tmp_path / "cache" / "refined" / "working"
    held: list[Path] = []

    def note(_messages: Any) -> str:
        held.extend(working.iterdir())
        return "no"

    for script in ([note, "no"], good_script()):
        model = FixedModel(script)
        with SkillCue(skills, llm=model, mode="bm25", modes=modes, cache=tmp_path / "cache") as cue:
            cue.lookup("warm up")
            if not held:
                cue.lookup(TASK, mode="refine")
                continue
            with next_process(held[0], 0.0):  # as another process would
                started = time.monotonic()
                assert cue.lookup(TASK, mode="refine").degraded is None
                assert 0.5 <= time.monotonic() - started < 30
    assert len(model.asked) == 4


def _enter(path: Path, seconds: float) -> bool:
    started = time.monotonic()
    with next_process(path, seconds):
        return time.monotonic() - started >= seconds


def test_a_folder_that_cannot_be_written_keeps_nobody_waiting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert not _enter(tmp_path / "file" / "x", 60.0)


def test_a_file_system_without_locks_keeps_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno

    from skillcue_adapters import locks

    def none(_descriptor: int) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(locks, "_lock", none)
    assert not _enter(tmp_path / "x", 60.0)


def test_the_entry_of_a_task_names_what_was_stored(skills: Path, tmp_path: Path) -> None:
    modes = {"refine": {"base": "bm25"}}
    model = FixedModel(good_script())
    with SkillCue(skills, llm=model, mode="bm25", modes=modes, cache=tmp_path / "cache") as cue:
        skill = cue.lookup(TASK, mode="refine").hits[0].skill
    folder = tmp_path / "cache" / "refined"
    (entry,) = (folder / "tasks").iterdir()
    assert json.loads(entry.read_text())["skills"] == [skill.id]
    (name,) = (folder / "names").iterdir()
    assert name.name == f"{skill.id.removeprefix('refined:')}.all.pdf-to-workbook"
