"""Writes the files of a source into a new folder, and nothing anywhere else."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from skillcue.library.opening import inside
from skillcue.remote.failures import RefusedError
from skillcue.remote.limits import FetchLimits
from skillcue.remote.paths import PathRefused, file_key, inner_path

__all__ = ["LeftOut", "TreeWriter"]

_FLAGS = (
    os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file, link, row or skill that was not taken.

    Attributes:
        path: Where it would have been, POSIX.
        reason: What is wrong with it; a sentence.
    """

    path: str
    reason: str


class TreeWriter:
    """Takes files one by one, checks every path and every bound, and makes links last.

    Links are made when all files are written, so that no file is ever written through one.

    Args:
        root: A new, empty folder.
        limits: Bounds on count and bytes.
    """

    def __init__(self, root: Path, limits: FetchLimits) -> None:
        self._root = root
        self._limits = limits
        self._seen: set[str] = set()
        self._links: list[tuple[str, str]] = []
        self._bytes = 0
        self.left_out: list[LeftOut] = []

    def add(self, name: str, parts: Iterable[bytes], executable: bool = False) -> str:
        """Write one file; gives its path below the root.

        Args:
            name: Path as the source gives it.
            parts: The content, piece by piece; not read further once a bound is broken.
            executable: It may be run by its owner.

        Raises:
            RefusedError: The path is unsafe or taken, or a bound is broken.
        """
        path = self._claim(name)
        target = self._root / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(target, _FLAGS, 0o700 if executable else 0o600)
        except OSError as error:  # a file where another path needs a folder, or the reverse
            raise RefusedError(
                f"{path!r} cannot be written: {error.strerror or error}.",
                "Each path must be either a file or a folder.",
            ) from error
        with os.fdopen(descriptor, "wb") as file:
            written = 0
            for part in parts:
                written += len(part)
                self._check_size(path, written, len(part))
                file.write(part)
        return path

    def add_link(self, name: str, target: str) -> None:
        """Remember a symbolic link; `finish` makes those that stay inside.

        Raises:
            RefusedError: The path is unsafe or taken, or there are too many.
        """
        self._links.append((self._claim(name), target))

    def leave_out(self, path: str, reason: str) -> None:
        """Note that something is not taken."""
        self.left_out.append(LeftOut(path, reason))

    @property
    def count(self) -> int:
        """Files and links so far."""
        return len(self._seen)

    def finish(self) -> None:
        """Make the links that lead to a file or folder of the tree; the others are left out."""
        root = os.path.realpath(self._root)
        for path, target in sorted(self._links):
            link = self._root / path
            if os.path.isabs(target) or "\0" in target:
                self.leave_out(path, "It is a link that leads out.")
                continue
            try:
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(target)
            except OSError as error:
                self.leave_out(path, f"The link cannot be made: {error.strerror or error}.")
        self._drop_bad_links(root)

    def _drop_bad_links(self, root: str) -> None:
        """Judged when all of them are made, since one link may lead through another."""
        for path, _ in sorted(self._links):
            link = self._root / path
            if not link.is_symlink():
                continue
            # The parent is resolved as well: a link made inside a linked folder lies elsewhere.
            places = [os.path.realpath(link), os.path.realpath(link.parent)]
            if not all(inside(place, [root]) for place in places):
                link.unlink()
                self.leave_out(path, "It is a link that leads out.")
            elif not link.exists():
                link.unlink()
                self.leave_out(path, "It is a link that leads nowhere.")

    def _claim(self, name: str) -> str:
        try:
            path = inner_path(name, self._limits.path_chars)
        except PathRefused as error:
            raise RefusedError(
                f"It holds {error!s}: {name[:80]!r}.",
                "Do not use it, or have its owner correct it.",
            ) from None
        key = file_key(path)
        if key in self._seen:
            raise RefusedError(
                f"It holds {path[:80]!r} twice (case and Unicode form do not count).",
                "Have its owner rename one of them.",
            )
        self._seen.add(key)
        if len(self._seen) > self._limits.files:
            raise RefusedError(
                f"It holds more than {self._limits.files} files (limit files).",
                "Take a part of it with #subdirectory=, or raise FetchLimits(files=...).",
            )
        return path

    def _check_size(self, path: str, written: int, part: int) -> None:
        self._bytes += part
        for limit, value, what in (
            (self._limits.file_bytes, written, "file_bytes"),
            (self._limits.total_bytes, self._bytes, "total_bytes"),
        ):
            if value > limit:
                raise RefusedError(
                    f"{path[:80]!r} takes it above {limit} bytes (limit {what}).",
                    f"Take a smaller part of it, or raise FetchLimits({what}=...).",
                )
