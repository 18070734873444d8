"""Waiting for an index, with a progress bar."""

from __future__ import annotations

import sys
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from skillcue.facade import SkillCue

__all__ = ["LOOK_S", "wait_ready"]

LOOK_S = 0.1
"""How often the bar moves, seconds."""


def wait_ready(cue: SkillCue, progress: bool) -> bool:
    """Wait for the index in another thread, so that Ctrl-C is heard and the bar moves.

    Args:
        cue: Whose index; on Ctrl-C it is closed, after the batch at hand.
        progress: Show a bar, on a terminal.

    Returns:
        Whether the index is complete; see `SkillCue.wait_ready`.
    """
    with ThreadPoolExecutor(1, "skillcue-index") as pool, _Bar(progress) as bar:
        ready = pool.submit(cue.wait_ready)
        try:
            while not _done(ready):
                bar.update(cue)
        except KeyboardInterrupt:
            cue.close()  # the encoder stops after the batch at hand
            raise
        return ready.result()


def _done(ready: Future[bool]) -> bool:
    try:
        ready.result(LOOK_S)
    except NotYet:
        return ready.done()
    return True


class _Rate(ProgressColumn):
    """Texts a second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:,.0f}/s" if task.speed else "-/s", style="dim")


class _Bar:
    """A progress bar on stderr, on a terminal only, while there is something to encode."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted and sys.stderr.isatty()
        self._progress: Progress | None = None
        self._task = TaskID(0)

    def update(self, cue: SkillCue) -> None:
        """Show how far `cue` is."""
        state = cue.progress() if self._wanted else None
        if state is None or not state.new:
            return
        if self._progress is None:
            self._progress = Progress(
                TextColumn("encoding"),
                BarColumn(),
                MofNCompleteColumn(),
                _Rate(),
                TimeRemainingColumn(),
                console=Console(file=sys.stderr),
                transient=True,
            )
            self._progress.start()
            self._task = self._progress.add_task("encode", total=state.new)
        self._progress.update(self._task, completed=state.encoded)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._progress is not None:
            self._progress.stop()
