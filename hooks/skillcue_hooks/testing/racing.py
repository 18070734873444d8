"""Searches from several threads at once, so interleaved that a race shows."""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import FrameType
from typing import Any

from skillcue_hooks.contracts import Hit, Query
from skillcue_hooks.protocols import Retriever

__all__ = ["search_together"]

LINES = 200
"""Lines of Python at which a search gives way to the others; the rest runs at full speed."""
PAUSE_S = 2e-4
"""How long it gives way, seconds; at every second line on average."""


def search_together(retriever: Retriever, queries: Sequence[Query]) -> list[tuple[Hit, ...]]:
    """The hits of each query, in order, all searched at the same time in a thread each.

    Raises:
        Exception: Whatever the first of the searches that raise does.
    """
    start = threading.Barrier(len(queries))
    with ThreadPoolExecutor(len(queries)) as pool:
        return list(pool.map(partial(_search, retriever, start), queries))


def _search(retriever: Retriever, start: threading.Barrier, query: Query) -> tuple[Hit, ...]:
    left = LINES
    chance = random.Random()

    def give_way(_frame: FrameType, _event: str, _argument: Any) -> Any:
        nonlocal left
        left -= 1
        # Pauses of one length would take the threads through the lines in step.
        time.sleep(chance.choice((0.0, PAUSE_S)))
        return give_way if left > 0 else None

    start.wait()
    before = sys.gettrace()
    sys.settrace(give_way)
    try:
        return retriever.search(query).hits
    finally:
        sys.settrace(before)
