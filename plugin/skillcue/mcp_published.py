"""One skill as MCP publishes it: its files, read as they are now, and their digests."""

from __future__ import annotations

import hashlib
import mimetypes
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from skillcue.library.beside import files_beside
from skillcue.library.files import IsClosed, list_files
from skillcue.library.limits import DEFAULT_LIMITS, ReadLimits
from skillcue.library.opening import read_regular
from skillcue.library.source import FolderSource
from skillcue.library.walker import SKILL_FILE
from skillcue.mcp_frontmatter import UnpublishedError, strict_frontmatter
from skillcue_hooks.contracts import Skill
from skillcue_hooks.errors import SkillFileError
from skillcue_hooks.protocols import SkillSource

__all__ = ["Child", "OpenedSkill", "PublishedFile", "PublishedSkill", "mime_type"]

MAX_FILES = 512
"""Most files of a published skill, SKILL.md included; a limit of the extension."""
MAX_BYTES = 16 * 1024 * 1024
"""Most bytes of all files of a published skill; a limit of the extension."""

_TYPES = mimetypes.MimeTypes()
"""The types that Python knows, without those of the machine: the same everywhere."""


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file of a skill.

    Attributes:
        uri: Where it is read.
        digest: ``sha256:`` and the hex digest of its bytes.
        size: Its length in bytes.
    """

    uri: str
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class PublishedSkill:
    """What a host is told of a skill.

    Attributes:
        skill: The skill.
        uri: Where its SKILL.md is read.
        frontmatter: The header of that file, verbatim.
        files: All its files, SKILL.md first.
    """

    skill: Skill
    uri: str
    frontmatter: Mapping[str, Any]
    files: tuple[PublishedFile, ...]


@dataclass(frozen=True, slots=True)
class Child:
    """An entry of a folder; `mime_type` is None for a folder."""

    uri: str
    name: str
    mime_type: str | None


class OpenedSkill:
    """A skill whose SKILL.md is read and whose files are listed.

    Files are found as ``skill_load`` finds them: nothing hidden, no link out of the folder. A
    skill that is in no folder has a SKILL.md made of its name, description and body.

    Args:
        root: URI of its folder.
        skill: The skill.
        source: Where it comes from.
        is_closed: Tells of the folders of skills that the one who asks may not see.

    Raises:
        UnpublishedError: It does not follow the specification, or has too many files.
        OSError: It cannot be read.
    """

    def __init__(self, root: str, skill: Skill, source: SkillSource, is_closed: IsClosed) -> None:
        self.root = root
        self.skill = skill
        self._check = getattr(source, "check_file", None)  # of a source that is pinned
        check_skill = getattr(source, "check_skill", None)
        if check_skill is not None:
            try:
                check_skill(skill)
            except SkillFileError as error:
                raise UnpublishedError(error.message) from None
        self._base = source.base_dir(skill)
        limits: ReadLimits = getattr(source, "limits", DEFAULT_LIMITS)
        self._beside = None if self._base else files_beside(source, skill)
        if self._base is None:
            self._document = _rendered(skill, source.read_body(skill))
        else:  # a linked SKILL.md may lead to elsewhere in its source
            inside = [source.path] if isinstance(source, FolderSource) else []
            self._document = self._checked(
                skill.path.name, _read(skill.path, [self._base, *inside])
            )
        self.frontmatter = strict_frontmatter(self._document, limits)
        if self.frontmatter["name"] != skill.name:
            raise UnpublishedError("it has got another name")
        self.files = (SKILL_FILE, *self._others(limits, is_closed))

    def read(self, path: str) -> bytes:
        """The bytes of one of `files`.

        Raises:
            UnpublishedError: It cannot be read, or is too large.
        """
        if path == SKILL_FILE:
            return self._document
        if self._beside is not None:
            try:
                return self._beside.data(path)
            except SkillFileError as error:
                raise UnpublishedError(error.message) from None
        if self._base is None:
            return self._document
        try:
            return self._checked(path, _read(self._base / path, [self._base]))
        except OSError as error:
            raise UnpublishedError(f"{path} cannot be read: {error}") from None

    def _others(self, limits: ReadLimits, is_closed: IsClosed) -> Sequence[str]:
        if self._base is not None:
            listing = list_files(self._base, MAX_FILES - 1, limits, is_closed)
        elif self._beside is not None:
            listing = self._beside.listing(MAX_FILES - 1)
        else:
            return ()
        if not listing.complete:
            raise UnpublishedError(f"it has more than {MAX_FILES} files")
        return listing.paths

    def _checked(self, path: str, data: bytes) -> bytes:
        if self._check is not None:
            try:
                self._check(self.skill, path, data)
            except SkillFileError as error:
                raise UnpublishedError(error.message) from None
        return data

    def published(self) -> PublishedSkill:
        """The manifest.

        Raises:
            UnpublishedError: A file cannot be read, or all together are too large.
        """
        files = []
        left = MAX_BYTES
        for path in self.files:
            data = self.read(path)
            left -= len(data)
            if left < 0:
                raise UnpublishedError(f"its files have more than {MAX_BYTES} bytes")
            digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
            files.append(PublishedFile(self._uri(path), digest, len(data)))
        return PublishedSkill(self.skill, files[0].uri, self.frontmatter, tuple(files))

    def children(self, folder: str) -> list[Child]:
        """What lies in a folder of the skill, "" for its own; sorted, none where there is none."""
        prefix = f"{folder}/" if folder else ""
        below = [path[len(prefix) :] for path in self.files if path.startswith(prefix)]
        folders = {name for name, inner, _ in (path.partition("/") for path in below) if inner}
        return [
            Child(self._uri(prefix + name), name, None if name in folders else mime_type(name))
            for name in sorted({path.partition("/")[0] for path in below})
        ]

    def _uri(self, path: str) -> str:
        return f"{self.root}/{quote(path, safe='/')}"


def mime_type(path: str) -> str:
    """The MIME type that the name of a file stands for."""
    if path.rpartition("/")[2] == SKILL_FILE:
        return "text/markdown"
    return _TYPES.guess_type(path)[0] or "application/octet-stream"


def _read(path: Path, folders: Sequence[Path]) -> bytes:
    data, _ = read_regular(str(path), MAX_BYTES, [os.path.realpath(folder) for folder in folders])
    if len(data) > MAX_BYTES:
        raise UnpublishedError(f"{path.name} has more than {MAX_BYTES} bytes")
    return data


def _rendered(skill: Skill, body: str) -> bytes:
    fields = {"name": skill.name, "description": skill.description}
    header = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=10_000)
    return f"---\n{header}---\n\n{body}".encode()
