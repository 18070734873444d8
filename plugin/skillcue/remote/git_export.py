"""The files of one commit, taken from the object store without a checkout.

A checkout would apply what the repository asks for in ``.gitattributes``: filters, line ends,
encodings. Here each file is the blob as it was committed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from skillcue.remote.failures import RefusedError, SourceFetchError, UnreachableError
from skillcue.remote.git_program import GitProgram, end
from skillcue.remote.limits import FetchLimits
from skillcue.remote.tree import TreeWriter

__all__ = ["export_commit"]

_LINE = re.compile(rb"(\d{6}) (\w+) ([0-9a-f]{40,64}) +(\d+|-)\t(.+)", re.DOTALL)
_CHUNK = 1 << 16
_LINK_BYTES = 4096
_NAMED = 10
"""Folders named in an error message."""


@dataclass(frozen=True, slots=True)
class _Item:
    mode: str
    kind: str
    name: str
    size: int
    path: str


def export_commit(
    git: GitProgram, commit: str, subdirectory: str, tree: TreeWriter, limits: FetchLimits
) -> None:
    """Write the files of `commit` below `subdirectory` into `tree`; submodules are left out.

    Raises:
        RefusedError: There is no such folder, or it is unsafe or too large.
        UnreachableError: git failed.
    """
    items = _listed(git, commit, subdirectory)
    total = sum(item.size for item in items)
    if total > limits.total_bytes:
        raise RefusedError(
            f"It holds {total} bytes; {limits.total_bytes} are allowed (limit total_bytes).",
            "Take a part of it with #subdirectory=, or raise FetchLimits(total_bytes=...).",
        )
    blobs = []
    for item in items:
        if item.kind == "blob":
            blobs.append(item)
        else:
            tree.leave_out(item.path, "It is a submodule; name its repository as a source.")
    with _Blobs(git) as contents:
        for item in blobs:
            if item.mode == "120000":
                target = b"".join(contents.read(item.name, _LINK_BYTES))
                tree.add_link(item.path, target.decode("utf-8", "replace"))
            else:
                parts = contents.read(item.name, limits.file_bytes)
                tree.add(item.path, parts, executable=item.mode == "100755")


def _listed(git: GitProgram, commit: str, subdirectory: str) -> list[_Item]:
    where = f"{commit}:{subdirectory}" if subdirectory else commit
    try:
        listed = git.run("ls-tree", "-r", "-z", "-l", "--full-tree", where)
    except UnreachableError as error:
        if not subdirectory:
            raise
        names = git.run("ls-tree", "-d", "-z", "--name-only", "--full-tree", commit)
        folders = names.decode("utf-8", "replace").split("\0")[:_NAMED]
        raise RefusedError(
            f"There is no folder {subdirectory!r} in commit {commit[:12]}.",
            f"Its folders: {', '.join(filter(None, folders)) or 'none'}.",
        ) from error
    return [_item(line) for line in listed.split(b"\0") if line]


def _item(line: bytes) -> _Item:
    found = _LINE.fullmatch(line)
    if found is None:
        raise RefusedError("git lists something unknown.", "Look at the repository.")
    mode, kind, name, size, path = found.groups()
    return _Item(
        mode.decode(),
        kind.decode(),
        name.decode(),
        0 if size == b"-" else int(size),
        # What is not UTF-8 becomes a character that `inner_path` takes, and may then collide.
        path.decode("utf-8", "replace"),
    )


class _Blobs:
    """One ``git cat-file --batch`` for all files."""

    def __init__(self, git: GitProgram) -> None:
        self._git = git

    def __enter__(self) -> Self:
        self._process = self._git.stream("cat-file", "--batch")
        return self

    def __exit__(self, *_error: object) -> None:
        end(self._process)

    def read(self, name: str, limit: int) -> Iterator[bytes]:
        """The content of one blob; to be read to its end before the next one."""
        size = self._ask(name)
        if size > limit:
            raise RefusedError(
                f"A file has {size} bytes; {limit} are allowed (limit file_bytes).",
                "Take a part of it with #subdirectory=, or raise FetchLimits(file_bytes=...).",
            )
        stdout = self._process.stdout
        assert stdout is not None
        while size > 0:
            if self._git.seconds_left <= 0:
                raise UnreachableError(
                    "Reading the files took too long.", "Raise FetchLimits(seconds=...)."
                )
            part = stdout.read(min(size, _CHUNK))
            if not part:
                raise _broken()
            size -= len(part)
            yield part
        stdout.read(1)  # the line feed behind each blob

    def _ask(self, name: str) -> int:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        try:
            stdin.write(f"{name}\n".encode())
            stdin.flush()
        except BrokenPipeError:
            raise _broken() from None
        head = stdout.readline().split()
        if len(head) != 3 or head[1] != b"blob":
            raise _broken()
        return int(head[2])


def _broken() -> SourceFetchError:
    return UnreachableError("git ended in the middle.", "Try again; look at the repository.")
