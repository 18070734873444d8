"""Where fetched skills lie: one folder for each content, put in place as a whole.

::

    <cache>/sources/<key of the source>/
        last.json                 digest and time of the last good fetch
        <hex of a digest>/        one content, never changed once it is there
            notes.json            what was left out
            tree/<name>/...       the files
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from skillcue.remote.limits import FetchLimits
from skillcue.remote.paths import folder_name
from skillcue.remote.tree import LeftOut, TreeWriter
from skillcue_adapters.locks import next_process
from skillcue_hooks.fingerprint import fingerprint

__all__ = ["TOUCH_S", "Entry", "Last", "SourceStore"]

UNUSED_S = 3600.0
"""A content that no process has used for so long is removed, seconds; see `TOUCH_S`."""
TOUCH_S = 600.0
"""How often a process that uses a content says so, seconds."""
LEFT_OVER_S = 3600.0
"""A half-written folder of that age belongs to a process that died, seconds."""

log = logging.getLogger("skillcue.library")

_reported: set[Path] = set()
"""Cache folders about which this process has warned; one warning serves all sources."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One content on disk.

    Attributes:
        digest: What was pinned, such as ``git:<commit>`` or ``sha256:<hex>``.
        folder: The folder that holds its files.
        left_out: What is not in it.
    """

    digest: str
    folder: Path
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True)
class Last:
    """The last good fetch by any process.

    Attributes:
        digest: What it brought.
        at: When, seconds since 1970.
        state: What the source needs to see that nothing changed since.
    """

    digest: str
    at: float
    state: str = ""


class SourceStore:
    """The folder of one source; shared by processes where there is a cache.

    Args:
        cache: Folder of the cache; None keeps everything in a temporary folder that is removed
            with this object. So does one that cannot be written; what lies in it is still read.
        identity: What tells the source from others; never stored as it is.
        name: Shown name of the folder that holds the files.
    """

    def __init__(self, cache: Path | None, identity: str, name: str) -> None:
        self._name = folder_name(name)
        self._identity = fingerprint(identity)[:32]
        self._shared = cache / "sources" / self._identity if cache else None
        self._cache = cache
        self._root: Path | None = None

    @property
    def root(self) -> Path:
        """The folder, made when it is first needed and readable by its owner only."""
        if self._root is None:
            self._root = self._writable() or self._temporary()
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._root

    def only_one(self, seconds: float) -> AbstractContextManager[None]:
        """Wait until no other process fetches this source, at most that long."""
        return next_process(self.root / "lock", seconds)

    def get(self, digest: str) -> Entry | None:
        """The content with that digest, if it is complete."""
        return next(filter(None, (self._entry(root, digest) for root in self._readable())), None)

    def _entry(self, root: Path, digest: str) -> Entry | None:
        place = root / _folder_of(digest)
        folder = place / "tree" / self._name
        try:
            notes = json.loads((place / "notes.json").read_text("utf-8"))
            left_out = tuple(LeftOut(str(n["path"]), str(n["reason"])) for n in notes)
        except (OSError, ValueError, TypeError, KeyError):
            return None
        if not folder.is_dir():
            return None
        with suppress(OSError):
            os.utime(place)
        return Entry(digest, folder, left_out)

    def put(self, digest: str, fill: Callable[[TreeWriter], None], limits: FetchLimits) -> Entry:
        """Make the content with that digest, unless it is there.

        Args:
            digest: Names it; the caller has verified it.
            fill: Writes the files.
            limits: Bounds.

        Raises:
            SourceFetchError: What `fill` raises; nothing is left behind.
        """

        def fill_named(tree: TreeWriter) -> str:
            fill(tree)
            return digest

        return self.get(digest) or self.put_unnamed(fill_named, limits)

    def put_unnamed(self, fill: Callable[[TreeWriter], str], limits: FetchLimits) -> Entry:
        """As `put`, where `fill` gives the digest once it has written the files."""
        self.prune()
        made = Path(tempfile.mkdtemp(prefix="new-", dir=self.root))
        try:
            tree = made / "tree" / self._name
            tree.mkdir(parents=True)
            writer = TreeWriter(tree, limits)
            digest = fill(writer)
            writer.finish()
            notes = [asdict(item) for item in writer.left_out]
            (made / "notes.json").write_text(json.dumps(notes), "utf-8")
            self._move(made, self._place(digest))
        finally:
            shutil.rmtree(made, ignore_errors=True)
        entry = self.get(digest)
        if entry is None:
            raise OSError(f"{self._place(digest)} cannot be written")
        return entry

    def last(self) -> Last | None:
        """The last good fetch, None where there was none."""
        return next(filter(None, map(_last_in, self._readable())), None)

    def remember(self, last: Last) -> None:
        """Note a good fetch for other processes and the next start."""
        descriptor, made = tempfile.mkstemp(prefix="last-", dir=self.root)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(asdict(last), file)
        os.replace(made, self.root / "last.json")

    def scratch(self) -> tempfile.TemporaryDirectory[str]:
        """A folder for the time of one fetch."""
        return tempfile.TemporaryDirectory(prefix="new-", dir=self.root, ignore_cleanup_errors=True)

    def prune(self) -> None:
        """Remove what died half-way, and contents that nobody has used for long."""
        now = time.time()
        last = self.last()
        kept = self._place(last.digest).name if last else ""
        for place in list(self.root.iterdir()):
            if place.name == kept or place.name in ("last.json", "lock"):
                continue
            bound = LEFT_OVER_S if place.name.startswith(("new-", "last-")) else UNUSED_S
            with suppress(OSError):
                if now - place.stat().st_mtime > bound:
                    _remove(place)

    def _readable(self) -> tuple[Path, ...]:
        """Where to look: what this process fetched, then a cache that it cannot write."""
        root = self.root
        return (root,) if self._shared in (None, root) else (root, self._shared)

    def _writable(self) -> Path | None:
        """The folder in the cache; None where there is no cache, or it cannot be written."""
        if self._cache is None or self._shared is None:
            return None
        try:
            self._shared.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._shared):
                return self._shared
        except OSError as error:
            if self._cache not in _reported:
                _reported.add(self._cache)
                log.warning(
                    "cache folder %s cannot be written (%s): what is fetched is kept in a "
                    "temporary folder, and fetched again by the next process",
                    self._cache,
                    error.strerror or error,
                )
            return None

    def _temporary(self) -> Path:
        made = Path(tempfile.mkdtemp(prefix="skillcue-source-"))
        weakref.finalize(self, _remove_own, str(made), os.getpid())
        return made

    def _place(self, digest: str) -> Path:
        return self.root / _folder_of(digest)

    def _move(self, made: Path, place: Path) -> None:
        if place.exists() and not self._is_complete(place):
            _remove(place)  # damaged, or emptied by someone
        with suppress(OSError):  # another process was first; its content is the same
            made.rename(place)

    def _is_complete(self, place: Path) -> bool:
        return (place / "notes.json").is_file() and (place / "tree" / self._name).is_dir()


def _folder_of(digest: str) -> str:
    return digest.rpartition(":")[2]


def _last_in(root: Path) -> Last | None:
    try:
        known = json.loads((root / "last.json").read_text("utf-8"))
        return Last(str(known["digest"]), float(known["at"]), str(known["state"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)


def _remove_own(folder: str, process: int) -> None:
    """Not in a forked child: the parent still reads it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
