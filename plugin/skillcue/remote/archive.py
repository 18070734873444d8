"""Skills from a zip or tar archive, on this machine or behind an address with its hash."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import time
from pathlib import Path
from typing import BinaryIO, Unpack
from urllib.parse import urlsplit

from skillcue.remote.download import download
from skillcue.remote.failures import RefusedError, SourceFetchError, UnreachableError
from skillcue.remote.git_program import without_credentials
from skillcue.remote.mirror import Fetched, MirroredSource, SourceOptions, mirror_options
from skillcue.remote.paths import checked_subdirectory
from skillcue.remote.store import Last
from skillcue.remote.tree import TreeWriter
from skillcue.remote.unpack import Selection, unpack
from skillcue_hooks.errors import ConfigurationError

__all__ = ["ArchiveSource"]

_HASH = re.compile(r"[0-9a-f]{64}")
_SUFFIX = re.compile(r"\.(?:zip|tar|tar\.gz|tgz)$", re.IGNORECASE)
_CHUNK = 1 << 20
_TICK_NS = 2_000_000_000
"""A file younger than this (nanoseconds) may change once more without its time changing."""


class ArchiveSource(MirroredSource):
    """A zip, tar or gzipped tar archive, told apart by its first bytes.

    A local one is looked at before every use and unpacked again when it changed. One behind an
    address needs `sha256`, and is fetched once. Unsafe archives are refused as a whole.

    Args:
        place: A path, or ``https://``.
        sha256: Its hash, 64 hex digits; with it no other content is taken.
        subdirectory: Only this folder of it.
        options: `trust`, `label`, `cache`, `refresh`, `strict`, `fetch_limits`, `read_limits`: see
            `MirrorOptions`.

    Raises:
        ConfigurationError: An argument cannot be used.
    """

    def __init__(
        self,
        place: str | os.PathLike[str],
        sha256: str = "",
        subdirectory: str = "",
        **options: Unpack[SourceOptions],
    ) -> None:
        text = os.fspath(place)
        self._url = text if "://" in text else ""
        self._path = Path(text).expanduser().absolute()
        self._sha256 = _checked(self._url, sha256.casefold())
        self._subdirectory = checked_subdirectory(subdirectory)
        self._seen: tuple[int, ...] | None = None
        shown = without_credentials(self._url.partition("?")[0]) or str(self._path)
        name = _SUFFIX.sub("", shown.rpartition("/")[2])
        super().__init__(
            mirror_options(options),
            location=shown,
            identity=f"archive {shown} {self._sha256} {self._subdirectory}",
            label=name or "archive",
            name=self._subdirectory.rpartition("/")[2] or name,
            pinned=f"sha256:{self._sha256}" if self._sha256 else None,
            local=not self._url,
        )

    @property
    def is_there(self) -> bool:
        """A local archive exists; always for an address."""
        return bool(self._url) or self._path.is_file()

    def _seems_changed(self) -> bool:
        return self._seen is None or self._seen != _state(self._path)

    def _fetch(self, last: Last | None) -> Fetched:
        if self._url:
            with tempfile.TemporaryFile(dir=self._store.root) as file:
                download(self._url, file, self.options.fetch_limits)
                return self._unpacked(file)
        self._seen = _state(self._path)
        try:
            with self._path.open("rb") as file:
                return self._unpacked(file)
        except OSError as error:
            raise UnreachableError(
                f"{error.strerror or error}.", "Bring the archive back."
            ) from error

    def _unpacked(self, file: BinaryIO) -> Fetched:
        limits = self.options.fetch_limits
        digest = _hash(file, limits.download_bytes)
        if self._sha256 and digest != self._sha256:
            raise RefusedError(
                f"Its sha256 is {digest}, not {self._sha256}.",
                "Find out why it changed before you change the hash.",
            )

        def fill(tree: TreeWriter) -> None:
            unpack(file, tree, Selection(self._subdirectory), limits)

        try:
            return Fetched(self._store.put(f"sha256:{digest}", fill, limits))
        except SourceFetchError:
            raise
        except OSError as error:
            raise UnreachableError(f"{error.strerror or error}.", "Look at the disk.") from error


def _checked(url: str, sha256: str) -> str:
    if sha256 and not _HASH.fullmatch(sha256):
        raise ConfigurationError(
            f"sha256 is {sha256!r}.", "It has 64 hex digits: `sha256sum skills.zip` prints it."
        )
    if not url:
        return sha256
    if urlsplit(url).scheme != "https" or not urlsplit(url).hostname:
        raise ConfigurationError(
            f"{without_credentials(url)!r} cannot be fetched.", "Use https://, or a local path."
        )
    if not sha256:
        raise ConfigurationError(
            f"{without_credentials(url)!r} has no hash.",
            "Add #sha256=HEX; `sha256sum skills.zip` prints it.",
        )
    return sha256


def _hash(file: BinaryIO, limit: int) -> str:
    found, size = hashlib.sha256(), 0
    file.seek(0)
    while part := file.read(_CHUNK):
        size += len(part)
        if size > limit:
            raise RefusedError(
                f"It is larger than {limit} bytes (limit download_bytes).",
                "Take a smaller archive, or raise FetchLimits(download_bytes=...).",
            )
        found.update(part)
    file.seek(0)
    return found.hexdigest()


def _state(path: Path) -> tuple[int, ...] | None:
    """What tells one content of a file from the next; None where it may change unseen."""
    try:
        state = path.stat()
    except OSError:
        return ()
    if abs(time.time_ns() - max(state.st_mtime_ns, state.st_ctime_ns)) < _TICK_NS:
        return None
    return (state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_dev)
