"""The skills that are published as MCP resources, by their URIs.

A skill is served at ``skill://`` and its folder in the library; the last segment is its name. The
URI depends on nothing but the skill, so that a hidden skill changes no other one. Files are read
when they are asked for: digests are those of the bytes that a read gives now.
"""

from __future__ import annotations

import bisect
import logging
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from skillcue.library.naming import quote_name
from skillcue.library.protocols import Snapshot
from skillcue.library.walker import SKILL_FILE
from skillcue.mcp_frontmatter import UnpublishedError
from skillcue.mcp_published import Child, OpenedSkill, PublishedSkill, mime_type
from skillcue_adapters.locks import ForkSafeLock
from skillcue_hooks.contracts import Scope, Skill

if TYPE_CHECKING:
    from skillcue.facade import SkillCue

__all__ = ["SCHEME", "FileContent", "SkillCatalog", "UnknownUriError"]

SCHEME = "skill://"
PAGE = 50
"""Skills looked at for one page of a listing."""
TABLES_KEPT = 8
"""Tables of URIs that are remembered, one for each policy answer and library generation."""

log = logging.getLogger("skillcue.mcp")


class UnknownUriError(Exception):
    """Nothing that the one who asks may see is served at the URI."""


@dataclass(frozen=True, slots=True)
class FileContent:
    """The bytes of one file, and its MIME type."""

    data: bytes
    mime_type: str


class SkillCatalog:
    """The published skills of a library. Thread-safe; every call looks at the files.

    Args:
        cue: The library.
    """

    def __init__(self, cue: SkillCue) -> None:
        self._cue = cue
        self._tables: OrderedDict[tuple[str, tuple[str, str] | None], _Places] = OrderedDict()
        self._lock = ForkSafeLock()

    def page(
        self, after: str, run_context: Mapping[str, Any]
    ) -> tuple[list[PublishedSkill], str | None]:
        """Skills by URI, and what the next page comes after; None after the last.

        A page may hold fewer skills than `PAGE`: those that cannot be published are left out.

        Args:
            after: "" or what the page before gave.
            run_context: Run-time values for policy plugins.
        """
        table = self._table(run_context)
        skills, last = table.page(after)
        found = []
        for skill in skills:
            try:
                found.append(table.open(_root(skill)).published())
            except UnpublishedError as error:
                log.info("%s is not published as resources: %s", skill.id, error)
        return found, last

    def get(self, uri: str, run_context: Mapping[str, Any]) -> PublishedSkill:
        """The skill whose SKILL.md is at `uri`, listed or not.

        Raises:
            UnknownUriError: There is none that may be seen.
        """
        root, _, file = _canonical(uri).rpartition("/")
        if file != SKILL_FILE:
            raise UnknownUriError(uri)
        try:
            return self._table(run_context).open(root).published()
        except UnpublishedError:
            raise UnknownUriError(uri) from None

    def read(self, uri: str, run_context: Mapping[str, Any]) -> FileContent:
        """The bytes of a file of a skill.

        Raises:
            UnknownUriError: There is none that may be seen.
        """
        for opened, path in self._opened(uri, run_context):
            if path in opened.files:
                try:
                    return FileContent(opened.read(path), mime_type(path))
                except UnpublishedError as error:
                    raise UnknownUriError(uri) from error
        raise UnknownUriError(uri)

    def children(self, uri: str, run_context: Mapping[str, Any]) -> list[Child]:
        """What lies in the folder of a skill, or in a folder below it; sorted.

        Raises:
            UnknownUriError: It is no such folder.
        """
        for opened, path in self._opened(uri, run_context):
            if children := opened.children(path):
                return children
        raise UnknownUriError(uri)

    def _opened(
        self, uri: str, run_context: Mapping[str, Any]
    ) -> Iterator[tuple[OpenedSkill, str]]:
        """The skills in whose folder `uri` lies, the innermost first, and the path in it."""
        table = self._table(run_context)
        segments = _canonical(uri).removeprefix(SCHEME).split("/")
        for count in range(len(segments), 0, -1):
            try:
                opened = table.open(SCHEME + "/".join(segments[:count]))
            except UnpublishedError:
                continue
            yield opened, unquote("/".join(segments[count:]))

    def _table(self, run_context: Mapping[str, Any]) -> _Places:
        snapshot, scope = self._cue.seen(run_context)
        key = (snapshot.generation, (scope.key, scope.answers) if scope else None)
        with self._lock:
            known = self._tables.get(key)
        if known is not None:
            return known
        table = (
            _Table(snapshot, scope) if snapshot.library.index is None else _Looked(snapshot, scope)
        )
        with self._lock:
            self._tables[key] = table
            while len(self._tables) > TABLES_KEPT:
                self._tables.popitem(last=False)
        return table


class _Places(ABC):
    """Where the skills are that a policy allows."""

    def __init__(self, snapshot: Snapshot, scope: Scope | None) -> None:
        self._snapshot = snapshot
        self._scope = scope

    @abstractmethod
    def page(self, after: str) -> tuple[Sequence[Skill], str | None]:
        """The skills that a model may find behind `after`, and what the next page comes after."""

    @abstractmethod
    def at(self, root: str) -> Skill | None:
        """The skill whose folder has this URI; of several the first in precedence."""

    def open(self, root: str) -> OpenedSkill:
        """The skill at `root`.

        Raises:
            UnpublishedError: There is none, or it cannot be published.
        """
        skill = self.at(root)
        if skill is None:
            raise UnpublishedError("it is not in the library")
        try:
            source = self._snapshot.source_of(skill)
            is_closed = self._snapshot.closed_folders(skill, self._scope)
            return OpenedSkill(root, skill, source, is_closed)
        except UnpublishedError:
            raise
        except Exception as error:  # whatever a source raises concerns this skill only
            raise UnpublishedError(f"it cannot be read: {error}") from error

    def _is_shown(self, skill: Skill) -> bool:
        return self._scope is None or self._scope.allows(skill)


class _Table(_Places):
    """Of a library in memory: a table of all, listed by URI."""

    def __init__(self, snapshot: Snapshot, scope: Scope | None) -> None:
        super().__init__(snapshot, scope)
        self._skills: dict[str, Skill] = {}
        for skill in filter(self._is_shown, snapshot.skills):
            self._skills.setdefault(_root(skill), skill)
        self._listed = sorted(root for root, skill in self._skills.items() if skill.searchable)

    def page(self, after: str) -> tuple[Sequence[Skill], str | None]:
        start = bisect.bisect_right(self._listed, after)
        roots = self._listed[start : start + PAGE]
        last = roots[-1] if start + PAGE < len(self._listed) else None
        return [self._skills[root] for root in roots], last

    def at(self, root: str) -> Skill | None:
        return self._skills.get(root)


class _Looked(_Places):
    """Of an index: looked up by the ids that a URI can stand for, listed by name."""

    def page(self, after: str) -> tuple[Sequence[Skill], str | None]:
        index, tenants = self._snapshot.library.index, self._snapshot.library.tenants
        place = None
        if after:
            name, _, skill_id = after.removeprefix(SCHEME).partition("/")
            place = (unquote(name), unquote(skill_id))
        skills = index.page(place, PAGE, tenants)
        last = None
        if len(skills) == PAGE:
            place = (skills[-1].name.casefold(), skills[-1].id)
            last = SCHEME + "/".join(quote(part, safe="") for part in place)
        return [skill for skill in skills if self._is_shown(skill)], last

    def at(self, root: str) -> Skill | None:
        segments = [unquote(segment) for segment in root.removeprefix(SCHEME).split("/")]
        name = quote_name(segments[-1])
        ids = [f"{name}@{'/'.join(place) or '.'}" for place in (segments, segments[:-1])]
        found = (self._snapshot.get(skill_id) for skill_id in ids)
        fitting = (s for s in found if s and _root(s) == root and self._is_shown(s))
        return next(fitting, None)


def _root(skill: Skill) -> str:
    """The URI of a skill's folder: the place that its id names, and its name."""
    place = skill.id.partition("@")[2]
    segments = [segment for segment in place.split("/") if segment not in ("", ".")]
    if segments[-1:] != [skill.name]:
        segments.append(skill.name)
    return _uri(segments)


def _canonical(uri: str) -> str:
    """`uri` as `_root` spells it.

    Raises:
        UnknownUriError: It is not of this scheme, or a segment could be taken for something else.
    """
    if not uri.startswith(SCHEME) or "?" in uri or "#" in uri:
        raise UnknownUriError(uri)
    segments = [unquote(segment) for segment in uri.removeprefix(SCHEME).split("/")]
    if any(segment in ("", ".", "..") or set(segment) & set("/\\\0") for segment in segments):
        raise UnknownUriError(uri)
    return _uri(segments)


def _uri(segments: list[str]) -> str:
    return SCHEME + "/".join(quote(segment, safe="") for segment in segments)
