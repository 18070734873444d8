"""What an MCP server says it has, checked before anything of it is read.

The shapes are those of the Skills extension (SEP-2640, ``io.modelcontextprotocol/skills``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from skillcue.remote.limits import FetchLimits
from skillcue.remote.paths import PathRefused, inner_path

__all__ = ["PAGES", "PlannedFile", "PlannedSkill", "SkillRefused", "plan_entry", "plan_resources"]

SKILL_FILE = "SKILL.md"
PAGES = 1000
"""Pages of a list of an MCP server that are asked for."""
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class SkillRefused(ValueError):
    """One skill of a server cannot be taken; the others can."""


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One file to read.

    Attributes:
        uri: What to ask the server for.
        path: Where it goes, below the source.
        digest: ``sha256:<hex>``; None where the server gives none.
        size: Bytes; None where the server gives none.
    """

    uri: str
    path: str
    digest: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class PlannedSkill:
    """One skill.

    Attributes:
        uri: Address of its SKILL.md.
        files: SKILL.md first, then by path.
        note: Why not all of it is taken; empty where it is.
    """

    uri: str
    files: tuple[PlannedFile, ...]
    note: str = ""

    @property
    def folder(self) -> str:
        """Its folder below the source, POSIX."""
        return self.files[0].path.rpartition("/")[0]


def plan_entry(entry: Any, limits: FetchLimits) -> PlannedSkill:
    """The plan for one entry of ``skills/list``.

    Raises:
        SkillRefused: The entry is not as the extension has it, or too large.
    """
    if not isinstance(entry, Mapping) or not isinstance(entry.get("uri"), str):
        raise SkillRefused("Its entry has no uri.")
    uri = entry["uri"]
    base, folder = _base(uri, limits)
    listed = entry.get("resources")
    if listed == "dynamic":
        only = PlannedFile(uri, f"{folder}/{SKILL_FILE}")
        note = "Its files are dynamic: SKILL.md is taken unverified, and the others are not."
        return PlannedSkill(uri, (only,), note)
    if not isinstance(listed, list):
        raise SkillRefused("Its entry has no list of resources.")
    files = [_file(item, base, folder, limits) for item in listed]
    if sum(file.uri == uri for file in files) != 1:
        raise SkillRefused("Its list of resources does not hold its SKILL.md once.")
    return PlannedSkill(uri, _in_order(files, uri))


def plan_resources(uris: Iterable[str], limits: FetchLimits) -> list[PlannedSkill | str]:
    """Plans from plain ``skill://`` resources, for a server without the extension.

    Each resource belongs to the innermost folder that holds a SKILL.md. In place of a skill that
    cannot be taken stands the reason.
    """
    names = sorted(uri for uri in set(uris) if uri.startswith("skill://"))
    bases = [uri.removesuffix(SKILL_FILE) for uri in names if uri.endswith(f"/{SKILL_FILE}")]
    members: dict[str, list[str]] = {base: [] for base in bases}
    for uri in names:
        base = next((b for b in _above(uri) if b in members), None)
        if base is not None and not uri.endswith("/_manifest"):
            members[base].append(uri)
    return [_planned(base, members[base], limits) for base in bases]


def _planned(base: str, uris: list[str], limits: FetchLimits) -> PlannedSkill | str:
    uri = f"{base}{SKILL_FILE}"
    try:
        _, folder = _base(uri, limits)
        files = [PlannedFile(item, _inside(item, base, folder, limits)) for item in uris]
        return PlannedSkill(uri, _in_order(files, uri))
    except SkillRefused as error:
        return f"{uri[:200]}: {error}"


def _above(uri: str) -> Iterable[str]:
    end = len(uri)
    while (end := uri.rfind("/", 0, end)) > len("skill:/"):
        yield uri[: end + 1]


def _base(uri: str, limits: FetchLimits) -> tuple[str, str]:
    """The address of the folder with its slash, and its path below the source."""
    parts = urlsplit(uri)
    if not parts.scheme or parts.query or parts.fragment or not uri.endswith(f"/{SKILL_FILE}"):
        raise SkillRefused("Its uri does not name a SKILL.md.")
    text = unquote(f"{parts.netloc}{parts.path}", errors="replace")
    folder = _checked(text.removesuffix(f"/{SKILL_FILE}").lstrip("/"), limits)
    return uri.removesuffix(SKILL_FILE), folder


def _file(item: Any, base: str, folder: str, limits: FetchLimits) -> PlannedFile:
    if not isinstance(item, Mapping) or not isinstance(item.get("uri"), str):
        raise SkillRefused("One of its resources has no uri.")
    digest, size = item.get("digest"), item.get("size")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise SkillRefused("One of its resources has no sha256 digest.")
    if isinstance(size, float) and size.is_integer():
        size = int(size)
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise SkillRefused("One of its resources has no size.")
    if size > limits.file_bytes:
        raise SkillRefused(f"One of its files has {size} bytes (limit file_bytes).")
    return PlannedFile(item["uri"], _inside(item["uri"], base, folder, limits), digest, size)


def _inside(uri: str, base: str, folder: str, limits: FetchLimits) -> str:
    if not uri.startswith(base) or "?" in uri or "#" in uri:
        raise SkillRefused("One of its resources lies outside of its folder.")
    name = _checked(unquote(uri[len(base) :], errors="replace"), limits)
    return f"{folder}/{name}"


def _checked(path: str, limits: FetchLimits) -> str:
    try:
        return inner_path(path, limits.path_chars // 2)
    except PathRefused as error:
        raise SkillRefused(f"It holds {error}.") from None


def _in_order(files: list[PlannedFile], uri: str) -> tuple[PlannedFile, ...]:
    if len({file.path for file in files}) != len(files):
        raise SkillRefused("Two of its resources are one file.")
    return tuple(sorted(files, key=lambda file: (file.uri != uri, file.path)))
