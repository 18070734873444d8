"""Files beside a SKILL.md: listed, resolved and read without ever leaving the skill's folder."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillcue.library.characters import clean, nfc
from skillcue.library.decoding import decode
from skillcue.library.limits import DEFAULT_LIMITS, ReadLimits
from skillcue.library.naming import quote_path
from skillcue.library.opening import inside, read_regular
from skillcue.library.walker import is_pruned, is_skill_file
from skillcue_hooks.errors import SkillFileError, closest_names

__all__ = [
    "FileListing",
    "IsClosed",
    "decoded_file",
    "list_files",
    "matching_path",
    "read_file_data",
    "read_file_text",
    "relative_path",
    "resolve_file",
]

IsClosed = Callable[[str], bool]
"""Whether a folder, links resolved, does not exist for whoever asks."""

_NAMED_IN_ERRORS = 20
"""File names listed in an error message."""
_WINDOWS_ROOT = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class FileListing:
    """The files beside a SKILL.md.

    Attributes:
        paths: Relative POSIX paths, sorted.
        complete: False when there are more than were listed.
        unprintable: Paths that are no part of it for their names, percent-encoded as in ids.
    """

    paths: tuple[str, ...]
    complete: bool = True
    unprintable: tuple[str, ...] = ()


def list_files(
    base_dir: Path,
    limit: int = 200,
    limits: ReadLimits = DEFAULT_LIMITS,
    is_closed: IsClosed | None = None,
) -> FileListing:
    """The files of a skill except SKILL.md itself.

    Hidden ones, those in pruned folders, those with unprintable names and links that leave the
    folder are not part of it.

    Args:
        base_dir: The skill's folder.
        limit: At most this many paths of either kind are returned.
        limits: ``walk_depth`` and ``listed_entries`` bound the search.
        is_closed: Tells of folders below it which do not exist: those of other skills that are
            hidden from whoever asks.
    """
    search = _Search(base_dir, limits, is_closed)
    paths = sorted(search.run())
    complete = search.complete and len(paths) <= limit
    return FileListing(tuple(paths[:limit]), complete, tuple(search.unprintable[:limit]))


def resolve_file(
    base_dir: Path,
    name: str,
    limits: ReadLimits = DEFAULT_LIMITS,
    is_closed: IsClosed | None = None,
) -> Path:
    """The file of the skill that `name` means, links resolved.

    ``./``, backslashes, a missing extension, other case and a bare file name are accepted as
    long as exactly one file of the skill fits. `limits` and `is_closed` are those of `list_files`.

    Raises:
        SkillFileError: No file or several fit, or `name` leads out of the folder. The message
            names the files there are.
    """
    root = os.path.realpath(base_dir)

    def is_inside(path: str) -> bool:
        return inside(os.path.realpath(base_dir / path), [root])

    wanted = relative_path(name)
    paths = sorted(_Search(base_dir, limits, is_closed, skill_file=True).run())
    return Path(os.path.realpath(base_dir / matching_path(name, wanted, paths, is_inside)))


def matching_path(
    name: str,
    wanted: str,
    paths: Sequence[str],
    is_allowed: Callable[[str], bool] = lambda _path: True,
) -> str:
    """The one of `paths` that a file argument means; see `resolve_file`.

    Args:
        name: The argument as it was given, for the message.
        wanted: What `relative_path` made of it.
        paths: Relative POSIX paths of the skill's files, sorted.
        is_allowed: Says no to a path that may not be read after all.

    Raises:
        SkillFileError: None or several fit.
    """
    for matches in _matchers(wanted):
        fitting = [path for path in paths if matches(path)]
        if len(fitting) > 1:
            choices = ", ".join(fitting[:_NAMED_IN_ERRORS])
            raise SkillFileError(f"File {name!r} is ambiguous.", f"Use one of: {choices}.")
        if fitting and is_allowed(fitting[0]):
            return fitting[0]
    raise SkillFileError(f"This skill has no file {name!r}.", _choices(wanted, paths))


def read_file_text(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> str:
    """Text of a file that `resolve_file` returned, without hidden characters.

    Raises:
        SkillFileError: It is not text, larger than ``limits.file_bytes``, or cannot be read; the
            message gives path and size, so that another tool can open it.
    """
    return clean(decoded_file(path, read_file_data(path, limits))).text


def read_file_data(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> bytes:
    """All bytes of a file that `resolve_file` returned.

    Raises:
        SkillFileError: It is larger than ``limits.file_bytes``, or cannot be read.
    """
    try:
        data, status = read_regular(str(path), limits.file_bytes)
    except OSError as error:
        raise SkillFileError(
            f"File {path.name!r} cannot be read: {error.strerror or error}.",
            f"It is at {path}.",
            local=True,
        ) from error
    if len(data) > limits.file_bytes:
        raise SkillFileError(
            f"File {path.name!r} has {status.st_size} bytes; at most {limits.file_bytes} "
            "(file_bytes) are read.",
            f"Open it at {path}.",
            local=True,
        )
    return data


def decoded_file(path: Path, data: bytes, *, local: bool = True) -> str:
    """`data` of the file at `path` as text, hidden characters included.

    Args:
        path: The file.
        data: Its bytes.
        local: It is there, on this machine.

    Raises:
        SkillFileError: It is not text.
    """
    decoded = decode(data)
    binary = b"\x00" in data and decoded.encoding == "utf-8"
    if binary or 4 * decoded.replaced > len(decoded.text):
        raise SkillFileError(
            f"File {path.name!r} is not text ({len(data)} bytes).",
            f"It is at {path}." if local else "It cannot be shown.",
            local=local,
        )
    return decoded.text


class _Search:
    """Depth-first, names sorted, bounded; remembers what it left out."""

    def __init__(
        self,
        base_dir: Path,
        limits: ReadLimits,
        is_closed: IsClosed | None,
        skill_file: bool = False,
    ) -> None:
        self._base = os.path.realpath(base_dir)
        self._is_closed = is_closed
        self._skill_file = skill_file
        self._limits = limits
        self._seen: set[tuple[int, int]] = set()
        self._entries = 0
        self.complete = True
        self.unprintable: list[str] = []

    def run(self) -> Iterator[str]:
        return self._folder(self._base, "", 0)

    def _folder(self, path: str, prefix: str, depth: int) -> Iterator[str]:
        if depth > self._limits.walk_depth:
            self.complete = False
            return
        try:
            state = os.stat(path)
            with os.scandir(path) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError:  # listed as far as this process may look
            return
        if (state.st_dev, state.st_ino) in self._seen:
            return
        self._seen.add((state.st_dev, state.st_ino))
        for entry in entries:
            self._entries += 1
            if self._entries > self._limits.listed_entries:
                self.complete = False
                return
            yield from self._entry(entry, prefix, depth)

    def _entry(self, entry: os.DirEntry[str], prefix: str, depth: int) -> Iterator[str]:
        name = entry.name
        if is_pruned(name):
            return
        target = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
        if not inside(target, [self._base]):
            return
        # a file that is no link lies in a folder that was entered, so only others are asked about
        if (entry.is_symlink() or entry.is_dir()) and self._in_closed(target):
            return
        if not _is_printable(name):
            self.unprintable.append(quote_path(prefix + name))
        elif entry.is_dir():
            yield from self._folder(target, f"{prefix}{name}/", depth + 1)
        elif entry.is_file() and (prefix or self._skill_file or not is_skill_file(name)):
            yield prefix + name

    def _in_closed(self, path: str) -> bool:
        """Whether `path`, links resolved and below the base, is a closed folder or lies in one."""
        while self._is_closed and len(path) > len(self._base):
            if self._is_closed(path):
                return True
            path = os.path.dirname(path)
        return False


def relative_path(name: str) -> str:
    """`name` as a relative POSIX path.

    Raises:
        SkillFileError: It is absolute, empty or goes up.
    """
    path = name.strip().strip("\"'`").replace("\\", "/")
    if path.startswith("/") or _WINDOWS_ROOT.match(path) or "\x00" in path:
        raise SkillFileError(
            f"{name!r} is not a path inside the skill.",
            "Use a path relative to the skill's folder.",
        )
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or ".." in parts:
        raise SkillFileError(
            f"{name!r} is not a path inside the skill.",
            "Use a path relative to the skill's folder.",
        )
    return "/".join(parts)


def _matchers(wanted: str) -> Iterator[Callable[[str], bool]]:
    """Tests for a path, strictest first."""
    folded = _fold(wanted)
    yield lambda path: path == wanted
    yield lambda path: _fold(path) == folded
    yield lambda path: _fold(_stem(path)) == folded
    yield lambda path: _fold(posixpath.basename(path)) == folded
    yield lambda path: _fold(posixpath.basename(_stem(path))) == folded


def _is_printable(name: str) -> bool:
    return clean(name).text == name and not {"\n", "\t"} & set(name)


def _stem(path: str) -> str:
    return posixpath.splitext(path)[0]


def _fold(path: str) -> str:
    return nfc(nfc(path).casefold())


def _choices(wanted: str, paths: Sequence[str]) -> str:
    others = [path for path in paths if not is_skill_file(path)]
    if not others:
        return "There are no files beside its SKILL.md."
    inside_folder = [path for path in others if path.startswith(f"{wanted}/")]
    near = inside_folder or list(closest_names(wanted, others))
    named = list(dict.fromkeys([*near, *others]))[:_NAMED_IN_ERRORS]
    more = len(others) - len(named)
    return f"Files: {', '.join(named)}{f' and {more} more' if more > 0 else ''}."
