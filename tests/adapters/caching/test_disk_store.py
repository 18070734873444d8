"""The store on disk: several processes, damage of every kind, and no pickle ever."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import diskcache
import pytest

from skillcue_adapters import bm25
from skillcue_adapters.caching import CachedRetriever, DiskStore, MemoryStore, TieredStore
from skillcue_adapters.caching.text_disk import APPLICATION_ID, TextDisk
from skillcue_hooks.contracts import Query, RetrieverContext
from skillcue_hooks.protocols import CacheStore
from skillcue_hooks.testing import RaisingRetriever, make_library, make_skill

KEY = "a" * 64


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def store(folder: Path) -> Iterator[DiskStore]:
    store = DiskStore(folder)
    yield store
    store.close()


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """A store that fails answers like an empty one: only the log tells the two apart."""
    caplog.set_level(logging.WARNING, "skillcue.cache")
    yield
    assert caplog.messages == []


def run(code: str, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


# --- the plain case -----------------------------------------------------------------------


@pytest.mark.usefixtures("quiet")
def test_it_keeps_text(store: DiskStore, folder: Path) -> None:
    assert isinstance(store, CacheStore)
    assert store.get(KEY) is None
    for value in ("one", "", "猫 \u0000", "x" * 200_000):
        store.put(KEY, value)
        assert store.get(KEY) == value
    again = DiskStore(folder)
    assert again.get(KEY) == "x" * 200_000
    again.clear()
    assert store.get(KEY) is None
    again.close()


def test_nothing_is_opened_or_imported_before_the_first_use(folder: Path) -> None:
    code = (
        "import sys; from skillcue_adapters.caching import DiskStore; DiskStore(sys.argv[1])\n"
        "print('diskcache' in sys.modules)"
    )
    assert run(code, folder).stdout.strip() == "False"
    assert not folder.exists()


@pytest.mark.usefixtures("quiet")
def test_no_file_but_the_database_is_written(store: DiskStore, folder: Path) -> None:
    store.put(KEY, "x" * 5_000_000)
    assert store.get(KEY) is not None
    assert {path.name for path in folder.iterdir()} <= {
        "cache.db",
        "cache.db-wal",
        "cache.db-shm",
    }


@pytest.mark.usefixtures("quiet")
def test_a_closed_store_answers_nothing(store: DiskStore) -> None:
    store.put(KEY, "one")
    store.close()
    store.put(KEY, "two")
    assert store.get(KEY) is None
    store.close()


@pytest.mark.usefixtures("quiet")
def test_the_size_limit_drops_the_oldest(folder: Path) -> None:
    store = DiskStore(folder, size_limit_bytes=2**20)
    for n in range(60):
        store.put(f"{n:064d}", "x" * 100_000)
    assert store.get(f"{0:064d}") is None
    assert store.get(f"{59:064d}") is not None
    store.close()
    assert sum(path.stat().st_size for path in folder.iterdir()) < 4 * 2**20


@pytest.mark.usefixtures("quiet")
def test_an_answer_survives_the_process(folder: Path) -> None:
    library = make_library([make_skill("prune-roses", "Prune roses."), make_skill("bread")])
    inner = bm25.build(library, RetrieverContext("bm25", {}, None, lambda mode: None))
    store = TieredStore(MemoryStore(), DiskStore(folder))
    computed = CachedRetriever(inner, store, "bm25", library).search(Query("roses"))
    store.close()
    trap = RaisingRetriever(inner.fingerprint, inner.generation)
    later = TieredStore(MemoryStore(), DiskStore(folder))
    answer = CachedRetriever(trap, later, "bm25", library).search(Query("roses"))
    assert answer.hits == computed.hits
    assert answer.cached
    later.close()


# --- processes and threads ----------------------------------------------------------------

WRITER = """
import sys, time
from skillcue_adapters.caching import DiskStore
folder, name, start = sys.argv[1], sys.argv[2], float(sys.argv[3])
import logging; logging.basicConfig()
import skillcue_adapters.caching.text_disk
time.sleep(max(0.0, start - time.time()))
store = DiskStore(folder)
wrong = 0
for n in range(100):
    store.put(f"{name}{n}", f"value {name} {n}")
    wrong += store.get(f"{name}{n}") != f"value {name} {n}"
print(wrong)
store.close()
"""


@pytest.mark.usefixtures("quiet")
def test_two_processes_share_an_empty_folder(folder: Path, store: DiskStore) -> None:
    start = time.time() + 2.0
    command = [sys.executable, "-c", WRITER, str(folder)]
    writers = [
        subprocess.Popen(
            [*command, name, str(start)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for name in ("one", "two")
    ]
    outputs = [writer.communicate(timeout=60) for writer in writers]
    assert [(out.strip(), err) for out, err in outputs] == [("0", "")] * 2
    for name in ("one", "two"):
        assert [store.get(f"{name}{n}") for n in (0, 99)] == [
            f"value {name} 0",
            f"value {name} 99",
        ]


@pytest.mark.usefixtures("quiet")
def test_threads_share_a_store(store: DiskStore) -> None:
    def work(name: int) -> list[str | None]:
        for n in range(20):
            store.put(f"{name}-{n}", f"{name} {n}")
        return [store.get(f"{name}-{n}") for n in range(20)]

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(work, range(4)))
    assert answers == [[f"{name} {n}" for n in range(20)] for name in range(4)]


FORK = """
import os, sys, logging
logging.basicConfig()
from skillcue_adapters.caching import DiskStore
store = DiskStore(sys.argv[1])
store.put("parent", "before")
inherited = store._cache
with store._lock:  # the child is born with it held
    child = os.fork()
    if child == 0:
        ok = store.get("parent") == "before" and store._cache is not inherited
        store.put("child", "hello")
        ok = ok and store.get("child") == "hello"
        os._exit(0 if ok else 1)
_, status = os.waitpid(child, 0)
assert store._cache is inherited
store.put("parent", "after")
print(os.waitstatus_to_exitcode(status), store.get("child"), store.get("parent"))
"""


def test_a_forked_child_opens_the_folder_again(folder: Path) -> None:
    done = run(FORK, folder, timeout=30)
    assert (done.stdout.strip(), done.stderr) == ("0 hello after", "")


# --- failures -----------------------------------------------------------------------------


def assert_silent_and_logged_once(store: DiskStore, caplog: pytest.LogCaptureFixture) -> None:
    started = time.perf_counter()
    for n in range(20):
        store.put(KEY, "value")
        assert store.get(f"{n}") is None
    store.clear()
    assert time.perf_counter() - started < 2.0
    assert len(caplog.messages) == 1
    assert str(store.path) in caplog.messages[0]
    store.close()


def test_a_path_that_is_a_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("I am not a folder")
    assert_silent_and_logged_once(DiskStore(tmp_path / "file"), caplog)
    assert (tmp_path / "file").read_text() == "I am not a folder"


@pytest.mark.parametrize("content", [b"not a database at all" * 500, b"\x80\x04K\x01."])
def test_a_corrupt_database(folder: Path, content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    folder.mkdir()
    (folder / "cache.db").write_bytes(content)
    assert_silent_and_logged_once(DiskStore(folder), caplog)
    assert (folder / "cache.db").read_bytes() == content


def test_a_database_damaged_in_the_middle(
    folder: Path, store: DiskStore, caplog: pytest.LogCaptureFixture
) -> None:
    for n in range(50):
        store.put(f"{n}", "x" * 5000)
    store.close()
    database = folder / "cache.db"
    content = bytearray(database.read_bytes())
    content[4096:] = b"\x5a" * (len(content) - 4096)
    database.write_bytes(bytes(content))
    assert_silent_and_logged_once(DiskStore(folder), caplog)


def test_the_database_of_another_program_is_left_alone(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with diskcache.Cache(str(folder)) as theirs:
        theirs["mine"] = {"do not": "touch"}
        limit = theirs.size_limit
    assert_silent_and_logged_once(DiskStore(folder, size_limit_bytes=1), caplog)
    assert "another program" in caplog.messages[0]
    with diskcache.Cache(str(folder)) as theirs:
        assert theirs["mine"] == {"do not": "touch"}
        assert theirs.size_limit == limit


def test_a_locked_database_is_a_miss_and_recovers(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = DiskStore(folder)
    first.put(KEY, "value")
    first.close()
    store = DiskStore(folder, retry_after_s=0.5)
    with closing(sqlite3.connect(folder / "cache.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        started = time.perf_counter()
        assert store.get(KEY) is None
        assert store.get(KEY) is None
        assert time.perf_counter() - started < 0.45
        other.execute("ROLLBACK")
    assert len(caplog.messages) == 1
    assert "locked" in caplog.messages[0]
    time.sleep(0.5)
    assert store.get(KEY) == "value"
    store.close()


def test_a_lock_taken_while_in_use_costs_one_wait(
    store: DiskStore, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store.put(KEY, "value")
    with closing(sqlite3.connect(folder / "cache.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        started = time.perf_counter()
        for _ in range(5):
            store.put(KEY, "other")
        assert time.perf_counter() - started < 0.6
        other.execute("ROLLBACK")
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("made_again", [False, True])
def test_a_folder_removed_while_in_use(
    folder: Path, made_again: bool, caplog: pytest.LogCaptureFixture
) -> None:
    store = DiskStore(folder, retry_after_s=0.3)
    store.put(KEY, "value")
    shutil.rmtree(folder)
    if made_again:
        other = DiskStore(folder)
        other.put(KEY, "other")
        other.close()
    for n in range(20):
        store.put(f"{n}", "x" * 10_000)
        assert store.get(f"{n}") is None
    assert len(caplog.messages) == 1
    time.sleep(0.35)
    assert store.get(KEY) == ("other" if made_again else None)
    store.put(KEY, "again")
    assert store.get(KEY) == "again"
    assert (folder / "cache.db").exists()
    store.close()


READ_ONLY = """
import os, sys, logging
logging.basicConfig(format="%(message)s")
from skillcue_adapters.caching import DiskStore, text_disk
if os.geteuid() == 0:
    os.setuid(65534)  # permissions do not bind root
store = DiskStore(sys.argv[1])
for n in range(5):
    store.put("k", "v")
print(store.get("k"))
"""


def test_a_folder_that_is_read_only() -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o555)
        done = run(READ_ONLY, folder, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        assert done.stdout.strip() == "None"
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert str(folder) in done.stderr
    finally:
        shutil.rmtree(folder)


# --- no pickles ---------------------------------------------------------------------------


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, crater: Path) -> None:
        self.crater = crater

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.crater,)


@pytest.fixture
def crater(tmp_path: Path) -> Path:
    return tmp_path / "crater"


@pytest.mark.parametrize("padding", [0, 100_000], ids=["in the row", "in a file"])
def test_a_planted_pickle_is_not_executed(
    store: DiskStore, folder: Path, crater: Path, padding: int, caplog: pytest.LogCaptureFixture
) -> None:
    store.put(KEY, "good")
    with diskcache.Cache(str(folder)) as attacker:
        attacker[KEY] = [Bomb(crater), "x" * padding]
        assert not crater.exists()
    assert store.get(KEY) is None
    assert not crater.exists()
    assert len(caplog.messages) == 1
    store.put(KEY, "good again")
    assert store.get(KEY) == "good again"
    with diskcache.Cache(str(folder)) as attacker:  # the bomb was live
        attacker["live"] = Bomb(crater)
        _ = attacker["live"]
    assert crater.exists()


@pytest.mark.parametrize("value", [b"bytes", 7, 1.5])
def test_values_of_other_kinds_are_misses(store: DiskStore, folder: Path, value: object) -> None:
    store.put(KEY, "good")
    with diskcache.Cache(str(folder)) as other:
        other[KEY] = value
    assert store.get(KEY) is None


@pytest.mark.usefixtures("quiet")
def test_a_planted_file_name_removes_nothing(
    store: DiskStore, folder: Path, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    store.put(KEY, "good")
    with closing(sqlite3.connect(folder / "cache.db")) as link, link:
        link.execute("UPDATE Cache SET filename = '../victim'")
    store.put(KEY, "other")
    store.clear()
    assert victim.read_text() == "precious"


def test_text_disk_writes_and_reads_nothing_else(tmp_path: Path) -> None:
    disk = TextDisk(str(tmp_path))
    for use in (disk.put, lambda v: disk.store(v, False), lambda v: disk.get(v, False)):
        with pytest.raises(TypeError, match="only text"):
            use({"a": 1})


@pytest.mark.usefixtures("quiet")
def test_the_database_is_marked(store: DiskStore, folder: Path) -> None:
    store.put(KEY, "value")
    with closing(sqlite3.connect(folder / "cache.db")) as link:
        assert link.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)


@pytest.mark.parametrize("damage", ["overwritten", "cut"])
def test_a_damaged_database_is_made_anew(tmp_path, damage, caplog):
    first = DiskStore(tmp_path)
    for number in range(400):
        first.put(f"{number:064d}", "text " * 50)
    first.close()
    database = tmp_path / "cache.db"
    content = database.read_bytes()
    if damage == "cut":
        database.write_bytes(content[: len(content) // 2])
    else:
        database.write_bytes(content[:100] + bytes(range(256)) * 78 + content[100 + 256 * 78 :])
    for number in range(400):  # some operation meets the damage
        second = DiskStore(tmp_path)
        second.get(f"{number:064d}")
        second.put("b" * 64, "new")
        second.close()
        if "made anew" in caplog.text:
            break
    assert "made anew" in caplog.text
    third = DiskStore(tmp_path)
    third.put("c" * 64, "newer")
    assert third.get("c" * 64) == "newer"
    third.close()
