"""``skillcue index``: vectors and terms of a library, made ahead of time and kept."""

from __future__ import annotations

import time
from argparse import Namespace
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.filesize import decimal

from skillcue.commands.library import Opened, open_library
from skillcue.commands.messages import print_error, print_note
from skillcue.commands.output import Screen, write_json
from skillcue.commands.waiting import wait_ready
from skillcue.facade import SkillCue
from skillcue_hooks.errors import ConfigurationError

__all__ = ["run"]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What was done.

    Attributes:
        mode: Whose index it is.
        skills: Skills of the library.
        texts: Texts that mode encodes, each once; 0 for a mode without vectors.
        encoded: Those that were encoded now.
        known: Those that were there already.
        complete: Nothing is missing.
        bytes: Size of the index files in the folder.
        seconds: Time it took, the reading of the library apart.
    """

    mode: str
    skills: int
    texts: int
    encoded: int
    known: int
    complete: bool
    bytes: int
    seconds: float


def run(args: Namespace) -> int:
    """Make the index; 1 when the library is empty, the encoder failed or nothing was kept."""
    if not args.cache:
        raise ConfigurationError("Where shall the index be?", "Name a folder: --cache FOLDER")
    with open_library(args) as library:
        library.note_problems()
        if library.is_empty:
            return 1
        outcome, failure = _index(library, Path(args.cache).expanduser(), args.progress)
    if args.json:
        write_json(asdict(outcome))
    else:
        _show(outcome, args.cache)
    if not outcome.complete:
        print_error(f"Encoding failed: {failure}", "What is encoded is kept; run it again.")
        return 1
    if outcome.texts and not outcome.bytes:
        print_error(f"Nothing is kept in {args.cache}.", "Name a folder that can be written.")
        return 1
    return 0


def _index(library: Opened, cache: Path, progress: bool) -> tuple[_Outcome, str | None]:
    from skillcue_adapters.index.folder import index_bytes  # costs numpy only where used
    from skillcue_adapters.scoring import EncodingProgress

    cue = library.cue
    started = time.perf_counter()
    try:
        complete = wait_ready(cue, progress)
    except KeyboardInterrupt:
        _note_interruption(cue)
        raise
    state = cue.progress() or EncodingProgress()
    outcome = _Outcome(
        mode=cue.default_mode,
        skills=len(cue.snapshot().library.skills),
        texts=state.texts,
        encoded=state.encoded,
        known=state.texts - state.new,
        complete=complete,
        bytes=index_bytes(cache),
        seconds=round(time.perf_counter() - started, 3),
    )
    return outcome, state.failure


def _note_interruption(cue: SkillCue) -> None:
    state = cue.progress()
    if state is not None and state.texts:
        done = state.texts - state.new + state.encoded
        print_note(f"{done:,} of {state.texts:,} texts are kept; run it again to go on.")


def _show(outcome: _Outcome, folder: str) -> None:
    screen = Screen()
    if not outcome.texts and outcome.complete:
        screen.show(f"Mode {outcome.mode} encodes nothing.")
    elif not outcome.encoded and outcome.complete:
        screen.show(f"Nothing to do: all {outcome.texts:,} texts were there.")
    else:
        screen.show(
            f"{outcome.texts:,} texts of {outcome.skills:,} skills: {outcome.encoded:,} encoded, "
            f"{outcome.known:,} were there already."
        )
    screen.show(f"{decimal(outcome.bytes)} in {folder}, {outcome.seconds:.1f} s.")
