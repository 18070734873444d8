"""Archives to files: every member is looked at before a byte of it is written.

What a well-made archive of skills never holds makes the whole archive refused: paths that lead
out, the same path twice, devices, links that lead out, bombs. Links inside are made last. The
attacks are those of CWE-22, CWE-59 and CWE-409; Python's own filters for tar are PEP 706.
"""

from __future__ import annotations

import gzip
import io
import posixpath
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, BinaryIO

from skillcue.remote.failures import RefusedError
from skillcue.remote.limits import FetchLimits
from skillcue.remote.paths import PathRefused, inner_path
from skillcue.remote.tree import TreeWriter

__all__ = ["Selection", "unpack"]

_CHUNK = 1 << 16
_HEADER_BYTES = 1 << 20
"""Longest single read inside a tar archive: names and attributes, never content."""
_RATIO_FROM = 1 << 20
"""Bytes unpacked from which the ratio is looked at; small files pack well."""
_LINK_BYTES = 4096
_END_BYTES = 22 + 65_535
"""The end of a zip, comment included."""
_ENTRY_BYTES = 128
"""One member in the list of a zip, besides its path, with room for times and owners."""
_BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    gzip.BadGzipFile,
    EOFError,
    NotImplementedError,  # a zip packed in a way that Python does not know
    RuntimeError,  # a zip with a password
    UnicodeError,
    ValueError,  # numbers and dates that make no sense
)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which members are taken.

    Attributes:
        subdirectory: Only what lies below; empty takes everything.
    """

    subdirectory: str = ""

    def inside(self, path: str) -> str | None:
        """`path` below the subdirectory, None where it is not."""
        if not self.subdirectory:
            return path
        head = f"{self.subdirectory}/"
        return path[len(head) :] if path.startswith(head) else None


def unpack(file: BinaryIO, tree: TreeWriter, chosen: Selection, limits: FetchLimits) -> None:
    """Write the chosen files of an archive into `tree`.

    Args:
        file: Positioned at its beginning; zip, tar or gzipped tar, told apart by the first bytes.
        tree: Takes the files.
        chosen: Which of them.
        limits: Bounds.

    Raises:
        RefusedError: It is no such archive, is damaged or unsafe, or breaks a bound.
    """
    magic = file.read(4)
    packed = file.seek(0, io.SEEK_END)
    file.seek(0)
    budget = _Budget(packed, limits)
    before = tree.count
    try:
        if magic in (b"PK\x03\x04", b"PK\x05\x06"):
            _unpack_zip(file, tree, chosen, budget)
        elif magic[:2] == b"\x1f\x8b":
            with gzip.GzipFile(fileobj=file) as plain:
                _unpack_tar(plain, tree, chosen, budget)
        else:
            _unpack_tar(file, tree, chosen, budget)
    except RefusedError:
        raise
    except _BROKEN as error:
        raise RefusedError(
            f"It is no archive that can be read: {error or type(error).__name__}.",
            "Make it anew as .zip, .tar or .tar.gz, without a password.",
        ) from error
    if chosen.subdirectory and tree.count == before:
        raise RefusedError(
            f"There is no file in {chosen.subdirectory!r} in it.",
            "Name a folder as the archive has it.",
        )


class _Budget:
    """What unpacking may still take: members, bytes, and bytes for one packed byte."""

    def __init__(self, packed: int, limits: FetchLimits) -> None:
        self.packed = packed
        self._limits = limits
        self.members = 0
        self.most = min(limits.total_bytes, max(_RATIO_FROM, packed * limits.ratio))
        self.directory_bytes = 2 * limits.files * (_ENTRY_BYTES + limits.path_chars)

    def member(self) -> None:
        """One more member, folders and what is not chosen included."""
        self.members += 1
        if self.members > 2 * self._limits.files:
            raise RefusedError(
                f"It holds more than {self._limits.files} files (limit files).",
                "Raise FetchLimits(files=...).",
            )

    def bomb(self) -> RefusedError:
        """More comes out than may."""
        return RefusedError(
            f"More than {self.most} bytes come out of {self.packed} (limits total_bytes, ratio).",
            "It looks like a bomb; do not use it.",
        )

    def path(self, name: str) -> str:
        """The checked path of a member."""
        try:
            return inner_path(name, self._limits.path_chars)
        except PathRefused as error:
            raise RefusedError(
                f"It holds {error}: {name[:80]!r}.", "Do not use it, or have its owner correct it."
            ) from None


def _unpack_zip(file: BinaryIO, tree: TreeWriter, chosen: Selection, budget: _Budget) -> None:
    _check_directory(file, budget)
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > budget.most:
            raise budget.bomb()
        for member in members:
            budget.member()
            if member.is_dir():
                continue
            name = chosen.inside(budget.path(member.orig_filename))
            mode = member.external_attr >> 16
            kind = stat.S_IFMT(mode) if member.create_system == 3 else 0
            if kind not in (0, stat.S_IFREG, stat.S_IFLNK):
                raise _special(member.orig_filename)
            if name is None:
                continue
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                # Others may ask for gigabytes of memory before the first byte comes out.
                raise zipfile.BadZipFile(f"packed by method {member.compress_type}")
            with archive.open(member) as content:
                if kind == stat.S_IFLNK:
                    target = content.read(_LINK_BYTES).decode("utf-8", "replace")
                    _link(tree, name, target)
                else:
                    tree.add(name, _parts(content), executable=bool(mode & stat.S_IXUSR))


def _check_directory(file: BinaryIO, budget: _Budget) -> None:
    """Before `zipfile` makes an object of every entry: its list of members is not too long."""
    start = max(0, budget.packed - _END_BYTES)
    file.seek(start)
    tail = file.read(_END_BYTES)
    file.seek(0)
    end = tail.rfind(b"PK\x05\x06")
    if end < 0 or len(tail) < end + 16:
        raise zipfile.BadZipFile("it has no list of members")
    # The larger form (zip64) is needed from 65,536 members or 4 GiB on only.
    large = tail[max(0, end - 20) : end].startswith(b"PK\x06\x07")
    size = int.from_bytes(tail[end + 12 : end + 16], "little")
    if large or size > budget.directory_bytes:
        raise RefusedError("Its list of members is too long.", "Make it anew with fewer files.")


def _unpack_tar(
    file: BinaryIO | gzip.GzipFile, tree: TreeWriter, chosen: Selection, budget: _Budget
) -> None:
    bounded = _Bounded(file, budget)
    with tarfile.open(fileobj=bounded, mode="r:") as archive:
        for member in archive:
            budget.member()
            if member.isdir():
                if member.name not in ("", ".", "./"):
                    budget.path(member.name)
                continue
            name = chosen.inside(budget.path(member.name))
            if member.issym() or member.islnk():
                if name is not None:
                    _tar_link(tree, name, member, chosen, budget)
                continue
            if not member.isreg() or member.issparse():
                raise _special(member.name)
            if name is None:
                continue
            content = archive.extractfile(member)
            if content is not None:
                tree.add(name, _parts(content), executable=bool(member.mode & stat.S_IXUSR))
    while bounded.read(_CHUNK):  # the check sum of a packed stream stands at its very end
        pass


def _tar_link(
    tree: TreeWriter, name: str, member: tarfile.TarInfo, chosen: Selection, budget: _Budget
) -> None:
    if member.issym():
        _link(tree, name, member.linkname)
        return
    target = chosen.inside(budget.path(member.linkname))  # a hard link counts from the root
    if target is None:
        tree.leave_out(name, "It is a link to a file outside of the subdirectory.")
        return
    _link(tree, name, posixpath.relpath(target, posixpath.dirname(name) or "."))


def _link(tree: TreeWriter, name: str, target: str) -> None:
    """Refuse what certainly leads out; what only leads nowhere is left out later."""
    reached = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
    if target.startswith("/") or "\\" in target or reached.split("/")[0] == "..":
        raise RefusedError(
            f"It holds a link that leads out: {name[:80]!r}.",
            "Do not use it, or have its owner correct it.",
        )
    tree.add_link(name, target)


def _special(name: str) -> RefusedError:
    return RefusedError(
        f"It holds a device, pipe or sparse file: {name[:80]!r}.",
        "Do not use it, or have its owner correct it.",
    )


def _parts(content: IO[bytes]) -> Iterator[bytes]:
    while part := content.read(_CHUNK):
        yield part


class _Bounded(io.RawIOBase):
    """A tar stream that ends a bomb before it is in memory, headers included."""

    def __init__(self, file: BinaryIO | gzip.GzipFile, budget: _Budget) -> None:
        self._file = file
        self._budget = budget

    def read(self, size: int = -1) -> bytes:
        if size < 0 or size > _HEADER_BYTES:
            raise RefusedError(
                f"It holds a header of {size} bytes.", "It looks like a bomb; do not use it."
            )
        part = self._file.read(size)
        self._check(self._file.tell())
        return part

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_SET:
            self._check(offset)
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def _check(self, position: int) -> None:
        # Headers and padding: at most 1536 bytes for each small file, on top of the content.
        if position > self._budget.most + 4096 * self._budget.members + _RATIO_FROM:
            raise self._budget.bomb()
