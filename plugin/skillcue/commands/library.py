"""The library a command works on: found, opened, read with a progress bar."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from skillcue.commands.language_model import open_model
from skillcue.commands.messages import print_error, print_note
from skillcue.commands.waiting import wait_ready
from skillcue.facade import SkillCue
from skillcue.library.source import FolderSource
from skillcue.locking.lock_file import LOCK_FILE
from skillcue.sources import SourceSpec
from skillcue_hooks.errors import ConfigurationError, LibraryNotFoundError

__all__ = [
    "DEFAULT_FOLDERS",
    "PROGRESS_FILES",
    "RETRIEVAL_OPTIONS",
    "SKILLS_ENV",
    "Opened",
    "cue_options",
    "named_sources",
    "open_indexed",
    "open_library",
]

SKILLS_ENV = "SKILLCUE_SKILLS"
"""Folders to use when ``--skills`` is not given, separated as in ``PATH``."""
DEFAULT_FOLDERS = ("skills", ".claude/skills", ".agents/skills")
"""Looked for in the working directory; the first that exists is the library."""
RETRIEVAL_OPTIONS = (
    "mode",
    "encoder",
    "bodies",
    "cross_encoder",
    "cache",
    "modes",
    "augment",
    "trust",
)
"""Options of a command that are arguments of `SkillCue` of the same name."""
PROGRESS_FILES = 500
"""From this many files to read, a bar is shown."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A library that has been read.

    Attributes:
        cue: The library.
        where: Its sources as they were named, for messages.
    """

    cue: SkillCue
    where: str

    @property
    def is_empty(self) -> bool:
        """There is no skill to be found."""
        return not self.cue.snapshot().library.skills

    def check_folders(self, cure: str) -> None:
        """Make sure that the skills are in folders or the like, where all of them can be read.

        Raises:
            ConfigurationError: They are in an index; the error carries `cure`.
        """
        if self.cue.snapshot().library.index is not None:
            raise ConfigurationError("The skills are in an index.", cure)

    def note_problems(self) -> None:
        """Say on stderr when the library is empty, or when files are missing from it."""
        errors = [item for item in self.cue.diagnostics if item.severity == "error"]
        if self.is_empty:
            cure = "A skill is a folder with a SKILL.md file; `skillcue doctor` says what is there."
            if errors:
                cure = f"{errors[0].path}: {errors[0].message} {errors[0].remedy}"
            print_error(f"There is no skill in {self.where}.", cure)
        elif errors:
            number = f"{len(errors)} problem{'s' if len(errors) > 1 else ''}"
            print_note(f"{number} in {self.where}: see `skillcue doctor`.")


@contextmanager
def open_indexed(args: Namespace, specs: Sequence[str] | None = None) -> Iterator[Opened]:
    """`open_library`, and its index completed: a command answers once, and in full.

    Raises:
        LibraryNotFoundError: As `open_library`.
        UnknownModeError: As `open_library`.
        ConfigurationError: As `open_library`, or a setting of the mode is wrong.
    """
    with open_library(args, specs) as library:
        if not library.is_empty:
            wait_ready(library.cue, args.progress)
        yield library


@contextmanager
def open_library(args: Namespace, specs: Sequence[str] | None = None) -> Iterator[Opened]:
    """The library of a command, read once, and without a cache unless ``args.cache`` names one:
    nothing is asked twice, and the times that `demo` shows are those of retrieval.

    Args:
        args: Parsed arguments: ``skills`` and ``progress``; ``mode``, ``encoder``, ``bodies``,
            ``cross_encoder``, ``cache``, ``llm``, ``price``, ``modes`` and ``augment`` where the
            command has them.
        specs: Sources instead of ``args.skills``.

    Raises:
        LibraryNotFoundError: A folder does not exist, or none was named and none is there.
        UnknownModeError: ``args.mode`` is not registered.
        ConfigurationError: There is no such encoder or language model, the mode needs one and none
            is named, or the cache is a file or missing.
    """
    named = list(specs or named_sources(args.skills))
    if not all(part.strip() for part in named):  # an empty path would be the working directory
        raise LibraryNotFoundError("--skills is empty.", "Name a folder: --skills path/to/skills")
    with _Bar(args.progress) as bar:
        options = cue_options(args)
        files = {"trust": options["trust"]} if "trust" in options else {}
        sources = [_source(spec, bar, files) for spec in named]
        cue = SkillCue(sources, recheck="manual", **{"cache": False, **options})
        cue.snapshot()
    with cue:
        yield Opened(cue, ", ".join(named))


def cue_options(args: Namespace) -> dict[str, Any]:
    """The arguments of `SkillCue` that the options of a command stand for, sources apart.

    Raises:
        ConfigurationError: There is no such language model, or ``--augment`` lacks its folder.
    """
    given = {name: getattr(args, name, None) for name in RETRIEVAL_OPTIONS}
    options: dict[str, Any] = {name: value for name, value in given.items() if value}
    if "augment" in options and "cache" not in options:
        raise ConfigurationError(
            "--augment needs a folder.",
            "Add --cache FOLDER, the folder of `skillcue augment --cache FOLDER`.",
        )
    model = [getattr(args, name, None) for name in ("llm", "price", "llm_timeout")]
    return {**options, **_lock_options(args), "llm": open_model(*model)}


def named_sources(named: Sequence[str] | None) -> list[str]:
    """What ``--skills``, the environment or the working directory say.

    Raises:
        LibraryNotFoundError: None of them names a folder.
    """
    if named:
        return list(named)
    listed = [part for part in os.environ.get(SKILLS_ENV, "").split(os.pathsep) if part]
    if listed:
        return listed
    for folder in DEFAULT_FOLDERS:
        if Path(folder).is_dir():
            return [folder]
    looked = ", ".join(f"./{folder}" for folder in DEFAULT_FOLDERS)
    raise LibraryNotFoundError(
        f"No skills: {SKILLS_ENV} is not set, and there is none of {looked} in {Path.cwd()}.",
        "Name a folder: --skills path/to/skills",
    )


def _lock_options(args: Namespace) -> dict[str, Any]:
    """``--lock`` and ``--frozen``, of which the second does with the usual lock file."""
    if not getattr(args, "frozen", None):
        held = args.lock if hasattr(args, "frozen") else None
        return {"lock": held} if held else {}
    return {"lock": args.lock or LOCK_FILE, "frozen": True}


def _source(spec: str, bar: _Bar, options: Mapping[str, Any]) -> SourceSpec:
    """A folder that reports progress, or the text itself for a plugin to open."""
    source = FolderSource(spec, progress=bar.update, **options)
    try:
        source.check()
    except LibraryNotFoundError:  # raised again by SkillCue when no plugin opens it
        return spec
    return source


class _Bar:
    """A progress bar on stderr that appears for large scans, on a terminal only."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted and sys.stderr.isatty()
        self._progress: Progress | None = None
        self._task = TaskID(0)

    def update(self, done: int, total: int) -> None:
        """Called with (files read, files to read)."""
        if not self._wanted or total < PROGRESS_FILES:
            return
        if self._progress is None:
            self._progress = Progress(
                TextColumn("reading skills"),
                BarColumn(),
                MofNCompleteColumn(),
                console=Console(file=sys.stderr),
                transient=True,
            )
            self._progress.start()
            self._task = self._progress.add_task("read", total=total)
        self._progress.update(self._task, completed=done, total=total)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._progress is not None:
            self._progress.stop()
