"""``skillcue load``: the text of a skill, or of a file beside it."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from skillcue.commands.library import open_library
from skillcue.commands.messages import print_note
from skillcue.commands.output import write_json
from skillcue.commands.records import diagnostic_record, skill_record
from skillcue.library.characters import clean
from skillcue_hooks import Diagnostic, LoadedSkill
from skillcue_hooks.errors import ConfigurationError, SkillNotFoundError

__all__ = ["run"]

FILES_SHOWN = 20
"""Most files beside a skill that are named; ``--json`` has all of them."""


def run(args: Namespace) -> int:
    """Print one page on stdout, and what belongs to it on stderr."""
    if args.page < 1:
        raise ConfigurationError(f"--page is {args.page}.", "Pages count from 1.")
    with open_library(args) as library:
        try:
            loaded = library.cue.load(args.name, file=args.file, page=args.page)
        except SkillNotFoundError:
            _note_frozen(args.name, library.cue.diagnostics)
            raise
    if args.json:
        write_json(_document(loaded))
        return 0
    text = clean(loaded.text).text  # an escape sequence in a file must not reach the terminal
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
    sys.stdout.flush()  # the notes come after the text they are about
    _note(loaded)
    return 0


def _note_frozen(name: str, diagnostics: Sequence[Diagnostic]) -> None:
    """Say that a skill of that name is refused, where it is there and only differs from the lock."""
    for item in diagnostics:
        if not item.code.startswith("frozen-"):
            continue
        shown = item.message.partition("@")[0]
        if name.partition("@")[0] in (shown, unquote(shown)):
            print_note(f"It is frozen: {item.message}", item.remedy)


def _document(loaded: LoadedSkill) -> dict[str, Any]:
    return {
        "skill": skill_record(loaded.skill),
        "file": loaded.file,
        "page": loaded.page,
        "pages": loaded.pages,
        "shown": loaded.shown,
        "total": loaded.total,
        "base_dir": str(loaded.base_dir) if loaded.base_dir else None,
        "files": list(loaded.files),
        "trust": loaded.trust,
        "findings": [diagnostic_record(item) for item in loaded.findings],
        "text": loaded.text,
    }


def _note(loaded: LoadedSkill) -> None:
    if loaded.pages > 1:
        more = f"next: --page {loaded.page + 1}" if loaded.page < loaded.pages else "the last one"
        print_note(
            f"page {loaded.page} of {loaded.pages}, {loaded.shown} of {loaded.total} characters; "
            f"{more}"
        )
    if loaded.files and loaded.file is None:
        rest = len(loaded.files) - FILES_SHOWN
        more = f" and {rest} more" if rest > 0 else ""
        print_note(f"files (--file): {', '.join(loaded.files[:FILES_SHOWN])}{more}")
