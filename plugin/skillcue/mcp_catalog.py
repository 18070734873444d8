"""The skills that are published as MCP resources: their URIs, manifests and files.

A skill is served at ``skill://`` and its folder in the library; the last segment is its name. The
URI depends on nothing but the skill, so that a hidden skill changes no other one. Everything is
read when it is asked for: digests are those of the bytes that a read gives now.
"""

from __future__ import annotations

import bisect
import hashlib
import logging
import mimetypes
import os
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import yaml

from skillcue.library.files import list_files
from skillcue.library.limits import DEFAULT_LIMITS, ReadLimits
from skillcue.library.opening import read_regular
from skillcue.library.snapshot import LibrarySnapshot
from skillcue.library.source import FolderSource
from skillcue.library.walker import SKILL_FILE
from skillcue.mcp_frontmatter import UnpublishedError, strict_frontmatter
from skillcue_adapters.locks import ForkSafeLock
from skillcue_hooks.contracts import Scope, Skill
from skillcue_hooks.errors import SkillLookupError

if TYPE_CHECKING:
    from skillcue.facade import SkillCue

__all__ = ["Child", "FileContent", "PublishedFile", "PublishedSkill", "SkillCatalog", "UnknownUri"]

SCHEME = "skill://"
MAX_FILES = 512
"""Most files of a published skill, SKILL.md included; a limit of the extension."""
MAX_BYTES = 16 * 1024 * 1024
"""Most bytes of all files of a published skill; a limit of the extension."""
PAGE = 50
"""Skills looked at for one page of a listing."""
TABLES_KEPT = 8
"""Tables of URIs that are remembered, one for each policy answer and library generation."""

_TYPES = mimetypes.MimeTypes()
"""The types that Python knows, without those of the machine: the same everywhere."""

log = logging.getLogger("skillcue.mcp")


class UnknownUri(Exception):
    """Nothing that the one who asks may see is served at the URI."""


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
class FileContent:
    """The bytes of one file, and what kind of file it is."""

    data: bytes
    mime_type: str


@dataclass(frozen=True, slots=True)
class Child:
    """An entry of a folder; `mime_type` is None for a folder."""

    uri: str
    name: str
    mime_type: str | None


class SkillCatalog:
    """The published skills of a library. Thread-safe; every call looks at the files.

    Args:
        cue: The library.
    """

    def __init__(self, cue: SkillCue) -> None:
        self._cue = cue
        self._tables: OrderedDict[tuple[str, str | None], _Table] = OrderedDict()
        self._lock = ForkSafeLock()

    def page(
        self, after: str, run_context: Mapping[str, Any]
    ) -> tuple[list[PublishedSkill], str | None]:
        """Skills by URI, and where the next page starts; None after the last.

        A page may hold fewer skills than `PAGE`: those that cannot be published are left out.

        Args:
            after: "" or what the page before gave.
            run_context: Run-time values for policy plugins.
        """
        snapshot, table = self._table(run_context)
        start = bisect.bisect_right(table.listed, after)
        roots = table.listed[start : start + PAGE]
        found = []
        for root in roots:
            try:
                found.append(_published(self._opened(root, snapshot, table)))
            except UnpublishedError as error:
                log.info("%s is not published as resources: %s", table.skills[root].id, error)
        return found, roots[-1] if start + PAGE < len(table.listed) else None

    def get(self, uri: str, run_context: Mapping[str, Any]) -> PublishedSkill:
        """The skill whose SKILL.md is at `uri`, listed or not.

        Raises:
            UnknownUri: There is none that may be seen.
        """
        snapshot, table = self._table(run_context)
        root, _, file = _canonical(uri).rpartition("/")
        if file != SKILL_FILE or root not in table.skills:
            raise UnknownUri(uri)
        try:
            return _published(self._opened(root, snapshot, table))
        except UnpublishedError:
            raise UnknownUri(uri) from None

    def read(self, uri: str, run_context: Mapping[str, Any]) -> FileContent:
        """The bytes of a file of a skill.

        Raises:
            UnknownUri: There is none that may be seen.
        """
        for opened, inner in self._opened_at(uri, run_context):
            if inner in opened.files:
                try:
                    return FileContent(opened.read(inner), _mime_type(inner))
                except UnpublishedError:
                    break
        raise UnknownUri(uri)

    def children(self, uri: str, run_context: Mapping[str, Any]) -> list[Child]:
        """What lies in the folder of a skill, or in a folder below it; sorted.

        Raises:
            UnknownUri: It is no such folder.
        """
        for opened, inner in self._opened_at(uri, run_context):
            prefix = f"{inner}/" if inner else ""
            inside = [path[len(prefix) :] for path in opened.files if path.startswith(prefix)]
            if inside:
                return _children(f"{opened.root}/{prefix}", inside)
        raise UnknownUri(uri)

    def _opened_at(self, uri: str, run_context: Mapping[str, Any]) -> Iterator[tuple[_Opened, str]]:
        """Skills at `uri` or at a folder above it, the deepest first, and the path inside."""
        snapshot, table = self._table(run_context)
        canonical = _canonical(uri)
        segments = canonical.removeprefix(SCHEME).split("/")
        for count in range(len(segments), 0, -1):
            root = SCHEME + "/".join(segments[:count])
            if root in table.skills:
                try:
                    opened = self._opened(root, snapshot, table)
                except UnpublishedError:
                    continue
                yield opened, unquote("/".join(segments[count:]))

    def _table(self, run_context: Mapping[str, Any]) -> tuple[LibrarySnapshot, _Table]:
        snapshot = self._cue.snapshot()
        scope = self._cue.scope(run_context, snapshot)
        key = (snapshot.generation, scope.key if scope else None)
        with self._lock:
            table = self._tables.get(key)
        if table is None:
            table = _Table(snapshot, scope)
            with self._lock:
                self._tables[key] = table
                while len(self._tables) > TABLES_KEPT:
                    self._tables.popitem(last=False)
        return snapshot, table

    def _opened(self, root: str, snapshot: LibrarySnapshot, table: _Table) -> _Opened:
        try:
            return _Opened(root, table.skills[root], snapshot, table.hidden)
        except (OSError, SkillLookupError) as error:
            raise UnpublishedError(f"it cannot be read: {error}") from None


class _Table:
    """Where the skills are that a policy allows.

    Attributes:
        skills: By the URI of their folder; of several at one place the first in precedence.
        listed: URIs of those that a model may find, sorted.
        hidden: Folders of the skills that the policy hides.
    """

    def __init__(self, snapshot: LibrarySnapshot, scope: Scope | None) -> None:
        self.skills: dict[str, Skill] = {}
        hidden = set()
        for skill in snapshot.skills:
            if scope is None or scope.allows(skill):
                self.skills.setdefault(_root(skill), skill)
            else:
                hidden.add(str(skill.path.parent))
        self.listed = sorted(root for root, skill in self.skills.items() if skill.searchable)
        self.hidden = frozenset(hidden)


class _Opened:
    """A skill with its header read and its files listed.

    Attributes:
        root: URI of its folder.
        skill: The skill.
        frontmatter: Verbatim.
        files: Paths inside the folder, SKILL.md first.
    """

    def __init__(
        self, root: str, skill: Skill, snapshot: LibrarySnapshot, hidden: frozenset[str]
    ) -> None:
        self.root = root
        self.skill = skill
        source = snapshot.source_of(skill)
        self._base = source.base_dir(skill)
        limits = source.limits if isinstance(source, FolderSource) else DEFAULT_LIMITS
        if self._base is None:
            self._document = _rendered(skill, source.read_body(skill))
        else:
            folders = [self._base, *([source.path] if isinstance(source, FolderSource) else [])]
            self._document = _read(skill.path, folders)
        self.frontmatter = strict_frontmatter(self._document, limits)
        if self.frontmatter["name"] != skill.name:
            raise UnpublishedError("it has another name now")
        self.files = (SKILL_FILE, *_beside(self._base, limits, hidden))

    def read(self, path: str) -> bytes:
        """The bytes of one of `files`."""
        if path == SKILL_FILE or self._base is None:
            return self._document
        try:
            return _read(self._base / path, [self._base])
        except OSError as error:
            raise UnpublishedError(f"{path} cannot be read: {error}") from None


def _published(opened: _Opened) -> PublishedSkill:
    files = []
    left = MAX_BYTES
    for path in opened.files:
        data = opened.read(path)
        left -= len(data)
        if left < 0:
            raise UnpublishedError(f"its files have more than {MAX_BYTES} bytes")
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        files.append(PublishedFile(f"{opened.root}/{_quoted(path)}", digest, len(data)))
    return PublishedSkill(opened.skill, files[0].uri, opened.frontmatter, tuple(files))


def _beside(base: Path | None, limits: ReadLimits, hidden: frozenset[str]) -> Sequence[str]:
    """The other files; none of a skill that the one who asks may not see."""
    if base is None:
        return ()
    listing = list_files(base, MAX_FILES - 1, limits)
    if not listing.complete:
        raise UnpublishedError(f"it has more than {MAX_FILES} files")
    return [path for path in listing.paths if not _is_hidden(base, path, hidden)]


def _is_hidden(base: Path, path: str, hidden: frozenset[str]) -> bool:
    folders = (folder.as_posix() for folder in PurePosixPath(path).parents)
    return any(os.path.join(base, folder) in hidden for folder in folders if folder != ".")


def _read(path: Path, folders: Sequence[Path]) -> bytes:
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    data, _ = read_regular(str(path), MAX_BYTES, [os.path.realpath(folder) for folder in folders])
    if len(data) > MAX_BYTES:
        raise UnpublishedError(f"{target.name} has more than {MAX_BYTES} bytes")
    return data


def _rendered(skill: Skill, body: str) -> bytes:
    """The file of a skill that is in no folder."""
    fields = {"name": skill.name, "description": skill.description}
    header = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=10_000)
    return f"---\n{header}---\n\n{body}".encode()


def _root(skill: Skill) -> str:
    """The URI of a skill's folder: the place that its id names, and its name."""
    place = skill.id.partition("@")[2]
    segments = [segment for segment in place.split("/") if segment not in ("", ".")]
    if segments[-1:] != [skill.name]:
        segments.append(skill.name)
    return SCHEME + "/".join(quote(segment, safe="") for segment in segments)


def _quoted(path: str) -> str:
    return quote(path, safe="/")


def _canonical(uri: str) -> str:
    """`uri` with every segment quoted as `_root` does.

    Raises:
        UnknownUri: It is not of this scheme, or a segment could be taken for something else.
    """
    if not uri.startswith(SCHEME) or "?" in uri or "#" in uri:
        raise UnknownUri(uri)
    segments = [unquote(segment) for segment in uri.removeprefix(SCHEME).split("/")]
    if any(segment in ("", ".", "..") or set(segment) & set("/\\\0") for segment in segments):
        raise UnknownUri(uri)
    return SCHEME + "/".join(quote(segment, safe="") for segment in segments)


def _children(prefix: str, paths: Sequence[str]) -> list[Child]:
    names = {path.partition("/")[::2] for path in paths}
    folders = {name for name, below in names if below}
    children = [
        Child(prefix_uri(prefix, name), name, None if name in folders else _mime_type(name))
        for name in sorted({name for name, _ in names})
    ]
    return children


def prefix_uri(prefix: str, name: str) -> str:
    return prefix + quote(name, safe="")


def _mime_type(path: str) -> str:
    if path.rpartition("/")[2] == SKILL_FILE:
        return "text/markdown"
    return _TYPES.guess_type(path)[0] or "application/octet-stream"
