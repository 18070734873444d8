"""The library over time: freshness, what a re-check may cost, and failures that stay apart."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from skillcue.library.codes import diagnostic
from skillcue.library.live import LiveLibrary, Recheck, RecheckSettings
from skillcue.library.source import FolderSource, StaticSource
from skillcue_hooks.contracts import Diagnostic, Skill, SourceScan
from skillcue_hooks.errors import ConfigurationError

Put = Callable[..., Path]
Text = Callable[..., str]


class Clock:
    """Time that passes only when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Shelf(StaticSource):
    """Skills in memory that can be exchanged; a scan costs what the test says."""

    def __init__(self, clock: Clock, names: Iterable[str], label: str = "shelf") -> None:
        super().__init__(label, ())
        self.clock = clock
        self.cost = 0.0
        self.scans = 0
        self.error: Exception | None = None
        self.put(names)

    def put(self, names: Iterable[str]) -> None:
        skills = [Skill(id=f"{name}@{name}", name=name, description=name) for name in names]
        self.held = StaticSource(self.label, skills).scan(None)

    def scan(self, previous: SourceScan | None = None) -> SourceScan:
        self.scans += 1
        self.clock.now += self.cost
        if self.error:
            raise self.error
        same = previous is not None and previous.fingerprint == self.held.fingerprint
        return previous if same and previous is not None else self.held


def names(live: LiveLibrary) -> tuple[str, ...]:
    return live.snapshot().names


def wait_for_thread(live: LiveLibrary) -> None:
    thread = live._thread
    assert thread is not None
    thread.join(10)
    assert not thread.is_alive()


def test_edits_additions_deletions_and_renames_are_seen_on_the_next_call(
    tmp_path: Path, put: Put, skill_text: Text
) -> None:
    path = put("tea/SKILL.md", skill_text("tea"))
    live = LiveLibrary([FolderSource(tmp_path)])
    first = live.snapshot()
    assert live.snapshot() is first
    put("milk/SKILL.md", skill_text("milk"))
    second = live.snapshot()
    assert second.names == ("milk", "tea")
    path.write_text(skill_text("tea", "Brew it cold."), encoding="utf-8")
    third = live.snapshot()
    assert third.resolve("tea").description == "Brew it cold."
    path.unlink()
    assert names(live) == ("milk",)
    (tmp_path / "milk").rename(tmp_path / "oat")
    assert live.snapshot().resolve("oat").id == "milk@oat"
    generations = {first.generation, second.generation, third.generation}
    assert len(generations) == 3
    assert first.names == ("tea",)


def test_building_a_library_reads_nothing() -> None:
    shelf = Shelf(Clock(), ["tea"])
    LiveLibrary([shelf])
    assert shelf.scans == 0


def test_cheap_rechecks_happen_on_every_call() -> None:
    clock = Clock()
    shelf = Shelf(clock, ["tea"])
    shelf.cost = 0.004
    live = LiveLibrary([shelf], clock=clock)
    for _ in range(5):
        live.snapshot()
    assert shelf.scans == 5


def test_rechecks_of_middle_cost_take_a_tenth_of_the_time() -> None:
    clock = Clock()
    shelf = Shelf(clock, ["tea"])
    shelf.cost = 0.030
    live = LiveLibrary([shelf], clock=clock)
    live.snapshot()
    live.snapshot()
    assert shelf.scans == 2
    clock.now += 0.26
    live.snapshot()
    assert shelf.scans == 2
    clock.now += 0.02
    shelf.put(["milk"])
    assert names(live) == ("milk",)
    assert shelf.scans == 3


def test_expensive_rechecks_run_behind_the_caller(tmp_path: Path) -> None:
    clock = Clock()
    shelf = Shelf(clock, ["tea"])
    live = LiveLibrary([shelf], clock=clock)
    live.snapshot()
    shelf.cost = 0.060
    live.snapshot()
    shelf.put(["milk"])
    clock.now += 10
    assert names(live) == ("tea",)
    wait_for_thread(live)
    assert names(live) == ("milk",)
    assert shelf.scans == 3


def test_the_first_recheck_of_a_library_that_was_slow_to_read_runs_behind_the_caller() -> None:
    clock = Clock()
    shelf = Shelf(clock, ["tea"])
    shelf.cost = 4.0
    live = LiveLibrary([shelf], clock=clock)
    live.snapshot()
    shelf.put(["milk"])
    clock.now += 10
    assert names(live) == ("tea",)
    wait_for_thread(live)
    assert live._thread is not None and live._thread.daemon
    assert names(live) == ("milk",)


def test_a_look_that_found_an_edit_does_not_delay_the_next_one() -> None:
    """Reading what changed is dear; it says nothing about the cost of looking again."""
    clock = Clock()
    shelf = Shelf(clock, ["tea"])
    live = LiveLibrary([shelf], clock=clock)
    live.snapshot()
    shelf.cost = 1.0
    shelf.put(["milk"])
    assert names(live) == ("milk",)
    shelf.cost = 0.0
    shelf.put(["mate"])
    assert names(live) == ("mate",)


def test_always_looks_on_every_call_whatever_it_costs() -> None:
    clock = Clock()
    shelf = Shelf(clock, ["tea"])
    shelf.cost = 5.0
    live = LiveLibrary([shelf], recheck="always", clock=clock)
    live.snapshot()
    shelf.put(["milk"])
    assert names(live) == ("milk",)


def test_background_never_makes_a_call_wait() -> None:
    clock = Clock()
    shelf = Shelf(clock, ["tea"])
    live = LiveLibrary([shelf], recheck="background", clock=clock)
    live.snapshot()
    shelf.put(["milk"])
    assert names(live) == ("tea",)
    wait_for_thread(live)
    assert names(live) == ("milk",)
    live.close()


def test_manual_looks_only_when_told_to() -> None:
    clock = Clock()
    shelf = Shelf(clock, ["tea"])
    live = LiveLibrary([shelf], recheck="manual", clock=clock)
    live.snapshot()
    shelf.put(["milk"])
    clock.now += 1000
    assert names(live) == ("tea",)
    assert live.refresh().names == names(live) == ("milk",)


def test_refresh_looks_although_nothing_is_due() -> None:
    clock = Clock()
    shelf = Shelf(clock, ["tea"])
    live = LiveLibrary([shelf], clock=clock)
    live.snapshot()
    shelf.cost = 1.0
    live.refresh()
    shelf.put(["milk"])
    assert live.refresh().names == ("milk",)


def test_a_closed_library_keeps_answering_and_stops_looking() -> None:
    clock = Clock()
    shelf = Shelf(clock, ["tea"])
    with LiveLibrary([shelf], clock=clock) as live:
        live.snapshot()
    shelf.put(["milk"])
    assert names(live) == ("tea",)


def test_costs_are_settings() -> None:
    clock = Clock()
    shelf = Shelf(clock, ["tea"])
    shelf.cost = 0.030
    live = LiveLibrary([shelf], clock=clock, settings=RecheckSettings(free_s=0.1, slow_s=0.2))
    for _ in range(4):
        live.snapshot()
    assert shelf.scans == 4


def test_an_unknown_policy_is_an_error() -> None:
    policy: Recheck = "sometimes"  # type: ignore[assignment]
    with pytest.raises(ConfigurationError, match="auto, always, background, manual"):
        LiveLibrary([], recheck=policy)


def test_sources_fail_apart_and_keep_their_last_good_scan() -> None:
    clock = Clock()
    good, bad = Shelf(clock, ["tea"], "good"), Shelf(clock, ["milk"], "bad")
    live = LiveLibrary([good, bad], clock=clock)
    live.snapshot()
    bad.error = OSError("disk on fire")
    good.put(["tea", "mate"])
    snapshot = live.snapshot()
    assert snapshot.names == ("mate", "milk", "tea")
    assert [(item.code, item.severity, item.message) for item in snapshot.diagnostics] == [
        ("source-failed", "error", "bad: OSError: disk on fire")
    ]
    assert live.snapshot() is snapshot
    bad.error = None
    assert live.snapshot().diagnostics == ()


def test_a_source_that_fails_from_the_start_gives_no_skills_and_an_error() -> None:
    clock = Clock()
    bad = Shelf(clock, ["milk"], "bad")
    bad.error = ValueError("no")
    snapshot = LiveLibrary([Shelf(clock, ["tea"]), bad], clock=clock).snapshot()
    assert snapshot.names == ("tea",)
    assert [item.code for item in snapshot.diagnostics] == ["source-failed"]


def test_a_skill_is_assessed_once_a_version(tmp_path: Path, put: Put, skill_text: Text) -> None:
    asked: list[tuple[str, str]] = []

    def assess(skill: Skill, _text: str) -> None:
        asked.append((skill.id, skill.description))

    put("tea/SKILL.md", skill_text("tea", "one"))
    put("milk/SKILL.md", skill_text("milk", "one"))
    live = LiveLibrary([FolderSource(tmp_path)], assess=assess)
    live.snapshot()
    live.refresh()
    put("tea/SKILL.md", skill_text("tea", "two"))
    live.refresh()
    put("more/SKILL.md", skill_text("more", "one"))
    live.refresh()
    assert asked == [
        ("milk@milk", "one"), ("tea@tea", "one"), ("tea@tea", "two"), ("more@more", "one"),
    ]  # fmt: skip


def test_findings_are_reported_and_an_error_takes_trust_away() -> None:
    def assess(skill: Skill, _text: str) -> tuple[Diagnostic, ...]:
        if skill.name == "odd":
            raise RuntimeError("scanner broke")
        severity = "error" if skill.name == "bad" else "warning"
        return (Diagnostic("risk", severity, skill.path, None, skill.name, ""),)  # type: ignore[arg-type]

    live = LiveLibrary([Shelf(Clock(), ["bad", "fine", "odd"])], assess=assess)
    snapshot = live.snapshot()
    assert {s.name: (s.trust, s.pushable) for s in snapshot.skills} == {
        "bad": ("untrusted", False),
        "fine": ("trusted", True),
        "odd": ("untrusted", False),
    }
    assert [(item.code, item.message) for item in snapshot.diagnostics] == [
        ("risk", "bad"), ("risk", "fine"),
        ("assessment-failed", "odd@odd: RuntimeError: scanner broke"),
    ]  # fmt: skip
    assert snapshot.resolve("bad").trust == "untrusted"
    assert {s.trust for s in snapshot.library.skills if s.name != "fine"} == {"untrusted"}


def test_counts_are_logged_once_a_generation(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    shelf = Shelf(clock, ["tea", "milk"])
    live = LiveLibrary([shelf, Shelf(clock, ["tea"], "copy")], clock=clock)
    with caplog.at_level(logging.INFO, "skillcue.library"):
        live.snapshot()
        live.refresh()
        assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
            "3 skills found, 2 kept, 1 dropped as copies; 0 errors, 0 warnings"
        ]
        shelf.put(["tea"])
        live.refresh()
    assert len(caplog.records) == 2


class Gate(StaticSource):
    """A source whose scan waits until the test lets it go."""

    def __init__(self) -> None:
        super().__init__("gate", ())
        self.entered = threading.Semaphore(0)
        self.open = threading.Event()
        self.scans = 0

    def scan(self, previous: SourceScan | None = None) -> SourceScan:
        self.scans += 1
        self.entered.release()
        assert self.open.wait(10)
        return super().scan(previous)


class Numbers:
    """The order of calls, countable from outside."""

    def __init__(self) -> None:
        self.given = 0
        self._lock = threading.Lock()

    def __next__(self) -> int:
        with self._lock:
            self.given += 1
            return self.given


def test_callers_that_come_during_a_scan_share_the_next_one() -> None:
    gate, numbers = Gate(), Numbers()
    live = LiveLibrary([gate], recheck="always")
    live._order = numbers  # type: ignore[assignment]
    threads = [threading.Thread(target=live.snapshot) for _ in range(8)]
    threads[0].start()
    assert gate.entered.acquire(timeout=10)
    for thread in threads[1:]:
        thread.start()
    deadline = time.monotonic() + 10
    while numbers.given < 9 and time.monotonic() < deadline:  # 8 calls and the scan under way
        time.sleep(0.001)
    gate.open.set()
    for thread in threads:
        thread.join(10)
    assert (numbers.given, gate.scans) == (10, 2)


def test_a_slow_background_check_never_holds_up_a_call() -> None:
    gate = Gate()
    gate.open.set()
    live = LiveLibrary([gate], recheck="background")
    first = live.snapshot()
    gate.open.clear()
    for _ in range(20):
        assert live.snapshot() is first
    assert sum(thread.name == "skillcue-library" for thread in threading.enumerate()) == 1
    assert gate.entered.acquire(timeout=10) and gate.entered.acquire(timeout=10)
    assert gate.scans == 2
    gate.open.set()
    live.close()
    assert live._thread is not None and not live._thread.is_alive()


def test_threads_see_whole_generations_while_files_change(
    tmp_path: Path, put: Put, skill_text: Text
) -> None:
    """Every file of a version says the same number; a snapshot never goes back in time."""
    for name in "abcd":
        put(f"lib/{name}/SKILL.md", skill_text(name, "0"))
    live = LiveLibrary([FolderSource(tmp_path / "lib")], recheck="always")
    live.snapshot()
    stop = threading.Event()
    problems: list[str] = []

    def watch() -> None:
        last = 0
        while not stop.is_set():
            snapshot = live.snapshot()
            numbers = [int(skill.description) for skill in snapshot.skills]
            if len(snapshot.skills) != 4 or min(numbers) < last:
                problems.append(f"{numbers} after {last}")
            last = min(numbers)

    watchers = [threading.Thread(target=watch) for _ in range(4)]
    for watcher in watchers:
        watcher.start()
    for version in range(1, 26):
        for name in "abcd":
            draft = put(f"drafts/{name}", skill_text(name, str(version)))
            draft.replace(tmp_path / f"lib/{name}/SKILL.md")
        expected = live.refresh()
        assert {skill.description for skill in expected.skills} == {str(version)}
    stop.set()
    for watcher in watchers:
        watcher.join(10)
    assert problems == []


def test_a_vanished_folder_is_reported_and_the_skills_stay(
    tmp_path: Path, put: Put, skill_text: Text
) -> None:
    put("lib/tea/SKILL.md", skill_text("tea"))
    live = LiveLibrary([FolderSource(tmp_path / "lib")])
    first = live.snapshot()
    (tmp_path / "lib").rename(tmp_path / "away")
    second = live.snapshot()
    assert second.generation == first.generation
    gone = diagnostic("source-missing", tmp_path / "lib", "1 skills are kept from before.")
    assert second.diagnostics == (gone,)
    assert live.snapshot() is second
