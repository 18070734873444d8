"""Numbers on their way to the database and from it, in the binary forms of pgvector and PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from psycopg.adapt import Dumper
from psycopg.postgres import types
from psycopg.pq import Format
from psycopg.types.string import ByteaBinaryLoader

from skillcue_adapters.postgres.migrations import Connection, Names

__all__ = ["Longs", "Reals", "SparseVector", "Vector", "register_types", "vectors_of"]


@dataclass(frozen=True, slots=True)
class Vector:
    """A parameter of type ``vector``; float32, one dimension."""

    numbers: npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SparseVector:
    """A parameter of type ``sparsevec``, in its binary form."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Longs:
    """A parameter of type ``bigint[]``. A list would be written number by number, as text."""

    numbers: Sequence[int]


@dataclass(frozen=True, slots=True)
class Reals:
    """A parameter of type ``real[]``; see `Longs`."""

    numbers: Sequence[float]


def register_types(connection: Connection, names: Names) -> None:
    """Make a connection understand the parameters of this module, and leave JSON as it is."""
    vector, sparse = names.types
    adapters = connection.adapters
    adapters.register_dumper(Vector, type("_OwnVector", (_VectorDumper,), {"oid": vector}))
    adapters.register_dumper(SparseVector, type("_OwnSparse", (_SparseDumper,), {"oid": sparse}))
    adapters.register_dumper(Longs, _LongsDumper)
    adapters.register_dumper(Reals, _RealsDumper)
    # The one of psycopg, which a program in C stands for where there is one.
    adapters.register_loader("json", ByteaBinaryLoader)
    adapters.register_loader(vector, ByteaBinaryLoader)


def vectors_of(rows: Sequence[bytes]) -> npt.NDArray[np.float32]:
    """Vectors as they came, all of one length, as rows."""
    if not rows:
        return np.zeros((0, 0), dtype=np.float32)
    data = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), -1)
    return np.ascontiguousarray(data[:, 4:]).view(">f4").astype(np.float32)


class _VectorDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Any) -> bytes:
        numbers = np.asarray(obj.numbers, dtype=">f4")
        return np.array([len(numbers), 0], dtype=">i2").tobytes() + numbers.tobytes()


class _SparseDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Any) -> bytes:
        data: bytes = obj.data
        return data


class _ArrayDumper(Dumper):
    """An array of one dimension without nulls."""

    format = Format.BINARY
    number: str
    type_name: str

    def dump(self, obj: Any) -> bytes:
        values = np.asarray(obj.numbers, dtype=self.number)
        items = np.empty(len(values), dtype=[("bytes", ">i4"), ("value", self.number)])
        items["bytes"] = values.itemsize
        items["value"] = values
        # Dimensions, no nulls, type of a number; length and lower bound of the dimension.
        header = [1, 0, types[self.type_name].oid, len(values), 1]
        return np.array(header, dtype=">i4").tobytes() + items.tobytes()


class _LongsDumper(_ArrayDumper):
    oid = types["int8"].array_oid
    number = ">i8"
    type_name = "int8"


class _RealsDumper(_ArrayDumper):
    oid = types["float4"].array_oid
    number = ">f4"
    type_name = "float4"
