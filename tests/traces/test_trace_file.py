"""The trace file: whole lines from many threads and processes, bounded, and never in the way."""

from __future__ import annotations

import json
import logging
import os
import stat
import subprocess
import sys
import threading

import pytest

from skillcue import SkillCue
from skillcue.traces import TraceSettings
from skillcue.traces.file import TraceFile
from skillcue.traces.reading import read_traces
from skillcue_adapters.locks import only_process
from skillcue_hooks.errors import ConfigurationError

WRITER = """
import sys
from pathlib import Path
from skillcue.traces.file import TraceFile
file = TraceFile(Path(sys.argv[1]), int(sys.argv[3]))
for number in range(400):
    file.write({"who": sys.argv[2], "number": number, "pad": "x" * 90})
"""


def records(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_from_processes(path, max_bytes, count=4):
    command = [sys.executable, "-c", WRITER, str(path)]
    running = [subprocess.Popen([*command, str(n), str(max_bytes)]) for n in range(count)]
    assert [process.wait(60) for process in running] == [0] * count


def test_lines_of_several_processes_stay_whole(tmp_path):
    path = tmp_path / "traces.jsonl"
    write_from_processes(path, 1 << 30)
    found = records(path)
    assert len(found) == 4 * 400
    for who in "0123":
        assert [r["number"] for r in found if r["who"] == who] == list(range(400))


def test_lines_of_several_threads_stay_whole(tmp_path):
    file = TraceFile(tmp_path / "traces.jsonl", 1 << 30)
    threads = [
        threading.Thread(
            target=lambda who=who: [file.write({"who": who, "n": n}) for n in range(300)]
        )
        for who in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    file.close()
    found = records(tmp_path / "traces.jsonl")
    assert sorted((r["who"], r["n"]) for r in found) == [
        (w, n) for w in range(8) for n in range(300)
    ]


def test_the_size_is_bounded_and_the_newest_lines_are_kept(tmp_path):
    path = tmp_path / "traces.jsonl"
    file = TraceFile(path, 5_000)
    for number in range(1_000):
        file.write({"number": number, "pad": "x" * 50})
        assert path.stat().st_size <= 5_000
    file.close()
    old = records(tmp_path / "traces.jsonl.1")
    new = records(path)
    numbers = [r["number"] for r in (*old, *new)]
    assert numbers == list(range(numbers[0], 1_000))
    assert (tmp_path / "traces.jsonl.1").stat().st_size <= 5_000


def test_processes_that_share_a_full_file_agree_on_the_new_one(tmp_path):
    path = tmp_path / "traces.jsonl"
    write_from_processes(path, 20_000)
    for part in (path, tmp_path / "traces.jsonl.1"):
        # Every line is whole. How far a file outgrows its size is up to the system: nobody waits
        # for a process that was suspended while it renames.
        assert records(part)
    assert {r["number"] for r in records(path) if r["number"] == 399}


def test_while_another_process_renames_the_line_is_written_all_the_same(tmp_path):
    path = tmp_path / "traces.jsonl"
    file = TraceFile(path, 5_000)
    for _ in range(2):
        file.write({"pad": "x" * 2_000})
    with only_process(tmp_path / "traces.jsonl.lock") as alone:
        assert alone
        file.write({"late": True, "pad": "x" * 2_000})
    file.close()
    assert records(path)[-1]["late"]
    assert not (tmp_path / "traces.jsonl.1").exists()


def test_a_file_that_was_taken_away_is_begun_again(tmp_path):
    path = tmp_path / "traces.jsonl"
    file = TraceFile(path, 1 << 30)
    file.write({"n": 1})
    path.rename(tmp_path / "elsewhere")
    file.write({"n": 2})
    file.close()
    assert records(path) == [{"n": 2}]


def test_only_the_owner_may_read_it(tmp_path):
    path = tmp_path / "traces.jsonl"
    with_umask = os.umask(0o022)
    try:
        file = TraceFile(path, 1 << 30)
        file.write({})
        file.close()
    finally:
        os.umask(with_umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_line_that_was_cut_off_costs_that_line_only(tmp_path, monkeypatch, example_skills):
    path = tmp_path / "traces.jsonl"
    real, whole = os.write, [False, True]
    monkeypatch.setattr(
        "skillcue.traces.file.os.write",
        lambda fd, data: real(fd, data if whole.pop() else data[:20]),
    )
    file = TraceFile(path, 1 << 30)
    file.write({"n": 1})
    with pytest.raises(OSError, match="only 20 of"):
        file.write({"n": 2, "pad": "x" * 40})
    whole.append(True)
    file.write({"n": 3})
    file.close()
    lines = path.read_text("utf-8").splitlines()
    assert [json.loads(lines[0]), json.loads(lines[2])] == [{"n": 1}, {"n": 3}]
    assert read_traces(path).skipped == 3  # none of them is a record of a turn


class Failing:
    def __init__(self):
        self.calls = 0

    def write(self, record):
        self.calls += 1
        raise OSError(28, "No space left on device")


def test_a_failure_is_logged_once_and_goes_no_further(example_skills, caplog):
    sink = Failing()
    messages = [{"role": "user", "content": "Fill in the visa form, it is a PDF"}]
    caplog.set_level(logging.WARNING, "skillcue")
    with SkillCue(example_skills, mode="bm25", traces=sink) as cue:
        assert cue.advise(messages).decision == "offer"
        cue.advise([{"role": "user", "content": "thanks"}])
        cue.load("pdf-form-filling")
    assert sink.calls == 3
    [record] = caplog.records
    assert "No space left" in record.getMessage()


@pytest.mark.parametrize("spec", [7, "", True, object()])
def test_what_is_no_place_for_traces_is_an_error(example_skills, spec):
    with pytest.raises(ConfigurationError):
        SkillCue(example_skills, traces=spec)


def test_wrong_settings_are_errors(tmp_path):
    with pytest.raises(ConfigurationError, match="no such folder"):
        TraceSettings(tmp_path / "none" / "traces.jsonl")
    with pytest.raises(ConfigurationError, match="Name a file"):
        TraceSettings(tmp_path)
    with pytest.raises(ConfigurationError, match="max_bytes"):
        TraceSettings(tmp_path / "t", max_bytes=10)
    with pytest.raises(ConfigurationError, match="text"):
        TraceSettings(tmp_path / "t", text="yes")


def test_nothing_is_written_unless_asked_for(example_skills, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with SkillCue(example_skills, mode="bm25") as cue:
        cue.advise([{"role": "user", "content": "Fill in the visa form, it is a PDF"}])
        cue.load("pdf-form-filling")
    assert list(tmp_path.iterdir()) == []
