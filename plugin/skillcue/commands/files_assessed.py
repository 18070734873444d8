"""What assessors say of all files beside the skills of a library."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from skillcue.facade import SkillCue
from skillcue.file_assessment import assess_file
from skillcue.library.beside import file_data
from skillcue.library.files import decoded_file, list_files
from skillcue.library.limits import limits_of
from skillcue.library.protocols import Snapshot
from skillcue_hooks import Diagnostic, Skill
from skillcue_hooks.errors import SkillFileError

__all__ = ["FilesAssessed", "assess_files"]


@dataclass(frozen=True, slots=True)
class FilesAssessed:
    """What came of it.

    Attributes:
        assessed: Text files that were looked at.
        left_out: Files that no agent gets as text: not text, too large, refused or unreadable.
        findings: Of all of them.
    """

    assessed: int
    left_out: int
    findings: tuple[Diagnostic, ...]


def assess_files(cue: SkillCue, update: Callable[[str, int, int], None]) -> FilesAssessed:
    """Ask about every file that can be loaded with a skill, except those that are skills.

    A file that lies in the folders of several skills counts as one of the innermost.

    Args:
        cue: The library.
        update: Called with what is done, how many are, and of how many.
    """
    snapshot = cue.snapshot()
    files = list(_files(snapshot))
    findings: list[Diagnostic] = []
    left_out = 0
    for done, (skill, path) in enumerate(files):
        update("assessing files", done, len(files))
        try:
            text = decoded_file(path, file_data(snapshot.source_of(skill), skill, path))
        except SkillFileError:
            left_out += 1
        else:
            findings += assess_file(cue.plugins, skill, path, text)
    return FilesAssessed(len(files) - left_out, left_out, tuple(findings))


def _files(snapshot: Snapshot) -> Iterator[tuple[Skill, Path]]:
    """Each file once, links resolved."""
    seen = {os.path.realpath(skill.path) for skill in snapshot.skills}
    for skill, base_dir in sorted(_folders(snapshot), key=lambda pair: -len(pair[1].parts)):
        limits = limits_of(snapshot.source_of(skill))
        is_closed = snapshot.closed_folders(skill, None)
        for name in list_files(base_dir, limits.listed_entries, limits, is_closed).paths:
            path = os.path.realpath(base_dir / name)
            if path not in seen:
                seen.add(path)
                yield skill, Path(path)


def _folders(snapshot: Snapshot) -> Iterator[tuple[Skill, Path]]:
    for skill in snapshot.skills:
        base_dir = snapshot.source_of(skill).base_dir(skill)
        if base_dir is not None:
            yield skill, base_dir
