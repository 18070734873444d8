"""The folder of refinements stays bounded, and takes nothing away that somebody uses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.refining import TASK, FixedModel, command, draft, finish, good_script

from skillcue import SkillCue
from skillcue_adapters.refine import pruning
from skillcue_adapters.refine.pruning import EVERY_S, KEPT_S
from skillcue_adapters.refine.store import FOLDER
from skillcue_hooks.errors import SkillNotFoundError

PDF = "pdf-tables@pdf-tables"
MODES = {"refine": {"base": "bm25"}}


class Tasks:
    """Refined tasks in one cache folder, by number."""

    def __init__(self, skills: Path, cache: Path) -> None:
        self.skills = skills
        self.cache = cache
        self.folder = cache / FOLDER

    def refine(self, number: int, body: str = "") -> str:
        """Refine a task in a process of its own, so to say; the id of the skill."""
        made = finish(draft(f"skill-{number}", PDF, body=body or f"Body {number}."))
        model = FixedModel([command("detail", skill=PDF), made])
        with SkillCue(self.skills, llm=model, mode="bm25", modes=MODES, cache=self.cache) as cue:
            return cue.lookup(f"{TASK} {number}", mode="refine").hits[0].skill.id

    def loads(self, skill_id: str) -> bool:
        with SkillCue(self.skills, mode="bm25", cache=self.cache) as cue:
            try:
                return cue.load(skill_id).skill.id == skill_id
            except SkillNotFoundError:
                return False

    def age(self, days: float, *exceptions: Path) -> None:
        """As if nothing had been used, and the folder not been looked at, for that long."""
        then = time.time() - days * 86_400
        for path in self.folder.rglob("*"):
            if path.is_file() and path not in exceptions:
                os.utime(path, (then, then))

    def age_task(self, skill_id: str, days: float) -> None:
        """As if the task that names the skill had not been used for that long."""
        then = time.time() - days * 86_400
        for path in self.folder.glob("tasks/*"):
            if skill_id in path.read_text():
                os.utime(path, (then, then))

    def kept(self) -> list[str]:
        """Everything that is there, by the names that the model gave."""
        return sorted(path.parent.name for path in self.folder.glob("skills/*/*/SKILL.md"))

    def counts(self) -> list[int]:
        """Tasks, skills, names."""
        return [len(list((self.folder / part).iterdir())) for part in ("tasks", "skills", "names")]


@pytest.fixture
def tasks(skills: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tasks:
    monkeypatch.setattr(pruning, "MAX_TASKS", 2)
    return Tasks(skills, tmp_path / "cache")


@pytest.mark.parametrize("oldest", [0, 1])
def test_what_was_used_longest_ago_goes_first(tasks: Tasks, oldest: int) -> None:
    ids = [tasks.refine(1), tasks.refine(2)]
    tasks.age(20)
    tasks.age_task(ids[oldest], 30)
    third = tasks.refine(3)
    assert tasks.counts() == [2, 2, 2]
    assert tasks.loads(third)
    assert [tasks.loads(skill_id) for skill_id in ids] == [oldest == 1, oldest == 0]


def test_reading_is_using(tasks: Tasks) -> None:
    first, second = tasks.refine(1), tasks.refine(2)
    tasks.age(30)
    with SkillCue(
        tasks.skills, llm=FixedModel([]), mode="bm25", modes=MODES, cache=tasks.cache
    ) as cue:
        assert cue.lookup(f"{TASK} 1", mode="refine").cached
    third = tasks.refine(3)
    assert [tasks.loads(skill_id) for skill_id in (first, second, third)] == [True, False, True]
    assert tasks.counts() == [2, 2, 2]


def test_loading_is_using_too(tasks: Tasks) -> None:
    first, second = tasks.refine(1), tasks.refine(2)
    tasks.age(30)
    assert tasks.loads(first)
    tasks.age_task(first, 40)
    third = tasks.refine(3)
    assert tasks.counts() == [2, 3, 3]  # the task was forgotten, and what a thread holds was not
    assert all(map(tasks.loads, (first, second, third)))


def test_composing_the_same_again_is_using_too(tasks: Tasks) -> None:
    first = tasks.refine(1)
    (path,) = tasks.folder.glob("skills/*/*/SKILL.md")
    for entry in (tasks.folder / "tasks").iterdir():
        entry.unlink()
    tasks.age(30)
    assert tasks.refine(1) == first
    assert time.time() - path.stat().st_mtime < 86_400


def test_what_was_used_within_days_stays_over_the_bounds(tasks: Tasks) -> None:
    ids: list[str] = []
    for number in range(4):
        tasks.age(KEPT_S / 86_400 - 1)
        ids.append(tasks.refine(number))
    assert tasks.counts() == [4, 4, 4]
    assert all(map(tasks.loads, ids))


def test_within_the_bounds_nothing_goes(tasks: Tasks) -> None:
    first = tasks.refine(1)
    tasks.age(400)
    second = tasks.refine(2)
    assert all(map(tasks.loads, (first, second)))


def test_bytes_are_a_bound(tasks: Tasks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "MAX_TASKS", 100)
    monkeypatch.setattr(pruning, "MAX_BYTES", 22_000)
    first = tasks.refine(1, body="x" * 11_500)
    tasks.age(30)
    second = tasks.refine(2)
    assert tasks.loads(first)
    tasks.age(20)
    tasks.age_task(first, 30)
    third = tasks.refine(3, body="y" * 11_500)
    assert [tasks.loads(skill_id) for skill_id in (first, second, third)] == [False, True, True]


def test_a_skill_that_another_task_names_stays(tasks: Tasks) -> None:
    shared = tasks.refine(1, body="Shared.")
    (entry,) = (tasks.folder / "tasks").iterdir()
    twin = entry.with_name(f"{'0' * 64}.json")
    twin.write_text(entry.read_text())
    tasks.refine(2)
    tasks.age(30, twin)
    tasks.refine(3)
    assert tasks.kept() == ["skill-1", "skill-3"]
    assert tasks.loads(shared)


def test_what_no_task_names_goes_first(tasks: Tasks) -> None:
    """A task that is refined anew, since a skill changed, names other skills than it did."""
    first = tasks.refine(1)
    path = tasks.skills / "pdf-tables" / "SKILL.md"
    path.write_text(path.read_text() + "More.\n")
    again = tasks.refine(1, body="Newer.")
    tasks.refine(2)
    assert tasks.loads(first)
    tasks.age(30)
    tasks.refine(3)
    assert not tasks.loads(first)
    assert tasks.counts() == [2, 2, 2]
    assert again != first


def test_it_removes_a_few_at_once(tasks: Tasks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "AT_ONCE", 2)
    for number in range(5):
        tasks.refine(number)
    tasks.age(30)
    tasks.refine(5)
    assert tasks.counts() == [5, 5, 5]
    tasks.age(30)
    tasks.refine(6)
    assert tasks.counts() == [5, 5, 5]


def test_it_looks_now_and_then(tasks: Tasks) -> None:
    for number in range(3):
        tasks.refine(number)
    tasks.age(30, tasks.folder / "pruned")
    tasks.refine(4)
    assert tasks.counts() == [4, 4, 4]
    past = time.time() - EVERY_S - 60
    os.utime(tasks.folder / "pruned", (past, past))
    tasks.refine(5)
    assert tasks.counts() == [2, 2, 2]


def test_damaged_and_foreign_files_are_in_nobodys_way(tasks: Tasks) -> None:
    tasks.refine(1)
    (tasks.folder / "tasks" / "x.json").write_text("{")
    (tasks.folder / "skills" / "note.txt").write_text("Mine.")
    (extra,) = tasks.folder.glob("skills/*/skill-1")
    (extra / "notes.txt").write_text("Mine.")
    tasks.age(30)
    tasks.refine(2)
    tasks.age(30)
    last = tasks.refine(3)
    assert tasks.loads(last)
    assert (extra / "notes.txt").exists()


def test_a_forged_task_makes_nothing_else_go(tasks: Tasks) -> None:
    mine = sorted(tasks.skills.rglob("SKILL.md"))
    for path in mine:
        os.utime(path, (1.0, 1.0))
    tasks.refine(1)
    where = os.path.relpath(tasks.skills, tasks.folder / "skills")
    for number, name in enumerate((where, str(tasks.skills), "", "..", "0" * 16)):
        entry = tasks.folder / "tasks" / f"{number}.json"
        entry.write_text(json.dumps({"skills": [f"refined:{name}"]}))
    tasks.age(30)
    tasks.refine(2)
    assert tasks.counts()[0] == 2
    assert sorted(tasks.skills.rglob("SKILL.md")) == mine


BUSY = """
import os, sys, time
sys.path[:0] = sys.argv[3].split(":")
from support.refining import TASK, FixedModel, command, draft, finish
from skillcue import SkillCue
from skillcue_adapters.refine import pruning

pruning.MAX_TASKS = 2
skills, cache = sys.argv[1:3]
pdf = "pdf-tables@pdf-tables"
for number in range(15):
    for path in pruning.Path(cache).rglob("*.json"):
        try:
            os.utime(path, (1.0, 1.0))
        except OSError:
            pass  # the other process was faster
    try:
        os.utime(cache + "/refined/pruned", (1.0, 1.0))
    except OSError:
        pass
    made = finish(draft(f"skill-{number}", pdf, body=f"Body {number}."))
    model = FixedModel([command("detail", skill=pdf), made])
    modes = {"refine": {"base": "bm25"}}
    with SkillCue(skills, llm=model, mode="bm25", modes=modes, cache=cache) as cue:
        ranking = cue.lookup(f"{TASK} {number}", mode="refine")
        assert ranking.degraded is None, ranking.degraded
        assert cue.load(ranking.hits[0].skill.id).text.startswith("Body")
"""


def test_two_processes_write_read_and_prune_at_once(tasks: Tasks) -> None:
    (tasks.folder).mkdir(parents=True)
    tests = str(Path(__file__).parents[1])
    start: Sequence[str] = [sys.executable, "-c", BUSY, str(tasks.skills), str(tasks.cache), tests]
    running = [subprocess.Popen(start, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=120)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0], said
    assert tasks.counts()[0] <= 15


def test_a_long_process_marks_what_it_uses_from_memory(
    tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = FixedModel(good_script())
    with SkillCue(tasks.skills, llm=model, mode="bm25", modes=MODES, cache=tasks.cache) as cue:
        cue.lookup(TASK, mode="refine")
        tasks.age(30)
        (entry,) = (tasks.folder / "tasks").iterdir()
        cue.lookup(TASK, mode="refine")
        assert time.time() - entry.stat().st_mtime < 86_400
        tasks.age(30)
        cue.lookup(TASK, mode="refine")  # not on every turn
        assert time.time() - entry.stat().st_mtime > 86_400
