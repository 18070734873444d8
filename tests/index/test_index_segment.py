"""Files of the index: what is written comes back, and what is not whole does not."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from skillcue_adapters.index.segment import (
    ALIGNMENT,
    MAGIC,
    ForeignFileError,
    SegmentError,
    read_segment,
    write_segment,
)

ARRAYS = {
    "keys": np.arange(64, dtype=np.uint8).reshape(2, 32),
    "rows": np.linspace(-1, 1, 10, dtype=np.float32).reshape(2, 5),
    "starts": np.array([0, 3], dtype=np.int64),
    "none": np.zeros((0, 7), dtype=np.int32),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_segment(tmp_path / "a.skcue", "kind", "me", ARRAYS)
    return tmp_path / "a.skcue"


def test_arrays_come_back_mapped_aligned_and_read_only(path: Path) -> None:
    found = read_segment(path, "kind", "me")
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)
        assert not found[name].flags.writeable
    assert found["rows"].ctypes.data % ALIGNMENT == 0
    assert list(path.parent.iterdir()) == [path]  # no half-written files


def test_it_is_refused_as_something_else(path: Path) -> None:
    for kind, identity in (("other", "me"), ("kind", "you")):
        with pytest.raises(SegmentError, match="something else"):
            read_segment(path, kind, identity)


def test_a_file_that_is_cut_off_anywhere_is_refused(path: Path) -> None:
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(SegmentError):
            read_segment(path, "kind", "me")


def test_no_flipped_bit_goes_unnoticed(path: Path) -> None:
    """But in the zeros between the arrays, which nobody reads."""
    whole = path.read_bytes()
    expected = {name: array.tobytes() for name, array in read_segment(path, "kind", "me").items()}
    unnoticed = 0
    for place in range(len(whole)):
        for bit in (0, 7):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << bit
            path.write_bytes(damaged)
            try:
                found = read_segment(path, "kind", "me")
            except SegmentError:
                continue
            unnoticed += 1
            assert whole[place] == 0
            assert {name: array.tobytes() for name, array in found.items()} == expected
    assert unnoticed < 2 * ALIGNMENT * len(ARRAYS)


def test_longer_files_are_refused(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(SegmentError, match="length"):
        read_segment(path, "kind", "me")


@pytest.mark.parametrize("content", [b"PK\x03\x04 a zip", b"\x93NUMPY", MAGIC[:-1] + b"9" * 20])
def test_files_of_other_programs_and_versions_are_foreign(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(ForeignFileError):
        read_segment(path, "kind", "me")


def test_nothing_is_ever_unpickled(path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, ...]:
            return Path.touch, (path.parent / "exploded",)

    for content in (pickle.dumps(Bomb()), path.read_bytes() + pickle.dumps(Bomb())):
        path.write_bytes(content)
        with pytest.raises(SegmentError):
            read_segment(path, "kind", "me")
    with pytest.raises(TypeError):
        write_segment(path.with_name("b"), "kind", "me", {"x": np.array([Bomb()])})
    assert not (path.parent / "exploded").exists()
