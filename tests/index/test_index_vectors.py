"""The vector store: in memory, on disk, damaged, full, and merged."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from skillcue_adapters.index import vectors as module
from skillcue_adapters.index.folder import MANY_SEGMENTS
from skillcue_adapters.index.keys import Keys, content_keys
from skillcue_adapters.index.vectors import Rows, VectorStore

DIM = 8


def some(start: int, count: int) -> tuple[Keys, Rows]:
    """Keys and vectors that depend on nothing but their numbers."""
    keys = content_keys("test", [str(n) for n in range(start, start + count)])
    rows = np.array(
        [np.random.default_rng(n).standard_normal(DIM) for n in range(start, start + count)],
        dtype=np.float32,
    ).reshape(count, DIM)
    return keys, rows


def check(store: VectorStore, start: int, count: int) -> None:
    keys, rows = some(start, count)
    located = store.locate(keys)
    assert located.known.all()
    assert located.take(np.arange(count)).tobytes() == rows.tobytes()
    parts, numbers = located.needed()
    assert np.concatenate(parts)[numbers].tobytes() == rows.tobytes()


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.skcue"))


def filled(folder: Path, *sizes: int) -> VectorStore:
    store = VectorStore(DIM, folder, "me")
    start = 0
    for size in sizes:
        store.put(*some(start, size))
        store.flush()
        start += size
    return store


def test_what_is_put_is_found_bit_by_bit() -> None:
    store = VectorStore(DIM)
    store.put(*some(0, 5))
    store.put(*some(5, 3))
    check(store, 0, 8)
    keys, _ = some(6, 4)
    assert store.locate(keys).known.tolist() == [True, True, False, False]


def test_many_vectors_fill_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_ROWS", 16)
    store = VectorStore(DIM)
    for start in range(0, 100, 10):
        store.put(*some(start, 10))
    check(store, 0, 100)
    assert len(store.locate(some(0, 100)[0]).needed()[0]) > 5


def test_it_survives_the_process(tmp_path: Path) -> None:
    filled(tmp_path, 5, 2000)
    check(VectorStore(DIM, tmp_path, "me"), 0, 2005)


def test_large_additions_are_held_once_and_mapped(tmp_path: Path) -> None:
    store = filled(tmp_path, 2048)
    parts, _ = store.locate(some(0, 2048)[0]).needed()
    assert [part.flags.writeable for part in parts] == [False]
    assert [block.used for block in store._blocks] == [2048, 0]


def test_another_encoder_finds_nothing(tmp_path: Path) -> None:
    filled(tmp_path, 5)
    assert not VectorStore(DIM, tmp_path, "you").locate(some(0, 5)[0]).known.any()
    assert not VectorStore(DIM + 1, tmp_path, "me").locate(some(0, 5)[0]).known.any()


def test_unwritten_vectors_are_written_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FLUSH_ROWS", 20)
    store = VectorStore(DIM, tmp_path, "me")
    store.put(*some(0, 19))
    assert files(tmp_path) == []
    store.put(*some(19, 1))
    assert len(files(tmp_path)) == 1
    monkeypatch.setattr(module, "FLUSH_S", -1.0)
    store.put(*some(20, 1))
    assert len(files(tmp_path)) == 2
    check(VectorStore(DIM, tmp_path, "me"), 0, 21)


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_damaged_files_are_removed_and_the_others_used(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    filled(tmp_path, 40)
    (victim,) = files(tmp_path)
    filled(tmp_path, 40, 10)
    content = bytearray(victim.read_bytes())
    content[-3] ^= 4
    victim.write_bytes({"cut": content[:-1], "flip": content, "empty": b""}[damage])
    store = VectorStore(DIM, tmp_path, "me")
    located = store.locate(some(0, 50)[0])
    assert located.known[40:].all()
    assert "damaged" in caplog.text
    assert not victim.exists()
    store.put(*some(0, 40))
    store.flush()
    check(VectorStore(DIM, tmp_path, "me"), 0, 50)


def test_a_foreign_file_is_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = filled(tmp_path, 4)
    foreign = files(tmp_path)[0].with_name("foreign.skcue")
    foreign.write_bytes(b"SQLite format 3\x00 whatever")
    check(VectorStore(DIM, tmp_path, "me"), 0, 4)
    store.locate(some(90, 1)[0])
    assert foreign.exists()
    assert "left alone" in caplog.text


def test_a_file_of_another_encoder_in_our_folder_is_not_trusted(tmp_path: Path) -> None:
    filled(tmp_path / "a", 4)
    other = VectorStore(DIM, tmp_path / "b", "you")
    other.put(*some(0, 4))
    other.flush()
    (ours,), (theirs,) = files(tmp_path / "a"), files(tmp_path / "b")
    ours.write_bytes(theirs.read_bytes())
    assert not VectorStore(DIM, tmp_path / "a", "me").locate(some(0, 4)[0]).known.any()


def test_a_folder_that_cannot_be_made_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "vectors").write_text("a file")
    store = VectorStore(DIM, tmp_path, "me")
    for start in (0, 5, 10):
        store.put(*some(start, 5))
        store.flush()
        store.locate(some(99, 1)[0])
    check(store, 0, 15)
    assert [r.levelno for r in caplog.records] == [logging.WARNING]
    assert "works in memory" in caplog.text


def test_a_read_only_folder_is_said_once(python: Callable[..., object], tmp_path: Path) -> None:
    """As a user who may read and not write; root may do anything."""
    filled(tmp_path, 5)
    for path in [tmp_path, *tmp_path.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    modes = {p: p.stat().st_mode for p in tmp_path.parents if p.stat().st_mode & 0o005 != 0o005}
    script = f"""
import logging, os
logging.basicConfig(level=logging.WARNING, format="%(message)s")
from test_index_vectors import *
some(0, 7)  # imports what another user may not be able to
if os.getuid() == 0:
    os.setuid(65534)
store = VectorStore(DIM, Path({str(tmp_path)!r}), "me")
check(store, 0, 5)
for start in (5, 6):
    store.put(*some(start, 1)); store.flush()
check(store, 0, 7)
print("fine")
"""
    try:
        for parent, mode in modes.items():
            parent.chmod(mode | 0o055)
        out, err = python(script).communicate(timeout=60)  # type: ignore[attr-defined]
    finally:
        for parent, mode in modes.items():
            parent.chmod(mode)
        for path in [tmp_path, *tmp_path.rglob("*")]:
            path.chmod(0o755)
    assert out == "fine\n", err
    assert err.count("works in memory") == 1


def test_a_full_disk_is_said_once(python: Callable[..., object], tmp_path: Path) -> None:
    script = f"""
import logging, resource, signal
logging.basicConfig(level=logging.WARNING, format="%(message)s")
from test_index_vectors import *
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
store = VectorStore(DIM, Path({str(tmp_path)!r}), "me")
store.put(*some(0, 5)); store.flush()
store.put(*some(5, 500)); store.flush()
store.put(*some(505, 5)); store.flush()
check(store, 0, 510)
print("fine")
"""
    out, err = python(script).communicate(timeout=60)  # type: ignore[attr-defined]
    assert out == "fine\n", err
    assert err.count("works in memory") == 1
    assert len(files(tmp_path)) == len([p for p in tmp_path.rglob("*") if p.is_file()]) == 1
    check(VectorStore(DIM, tmp_path, "me"), 0, 5)


# --- merging ------------------------------------------------------------------------------


def test_small_files_are_merged_and_nothing_is_lost(tmp_path: Path) -> None:
    filled(tmp_path, 3000, *([2] * 60))
    assert len(files(tmp_path)) <= MANY_SEGMENTS + 1
    largest = max(files(tmp_path), key=lambda path: path.stat().st_size)
    check(VectorStore(DIM, tmp_path, "me"), 0, 3120)
    assert largest.stat().st_size < 3000 * (DIM * 4 + 32) + 4096  # it was not written again


def test_old_vectors_go_when_there_are_too_many(tmp_path: Path) -> None:
    filled(tmp_path, *([50] * 4))
    store = VectorStore(DIM, tmp_path, "me", kept=60)
    store.locate(some(0, 50)[0])  # the oldest, but asked for
    for start in range(200, 200 + 10 * MANY_SEGMENTS, 10):
        store.put(*some(start, 10))
        store.flush()
    fresh = VectorStore(DIM, tmp_path, "me")
    known = fresh.locate(some(0, 200 + 10 * MANY_SEGMENTS)[0]).known
    assert known[:50].all()
    assert not known[50:200].all()
    assert known[200:].all()


def test_memory_is_bounded_for_what_nobody_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_ROWS", 10)
    store = VectorStore(DIM, kept=50)
    first = store.locate(some(0, 0)[0])
    store.put(*some(0, 10))
    first = store.locate(some(0, 10)[0])
    for start in range(10, 200, 10):
        store.put(*some(start, 10))
    assert sum(block.used for block in store._blocks) <= 70
    assert first.take(np.arange(10)).tobytes() == some(0, 10)[1].tobytes()


def test_a_library_pays_for_its_own_vectors_only(tmp_path: Path) -> None:
    filled(tmp_path, 5000)
    store = VectorStore(DIM, tmp_path, "me")
    parts, _ = store.locate(some(100, 30)[0]).needed()
    assert sum(map(len, parts)) == 30
    check(store, 100, 30)
    check(store, 0, 5000)


def test_files_that_vanish_are_forgotten(tmp_path: Path) -> None:
    store = filled(tmp_path, 2048)
    held = store.locate(some(0, 10)[0])
    for path in files(tmp_path):
        path.unlink()
    store.locate(some(9000, 1)[0])
    store.put(*some(0, 4))
    store.flush()
    check(VectorStore(DIM, tmp_path, "me"), 0, 4)
    assert held.take(np.arange(10)).tobytes() == some(0, 10)[1].tobytes()


def test_folders_nobody_uses_are_removed(tmp_path: Path) -> None:
    filled(tmp_path, 4)
    (old,) = (tmp_path / "vectors").iterdir()
    other = old.with_name("other")
    other.mkdir()
    (other / "notes.txt").write_text("not ours")
    for folder in (old, other):
        os.utime(folder, (1.0, 1.0))
    VectorStore(DIM, tmp_path, "you").put(*some(0, 1))
    store = VectorStore(DIM, tmp_path, "you")
    store.put(*some(0, 1))
    store.flush()
    assert not old.exists()
    assert (other / "notes.txt").exists()
