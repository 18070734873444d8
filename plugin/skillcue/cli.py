"""The ``skillcue`` command: one command a run, every outcome an exit code, no traceback.

Only the standard library is imported until a command is chosen, so that ``--help`` answers at once.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
import traceback
from argparse import Namespace
from collections.abc import Sequence
from typing import TextIO

from skillcue.commands.arguments import build_parser
from skillcue.commands.cures import typed_cure
from skillcue.commands.messages import print_error, readable_logs
from skillcue_hooks.errors import SkillcueError, SkillLookupError

__all__ = ["EXIT_BROKEN_PIPE", "EXIT_INTERRUPTED", "EXIT_NOTHING", "EXIT_OK", "EXIT_USAGE", "main"]

EXIT_OK = 0
EXIT_NOTHING = 1
"""Nothing was found, or `doctor` found problems."""
EXIT_USAGE = 2
"""The command line or the set-up is wrong; the message says what to do."""
EXIT_INTERRUPTED = 130
"""Ctrl-C: 128 and the number of the signal, as shells report it."""
EXIT_BROKEN_PIPE = 141
"""The reader of the output went away, as in ``skillcue list | head``."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: Arguments without the program's name; None takes those of the process.

    Returns:
        The exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        _never_fail_on_characters(stream)
    try:
        code = _run(argv)
        sys.stdout.flush()  # a reader that went away shows here, not after the last handler
        return code
    except KeyboardInterrupt:
        print_error("Interrupted.", "")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _stop_writing()
        return EXIT_BROKEN_PIPE


def _run(argv: Sequence[str] | None) -> int:
    try:
        args = build_parser().parse_args(argv)
    except SystemExit as stop:  # --help, --version, wrong usage
        return stop.code if isinstance(stop.code, int) else EXIT_USAGE
    with readable_logs(tracebacks=args.traceback):
        try:
            return int(importlib.import_module(f"skillcue.commands.{args.module}").run(args))
        except SkillcueError as error:
            return _failed(error, args)
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001  # plugins, frameworks, models: anything
            return _crashed(error, args)


def _failed(error: SkillcueError, args: Namespace) -> int:
    if args.traceback:
        traceback.print_exception(error)
    print_error(error.message, typed_cure(error.cure))
    return EXIT_NOTHING if isinstance(error, SkillLookupError) else EXIT_USAGE


def _crashed(error: Exception, args: Namespace) -> int:
    if args.traceback:
        traceback.print_exception(error)
    print_error(
        f"{type(error).__name__}: {error}",
        "This was not expected; --traceback shows where it comes from.",
    )
    return EXIT_USAGE


def _never_fail_on_characters(stream: TextIO) -> None:
    """Skill files hold any character, terminals do not: show ``\\xe9`` rather than stop."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")


def _stop_writing() -> None:
    """Let the interpreter's own last flush go nowhere instead of failing again."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # stdout is no file of this process, such as in a test
        return
