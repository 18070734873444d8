"""Opens files that others wrote: bounded, regular files only, links confined."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

__all__ = ["NotRegularError", "OutsideError", "inside", "read_regular"]

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)  # opening a pipe must not wait for a writer
    | getattr(os, "O_NOFOLLOW", 0)  # links are resolved and checked first
    | getattr(os, "O_BINARY", 0)
)


class NotRegularError(OSError):
    """The path is a folder, pipe, socket or device."""


class OutsideError(OSError):
    """A link leaves every allowed folder."""


def read_regular(path: str, limit: int, roots: Iterable[str] = ()) -> tuple[bytes, os.stat_result]:
    """At most `limit` + 1 bytes of a regular file, and its state when it was opened.

    Args:
        path: The file. A link is followed only into `roots` or its own folder.
        limit: Bytes; the one more tells a file that fits from one that does not.
        roots: Folders, already resolved.

    Raises:
        OutsideError: It is a link that leaves all of them.
        NotRegularError: It is not a regular file.
        OSError: It cannot be opened or read.
    """
    if os.path.islink(path):
        target = os.path.realpath(path)
        if not inside(target, [*roots, os.path.realpath(os.path.dirname(path))]):
            raise OutsideError(f"link to {target}")
        path = target
    descriptor = os.open(path, _FLAGS)
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise NotRegularError("not a regular file")
        return _read(descriptor, limit + 1), state
    finally:
        os.close(descriptor)


def inside(path: str, roots: Iterable[str]) -> bool:
    """The resolved `path` is one of the resolved `roots` or lies below one."""
    return any(path == root or path.startswith(root.rstrip(os.sep) + os.sep) for root in roots)


def _read(descriptor: int, count: int) -> bytes:
    parts = []
    while count > 0 and (part := os.read(descriptor, min(count, 1 << 20))):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
