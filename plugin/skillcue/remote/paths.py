"""Paths that others wrote: relative, inside, and the same on every file system."""

from __future__ import annotations

import re
import unicodedata

from skillcue.library.characters import nfc
from skillcue_hooks.errors import ConfigurationError

__all__ = ["PathRefused", "checked_subdirectory", "file_key", "folder_name", "inner_path"]

_DRIVE = re.compile(r"[A-Za-z]:")
_NOT_IN_NAMES = re.compile(r"[^\w.+-]+")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_PART_BYTES = 200
"""Longest name that every usual file system takes, with room for a suffix."""
_PARTS = 32
_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(1, 10))]
)


class PathRefused(ValueError):
    """The path leads out of its folder, or cannot be a file name everywhere."""


def inner_path(name: str, limit: int) -> str:
    """`name` as a relative POSIX path without ``.`` parts.

    Args:
        name: A path as an archive, a repository or a server gives it.
        limit: Most characters.

    Raises:
        PathRefused: It is absolute, goes up, is too long, or holds a character or a name that is
            special on some system.
    """
    if name.startswith("/") or _DRIVE.match(name):
        raise PathRefused("an absolute path")
    if len(name) > limit:
        raise PathRefused(f"a path of {len(name)} characters")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if not parts:
        raise PathRefused("an empty path")
    if ".." in parts:
        raise PathRefused("a path that goes up")
    if len(parts) > _PARTS:
        raise PathRefused(f"{len(parts)} nested folders")
    for part in parts:
        _check_part(part)
    return "/".join(parts)


def _check_part(part: str) -> None:
    if "\\" in part or any(unicodedata.category(char) in _HIDDEN for char in part):
        raise PathRefused("a backslash or an invisible character")
    if len(part.encode("utf-8")) > _PART_BYTES:
        raise PathRefused("a name that is too long")
    bare = part.casefold().rstrip(". ")
    if bare == ".git" or bare.startswith("git~"):
        raise PathRefused("a folder that git takes for its own")
    if not bare or ":" in part or bare.partition(".")[0] in _RESERVED:
        raise PathRefused("a name that is special on Windows")


def file_key(path: str) -> str:
    """Equal for paths that are one file where case or Unicode form do not count."""
    return nfc(nfc(path).casefold())


def folder_name(text: str, fallback: str = "skills") -> str:
    """A folder name made of `text`: letters, digits, ``. + - _``; at most 64 characters."""
    name = _NOT_IN_NAMES.sub("-", nfc(text)).strip("-.")[:64].rstrip("-.")
    if not name or name.casefold().partition(".")[0] in _RESERVED:
        return fallback
    return name


def checked_subdirectory(subdirectory: str) -> str:
    """`subdirectory` as a relative path, or an empty text.

    Raises:
        ConfigurationError: It leads out.
    """
    if not subdirectory.strip("/"):
        return ""
    try:
        return inner_path(subdirectory.strip("/"), 512)
    except PathRefused as error:
        raise ConfigurationError(
            f"subdirectory {subdirectory!r} is {error}.", "Name a folder inside the source."
        ) from None
