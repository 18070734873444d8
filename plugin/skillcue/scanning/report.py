"""What the rules found in a skill, as diagnostics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from skillcue.library.codes import diagnostic
from skillcue.push.render import escape
from skillcue.scanning.scan import EACH_CODE, scan_name, scan_text
from skillcue.scanning.text import Found
from skillcue_hooks import Diagnostic, Skill

__all__ = ["file_findings", "findings"]

SHOWN_CHARS = 100
"""Longest part of a text that a message repeats, characters."""


def findings(skill: Skill, text: str) -> tuple[Diagnostic, ...] | None:
    """What is hostile or odd on the face of a skill; None where nothing is.

    Args:
        skill: The skill; its names are looked at.
        text: Its whole file.
    """
    found = (*scan_name((skill.name, *skill.aliases)), *scan_text(text))
    return _reported(skill, skill.path, found)


def file_findings(skill: Skill, path: Path, text: str) -> tuple[Diagnostic, ...] | None:
    """What is hostile or odd on the face of a file beside a skill; None where nothing is.

    Args:
        skill: The skill.
        path: The file.
        text: The whole of it.
    """
    return _reported(skill, path, scan_text(text))


def _reported(skill: Skill, path: Path, found: Sequence[Found]) -> tuple[Diagnostic, ...] | None:
    last = {item.code: item for item in found}
    counts = Counter(item.code for item in found)
    reported = []
    for item in found:
        more = " and more" if counts[item.code] >= EACH_CODE and last[item.code] is item else ""
        message = f"{skill.id}: {escape(item.what, SHOWN_CHARS)}{more}"
        reported.append(diagnostic(item.code, path, message, item.line))
    return tuple(reported) or None
