"""A progress bar for commands that take their time."""

from __future__ import annotations

import sys
import time
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

__all__ = ["Bar"]

REDRAW_S = 0.1
"""Shortest time between two drawings of the bar, seconds."""


class Bar:
    """Progress on stderr, on a terminal only.

    Drawn between two steps, not by a thread: that would take its time from what is timed.

    Args:
        wanted: Draw it at all.
    """

    def __init__(self, wanted: bool) -> None:
        self._progress: Progress | None = None
        self._task = TaskID(0)
        self._drawn = ("", 0.0)
        if wanted and sys.stderr.isatty():
            self._progress = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=Console(file=sys.stderr),
                transient=True,
                auto_refresh=False,
            )

    def update(self, what: str, done: int, total: int) -> None:
        """Called with what is done, how many are, and of how many; 0 of 0 when unknown."""
        if self._progress is None:
            return
        self._progress.update(self._task, description=what, completed=done, total=total or None)
        now = time.monotonic()
        if what != self._drawn[0] or now - self._drawn[1] >= REDRAW_S:
            self._progress.refresh()
            self._drawn = (what, now)

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
            self._task = self._progress.add_task("", total=None)
        return self

    def __exit__(self, *_error: object) -> None:
        if self._progress is not None:
            self._progress.stop()
