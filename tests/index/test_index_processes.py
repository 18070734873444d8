"""Several processes, killed processes, forked processes."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen

from support.index_libraries import CountingEncoder, build_retriever, make_skills

from skillcue_adapters.index.keys import content_keys
from skillcue_adapters.index.vectors import VectorStore
from skillcue_adapters.locks import ForkSafeLock, only_process
from skillcue_hooks.contracts import Query

Start = Callable[[str], "Popen[str]"]


def test_two_processes_add_at_once_and_nothing_is_lost(python: Start, tmp_path: Path) -> None:
    script = """
from test_index_vectors import *
store = VectorStore(DIM, Path({folder!r}), "me")
for start in range({first}, {first} + 400, 4):
    store.put(*some(start, 4)); store.flush()
    check(store, {first}, start + 4 - {first})
print("fine")
"""
    folder = str(tmp_path / "cache")
    running = [python(script.format(folder=folder, first=first)) for first in (0, 400, 200)]
    for process in running:
        out, err = process.communicate(timeout=120)
        assert out == "fine\n", err
        assert err == ""
    keys = content_keys("test", [str(n) for n in range(800)])
    located = VectorStore(8, tmp_path / "cache", "me").locate(keys)
    assert located.known.all()


def test_a_killed_process_leaves_what_it_encoded(python: Start, tmp_path: Path) -> None:
    script = f"""
from pathlib import Path
from support.index_libraries import *
from skillcue_adapters.index import vectors
from skillcue_adapters.document_vectors import open_vectors
vectors.FLUSH_ROWS = 64
encoder = CountingEncoder(seconds=0.05)
made = build_retriever("dense", make_skills(2000), encoder, Path({str(tmp_path)!r}), batch_texts=32)
print("started", flush=True)
made.wait_ready()
print("never", flush=True)
"""
    process = python(script)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    deadline = time.monotonic() + 60
    while len(list(tmp_path.rglob("*.skcue"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    assert process.communicate()[0] == ""
    encoder = CountingEncoder()
    skills = make_skills(2000)
    made = build_retriever("dense", skills, encoder, tmp_path)
    assert made.wait_ready(60)
    assert 0 < len(encoder.encoded) <= 2000 - 3 * 64
    fresh = build_retriever("dense", skills, CountingEncoder(), None)
    assert fresh.wait_ready(60)
    query = Query("merge pdf form", k=2000)
    assert made.search(query).hits == fresh.search(query).hits


def test_a_lock_is_free_in_a_forked_child() -> None:
    """Whatever thread of the parent held it."""
    lock = ForkSafeLock()
    held, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            leave.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(60)
    child = os.fork()
    if child == 0:
        signal.alarm(10)  # its default action ends the process
        with lock:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    leave.set()
    holder.join()
    assert os.waitstatus_to_exitcode(status) == 0


def test_only_one_process_is_inside_and_death_frees(python: Start, tmp_path: Path) -> None:
    script = f"""
import time
from pathlib import Path
from skillcue_adapters.locks import only_process
with only_process(Path({str(tmp_path / "lock")!r})) as alone:
    print(alone, flush=True)
    time.sleep(60)
"""
    process = python(script)
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    with only_process(tmp_path / "lock") as alone:
        assert not alone
    process.kill()
    process.communicate()
    with only_process(tmp_path / "lock") as alone:
        assert alone


def test_a_forked_child_goes_on(tmp_path: Path) -> None:
    encoder = CountingEncoder(seconds=0.02)
    made = build_retriever("skillsight", make_skills(900), encoder, tmp_path, batch_texts=32)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            answer = made.search(Query("merge pdf form"))
            done = answer.degraded is not None and made.wait_ready(60)
            code = 0 if done and made.search(Query("merge pdf form")).degraded is None else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert made.wait_ready(60)
