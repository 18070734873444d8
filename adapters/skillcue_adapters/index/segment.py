"""Files of arrays that are never trusted: written whole, checked whole, mapped into memory.

Layout: `MAGIC`, the length and CRC-32 of the header, the header (JSON: what it is, of whom, and
name, type, shape, offset and CRC-32 of each array), then the arrays, each at a multiple of
`ALIGNMENT` bytes. There is no code in such a file and nothing is unpickled.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "ALIGNMENT",
    "MAGIC",
    "ForeignFileError",
    "SegmentError",
    "read_segment",
    "write_segment",
]

MAGIC = b"skcue\x00i1"
"""The last character is the version of the layout."""

ALIGNMENT = 64

MAX_HEADER_BYTES = 65_536

_LENGTHS = struct.Struct("<II")
_TYPES = frozenset({"|u1", "<i4", "<i8", "<f4"})

Arrays = Mapping[str, npt.NDArray[Any]]


class SegmentError(Exception):
    """The file is damaged, or holds something else than it should."""


class ForeignFileError(SegmentError):
    """The file was made by another program, or by another version of this one."""


def write_segment(
    path: Path, kind: str, identity: str, arrays: Arrays, durable: bool = False
) -> None:
    """Write `arrays` to `path`: other processes see the whole file or none.

    Args:
        path: Must not exist.
        kind: What the arrays are.
        identity: Whose they are, such as an encoder's fingerprint.
        arrays: C order, of one of the types bytes, int32, int64, float32.
        durable: Come back when it would survive a power cut. A file that did not is noticed and
            made anew, so that only what replaces other files need be.

    Raises:
        OSError: It cannot be written.
    """
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    header = _header(kind, identity, plain)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(MAGIC + _LENGTHS.pack(len(header), zlib.crc32(header)) + header)
            for array in plain.values():
                file.write(b"\0" * (-file.tell() % ALIGNMENT))
                file.write(_bytes(array))
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def read_segment(path: Path, kind: str, identity: str) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a file, mapped and read-only, after all of it has been checked.

    Raises:
        ForeignFileError: Another program or version has made it.
        SegmentError: It is damaged, or of another kind or identity.
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        begin = file.read(len(MAGIC) + _LENGTHS.size)
        if not MAGIC.startswith(begin[: len(MAGIC)]):
            raise ForeignFileError("it does not begin as an index does")
        if len(begin) < len(MAGIC) + _LENGTHS.size:
            raise SegmentError("it is cut off")
        content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    length, checksum = _LENGTHS.unpack_from(begin, len(MAGIC))
    header = bytes(content[len(begin) : len(begin) + min(length, MAX_HEADER_BYTES)])
    if zlib.crc32(header) != checksum:
        raise SegmentError("its header is damaged")
    described = json.loads(header)
    if (described["kind"], described["identity"]) != (kind, identity):
        raise SegmentError("it belongs to something else")
    found = {item["name"]: _array(content, item) for item in described["arrays"]}
    if size != described["size"]:
        raise SegmentError("it is of another length than it says")
    return found


def _header(kind: str, identity: str, arrays: Arrays) -> bytes:
    """Offsets depend on the length of the header, which holds them: the numbers are padded."""
    described: dict[str, Any] = {"kind": kind, "identity": identity, "size": 0, "arrays": []}
    for name, array in arrays.items():
        if array.dtype.str not in _TYPES:
            raise TypeError(f"arrays of type {array.dtype} are not stored")
        crc = zlib.crc32(_bytes(array))
        item = {"name": name, "type": array.dtype.str, "shape": list(array.shape), "crc": crc}
        described["arrays"].append({**item, "offset": 0})
    room = len(json.dumps(described)) + 20 * (len(arrays) + 1)
    end = len(MAGIC) + _LENGTHS.size + room
    for item, array in zip(described["arrays"], arrays.values(), strict=True):
        item["offset"] = end + -end % ALIGNMENT
        end = item["offset"] + array.nbytes
    described["size"] = end
    return json.dumps(described).encode("ascii").ljust(room)


def _bytes(array: npt.NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _array(content: memoryview, item: Mapping[str, Any]) -> npt.NDArray[Any]:
    kind, shape, offset = item["type"], tuple(item["shape"]), item["offset"]
    if kind not in _TYPES:
        raise SegmentError(f"it holds an array of type {kind!r}")
    end = offset + math.prod(shape) * np.dtype(kind).itemsize
    if end > len(content):
        raise SegmentError("it is cut off")
    if zlib.crc32(content[offset:end]) != item["crc"]:
        raise SegmentError(f"its {item['name']} are damaged")
    return np.frombuffer(content[offset:end], dtype=kind).reshape(shape)
