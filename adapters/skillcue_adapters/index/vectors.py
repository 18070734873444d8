"""Document vectors by content: each is held once, in memory or mapped from a folder."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from skillcue_adapters.index.folder import Segment, SegmentFolder
from skillcue_adapters.index.keys import KEY_BYTES, Keys, Positions, match_keys
from skillcue_adapters.index.segment import SegmentError
from skillcue_adapters.locks import ForkSafeLock

__all__ = [
    "BLOCK_ROWS",
    "FLUSH_ROWS",
    "FLUSH_S",
    "KEPT_VECTORS",
    "Block",
    "Located",
    "Rows",
    "VectorStore",
]

Rows = npt.NDArray[np.float32]
"""Vectors, one a row."""

BLOCK_ROWS = 8192
"""Vectors a block in memory."""

FLUSH_ROWS = 2048
"""So many new vectors are written to the folder at the latest."""

FLUSH_S = 5.0
"""So long new vectors stay unwritten at the longest while more are encoded, seconds."""

KEPT_VECTORS = 200_000
"""Vectors that are kept although nobody in this process has asked for them; of more, those that
were written first go. The same number is kept of those in memory that no retriever holds."""

_KIND = "vectors"
_MAPPED_ROWS = 1024
_ROW_BITS = 32

_numbers = itertools.count()


class Block:
    """Some vectors and their keys. Rows are added at the end and never change.

    Args:
        keys: Shape ``(n, KEY_BYTES)``.
        rows: Shape ``(n, dim)``.
        used: How many of them are filled.
        segment: Name of the file they are mapped from; None for a block in memory.
    """

    def __init__(self, keys: Keys, rows: Rows, used: int, segment: str | None = None) -> None:
        self.number = next(_numbers)
        self.keys = keys
        self.rows = rows
        self.used = used
        self.segment = segment
        self.asked = np.zeros(len(keys), dtype=np.bool_)

    def find(self, keys: Keys) -> Positions:
        """Row of each key, -1 where it is not here."""
        found = match_keys(self.keys[: self.used], keys)
        self.asked[found[found >= 0]] = True
        return found


@dataclass(frozen=True, slots=True)
class Located:
    """Where vectors are. What is located stays, whatever becomes of the store.

    Attributes:
        blocks: By number; further ones may be among them.
        addresses: Of each vector: block number and row, -1 for one that is not known.
    """

    blocks: Mapping[int, Block]
    addresses: Positions

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Which of them are known."""
        return self.addresses >= 0

    def take(self, positions: Positions) -> Rows:
        """A copy of some of the vectors, all of them known."""
        addresses = self.addresses[positions]
        numbers, rows = addresses >> _ROW_BITS, addresses & ((1 << _ROW_BITS) - 1)
        first = next(iter(self.blocks.values()))
        taken = np.empty((len(positions), first.rows.shape[1]), dtype=np.float32)
        for number in np.unique(numbers).tolist():
            inside = np.flatnonzero(numbers == number)
            taken[inside] = self.blocks[number].rows[rows[inside]]
        return taken

    def only(self, positions: Positions) -> Located:
        """Some of them."""
        return Located(self.blocks, self.addresses[positions])

    def then(self, other: Located) -> Located:
        """Both, one after the other."""
        blocks = {**self.blocks, **other.blocks}
        return Located(blocks, np.concatenate([self.addresses, other.addresses]))

    def needed(self) -> tuple[tuple[Rows, ...], Positions]:
        """The arrays that hold the vectors, and each vector's row in all of them together."""
        numbers, rows = self.addresses >> _ROW_BITS, self.addresses & ((1 << _ROW_BITS) - 1)
        wanted, block_of = np.unique(numbers, return_inverse=True)
        used = [self.blocks[number].used for number in wanted.tolist()]
        offsets = np.cumsum([0, *used], dtype=np.int64)
        parts = [self.blocks[n].rows[:u] for n, u in zip(wanted.tolist(), used, strict=True)]
        return tuple(parts), offsets[block_of] + rows


class VectorStore:
    """Remembers document vectors by content, so that no text is encoded twice.

    What it gives is bit by bit what was put. Safe to call from several threads; with a folder,
    from several processes as well.

    Args:
        dim: Length of a vector.
        cache_dir: Where they survive the process; None keeps them in memory.
        identity: Of the encoder: its vectors have a folder of their own.
        kept: See `KEPT_VECTORS`.
    """

    def __init__(
        self,
        dim: int,
        cache_dir: Path | None = None,
        identity: str = "",
        kept: int = KEPT_VECTORS,
    ) -> None:
        self.dim = dim
        self._kept = kept
        self._lock = ForkSafeLock()
        self._blocks: list[Block] = []  # newest last
        self._open = self._new_block(0)
        self._unwritten: list[tuple[Keys, Rows]] = []
        self._unwritten_since = 0.0
        self._folder: SegmentFolder | None = None
        if cache_dir is not None:
            self._folder = SegmentFolder(cache_dir, _KIND, f"{dim}:{identity}", self._check)

    def locate(self, keys: Keys) -> Located:
        """Where the vectors of `keys` are."""
        with self._lock:
            found = np.full(len(keys), -1, dtype=np.int64)
            self._find(keys, found, self._blocks)
            if (found < 0).any():
                self._find(keys, found, self._map_segments())
            thin = self._thin(found)
            if len(thin):
                # A library that uses little of a block would pay for all of it in every search.
                found[thin] = self._append(keys[thin], self._located(found).take(thin))
            return self._located(found)

    def put(self, keys: Keys, vectors: Rows) -> None:
        """Remember ``vectors[i]`` under ``keys[i]``; the array itself is not kept."""
        with self._lock:
            self._append(keys, vectors)
            if self._folder is None:
                return
            if not self._unwritten:
                self._unwritten_since = time.monotonic()
            self._unwritten.append((keys, np.array(vectors, dtype=np.float32)))
            waiting = sum(len(part) for part, _ in self._unwritten)
            late = time.monotonic() - self._unwritten_since > FLUSH_S
            if waiting >= FLUSH_ROWS or late:
                self.flush()

    def flush(self) -> None:
        """Write what is not written yet."""
        with self._lock:
            if self._folder is None or not self._unwritten:
                return
            keys = np.concatenate([part for part, _ in self._unwritten])
            rows = np.concatenate([part for _, part in self._unwritten])
            self._unwritten.clear()
            large = len(keys) >= _MAPPED_ROWS
            segment = self._folder.add({"keys": keys, "rows": rows}, durable=large)
            if segment is not None and large and self._open.used == len(keys):
                # The file is the copy that is kept.
                self._blocks.remove(self._open)
                self._blocks.append(_block_of(segment))
                self._open = self._new_block(0)
            self._folder.compact(self._merge)

    def _located(self, found: Positions) -> Located:
        needed = set(np.unique(found[found >= 0] >> _ROW_BITS).tolist())
        return Located({b.number: b for b in self._blocks if b.number in needed}, found)

    def _find(self, keys: Keys, found: Positions, blocks: Sequence[Block]) -> None:
        for block in reversed(blocks):
            missing = np.flatnonzero(found < 0)
            if not len(missing):
                return
            rows = block.find(keys[missing])
            known = rows >= 0
            found[missing[known]] = (block.number << _ROW_BITS) | rows[known]

    def _map_segments(self) -> list[Block]:
        """Blocks of files that are new; those of files that are gone are let go."""
        if self._folder is None:
            return []
        segments = {segment.name: segment for segment in self._folder.segments()}
        have = {block.segment for block in self._blocks}
        fresh = [_block_of(segments[name]) for name in segments if name not in have]
        kept = [b for b in self._blocks if b.segment is None or b.segment in segments]
        self._blocks = [*fresh, *kept]
        return fresh

    def _thin(self, found: Positions) -> Positions:
        """Which of the vectors lie in blocks that are less than half used."""
        numbers = found >> _ROW_BITS
        thin = np.zeros(len(found), dtype=np.bool_)
        for block in self._blocks:
            if block is not self._open and block.used > _MAPPED_ROWS:
                inside = numbers == block.number
                if 0 < np.count_nonzero(inside) < block.used / 2:
                    thin |= inside
        return np.flatnonzero(thin)

    def _append(self, keys: Keys, vectors: Rows) -> Positions:
        addresses = np.empty(len(keys), dtype=np.int64)
        done = 0
        while done < len(keys):
            if self._open.used == len(self._open.keys):
                self._open = self._new_block(len(keys) - done)
            block, start = self._open, self._open.used
            count = min(len(keys) - done, len(block.keys) - start)
            block.keys[start : start + count] = keys[done : done + count]
            block.rows[start : start + count] = vectors[done : done + count]
            block.asked[start : start + count] = True
            block.used += count  # last: what others see of it is whole
            addresses[done : done + count] = (block.number << _ROW_BITS) | np.arange(
                start, start + count
            )
            done += count
        return addresses

    def _new_block(self, rows: int) -> Block:
        size = max(rows, BLOCK_ROWS)
        keys = np.empty((size, KEY_BYTES), dtype=np.uint8)
        block = Block(keys, np.empty((size, self.dim), dtype=np.float32), 0)
        self._blocks.append(block)
        self._forget()
        return block

    def _forget(self) -> None:
        """Let go of the oldest blocks in memory that no retriever can need much of."""
        loose = [block for block in self._blocks[:-1] if block.segment is None]
        while sum(block.used for block in loose) > self._kept:
            self._blocks.remove(loose.pop(0))

    def _check(self, arrays: Mapping[str, npt.NDArray[Any]]) -> int:
        keys, rows = arrays["keys"], arrays["rows"]
        fits = keys.dtype == np.uint8 and rows.dtype == np.float32
        shapes = (keys.shape, rows.shape)
        if not fits or shapes != ((len(keys), KEY_BYTES), (len(keys), self.dim)):
            raise SegmentError(f"it holds arrays of shapes {shapes}")
        return len(keys)

    def _merge(self, segments: Sequence[Segment]) -> dict[str, npt.NDArray[Any]]:
        """Each vector once: those that were asked for, then the others, the newest first."""
        asked = {block.segment: block.asked for block in self._blocks}
        parts = list(reversed(segments))  # the small ones are the newer ones
        keys = np.concatenate([part.arrays["keys"] for part in parts])
        used = np.concatenate(
            [asked.get(part.name, np.zeros(part.items, dtype=np.bool_)) for part in parts]
        )
        order = np.argsort(~used, kind="stable")
        plain = np.ascontiguousarray(keys[order]).view(f"S{KEY_BYTES}").ravel()
        chosen = order[np.sort(np.unique(plain, return_index=True)[1])]
        chosen = chosen[: int(np.count_nonzero(used[chosen])) + self._kept]
        # Part by part: all rows at once would be in memory twice.
        rows = np.empty((len(chosen), self.dim), dtype=np.float32)
        start = 0
        for part in parts:
            inside = np.flatnonzero((chosen >= start) & (chosen < start + part.items))
            rows[inside] = part.arrays["rows"][chosen[inside] - start]
            start += part.items
        return {"keys": keys[chosen], "rows": rows}


def _block_of(segment: Segment) -> Block:
    return Block(
        segment.arrays["keys"], segment.arrays["rows"], segment.items, segment=segment.name
    )
