"""The files beside a skill, wherever they are: listed, named and read within the same bounds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from skillcue.library.files import (
    FileListing,
    IsClosed,
    decoded_file,
    list_files,
    read_file_data,
    resolve_file,
)
from skillcue.library.limits import limits_of
from skillcue_hooks.contracts import Skill
from skillcue_hooks.protocols import SkillSource

__all__ = ["SkillFiles", "file_data", "files_beside"]


class SkillFiles(Protocol):
    """The files beside one skill, by relative POSIX paths."""

    def listing(self, limit: int) -> FileListing:
        """At most `limit` of their paths."""
        ...

    def resolve(self, name: str) -> str:
        """The path that `name` means.

        Raises:
            SkillFileError: None or several fit.
        """
        ...

    def place(self, path: str) -> Path:
        """Where a file is, links resolved; a virtual path where it is on no disk."""
        ...

    def data(self, path: str) -> bytes:
        """The bytes of a file.

        Raises:
            SkillFileError: It cannot be read, or is too large.
        """
        ...

    def decoded(self, path: str, data: bytes) -> str:
        """Its bytes as text, hidden characters included.

        Raises:
            SkillFileError: It is no text.
        """
        ...


@dataclass(frozen=True, slots=True)
class _InFolder:
    """Files in the folder of a skill."""

    source: SkillSource
    skill: Skill
    folder: Path
    is_closed: IsClosed | None

    def listing(self, limit: int) -> FileListing:
        return list_files(self.folder, limit, limits_of(self.source), self.is_closed)

    def resolve(self, name: str) -> str:
        path = resolve_file(self.folder, name, limits_of(self.source), self.is_closed)
        return path.relative_to(self.folder.resolve()).as_posix()

    def place(self, path: str) -> Path:
        return (self.folder / path).resolve()

    def data(self, path: str) -> bytes:
        return file_data(self.source, self.skill, self.place(path))

    def decoded(self, path: str, data: bytes) -> str:
        return decoded_file(self.place(path), data)


def files_beside(
    source: SkillSource, skill: Skill, is_closed: IsClosed | None = None
) -> SkillFiles | None:
    """The files beside `skill`; None where its source has none.

    Args:
        source: Of the skill. One that has files and no folder gives them by its method
            ``skill_files(skill)``.
        skill: The skill.
        is_closed: Tells which folders below its own do not exist for whoever asks.
    """
    held = getattr(source, "skill_files", None)
    if held is not None:
        files: SkillFiles = held(skill)
        return files
    folder = source.base_dir(skill)
    return None if folder is None else _InFolder(source, skill, folder, is_closed)


def file_data(source: SkillSource, skill: Skill, path: Path) -> bytes:
    """All bytes of a file of `skill`, as its source hands them out.

    Raises:
        SkillFileError: It is too large, cannot be read, or is not the file that is pinned.
    """
    read = getattr(source, "read_file_data", None)  # a source that checks what it hands out
    return bytes(read(skill, path)) if read else read_file_data(path, limits_of(source))
