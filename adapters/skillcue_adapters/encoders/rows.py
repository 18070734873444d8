"""Lists of texts to arrays of unit vectors, and who encodes which text."""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skillcue_hooks.errors import ConfigurationError

__all__ = [
    "MAX_THREADS",
    "Rows",
    "available_threads",
    "checked_texts",
    "encodable",
    "fill_rows",
    "report_cut",
    "runtime",
    "unit",
]

Rows = NDArray[np.float32]

MAX_THREADS = 8
"""Most threads that an encoder uses unless it is told otherwise."""

log = logging.getLogger("skillcue.encoders")


def available_threads() -> int:
    """Processors this process may use, at most `MAX_THREADS`."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    count = len(affinity(0)) if affinity else os.cpu_count() or 1
    return min(count, MAX_THREADS)


def checked_texts(texts: Sequence[str]) -> list[str]:
    """`texts` as a list.

    Raises:
        TypeError: One text was passed instead of a sequence, or an item is no text.
    """
    if isinstance(texts, str):
        raise TypeError("pass a list of texts, not one text: its characters would be encoded")
    found = list(texts)
    for item in found:
        if not isinstance(item, str):
            raise TypeError(f"cannot encode a {type(item).__name__}, only text")
    return found


def encodable(text: str) -> str:
    """`text` with lone surrogates replaced, which have no UTF-8 form and no tokenizer takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def unit(vector: NDArray[Any]) -> Rows:
    """`vector` with length 1, float32; a zero vector stays zero.

    Raises:
        ConfigurationError: It holds NaN or infinity.
    """
    row = np.asarray(vector, dtype=np.float64)
    length = float(np.sqrt(np.square(row).sum()))
    if not np.isfinite(length):
        raise ConfigurationError(
            "The encoder gave a vector with NaN or infinity.", "Its model file may be damaged."
        )
    return (row / length if length else row).astype(np.float32)


def fill_rows(
    rows: Rows, indexes: Sequence[int], encode: Callable[[int], Rows], threads: int
) -> None:
    """Set ``rows[i] = encode(i)`` for every index, in up to `threads` threads.

    Each text is encoded on its own by one thread, so the number of threads changes no bit.
    """

    def fill(index: int) -> None:
        rows[index] = encode(index)

    if threads < 2 or len(indexes) < 2:
        for index in indexes:
            fill(index)
        return
    with ThreadPoolExecutor(min(threads, len(indexes)), "skillcue-encode") as pool:
        for _ in pool.map(fill, indexes):
            pass


def report_cut(encoder: str, cut: int, total: int, max_tokens: int) -> None:
    """Say in the log that texts were longer than what the model reads."""
    if cut:
        log.info(
            "%s read the first %d tokens of %d of %d texts, which are longer",
            encoder,
            max_tokens,
            cut,
            total,
        )


def runtime(*packages: str) -> dict[str, str]:
    """Versions of packages, and the processor family: they decide the last bits of a vector."""
    return {"machine": platform.machine(), **{name: version(name) for name in packages}}
