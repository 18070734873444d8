"""Augmentations in the user's cache folder, by content and by what made them.

One file of lines, each with a hash of itself, appended as they are made: a process that is killed
leaves a last line that is not whole, which is made again like any other damaged one. Whoever adds to
the file takes damaged lines out of it first. Nothing is unpickled, and no skill file is ever touched.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO

from skillcue_adapters.augment.augmentation import VERSION, Augmentation
from skillcue_adapters.augment.pseudo_queries import PseudoQuery
from skillcue_adapters.locks import only_process
from skillcue_adapters.whole_files import write_whole
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.language import Usage

__all__ = ["AugmentationStore", "Writer"]

log = logging.getLogger("skillcue.augment")

_HASH_CHARS = 32

_told: set[Path] = set()
"""Files about whose damage this process has warned."""


class AugmentationStore:
    """What has been made so far, as of when it was opened.

    Args:
        cache_dir: The user's folder; need not exist.

    Attributes:
        path: The file.
        damaged: Lines of the file that cannot be read.
    """

    def __init__(self, cache_dir: Path) -> None:
        self.path = Path(cache_dir) / "augment" / f"v{VERSION}.jsonl"
        self.damaged = 0
        self._made: dict[str, dict[str, str]] = {}
        self._load()

    @property
    def is_empty(self) -> bool:
        """There is nothing in it."""
        return not self._made

    def get(self, key: str, maker: str) -> Augmentation | None:
        """What `maker` made of the content with that `key`; None where it is to be made."""
        text = self._made.get(key, {}).get(maker)
        return None if text is None else _decoded(text)

    def best(self, key: str) -> Augmentation | None:
        """What a model made before what the rules made, and of several models the latest's."""
        made = self._made.get(key, {})
        makers = [m for m in reversed(made) if m != "rules"]
        found = (self.get(key, maker) for maker in [*makers, "rules"])
        return next((item for item in found if item is not None), None)

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """A way to add to the file, for one process at a time.

        Raises:
            ConfigurationError: Another process is adding, or the folder cannot be written.
        """
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with only_process(self.path.with_name("lock")) as alone:
                if not alone:
                    raise ConfigurationError(
                        f"Another process augments into {self.path.parent}.",
                        "Wait until it is done, or name another folder: --cache FOLDER",
                    )
                if self.damaged:
                    self._clean()
                with self.path.open("a+b") as file:
                    yield Writer(self, file)
        except OSError as error:
            raise ConfigurationError(
                f"{self.path.parent} cannot be written: {error}.", "Name another folder: --cache"
            ) from error

    def remember(self, key: str, maker: str, text: str) -> None:
        """Note what `Writer` wrote."""
        made = self._made.setdefault(key, {})
        made.pop(maker, None)  # the latest comes last
        made[maker] = text

    def _load(self) -> None:
        try:
            for line in self._lines():
                parts = _parts(line)
                if parts is None:
                    self.damaged += 1
                else:
                    self.remember(*parts)
        except FileNotFoundError:
            return
        except OSError as error:
            self._warn(f"cannot be read: {error}")
        if self.damaged:
            self._warn(f"has {self.damaged} damaged line{'' if self.damaged == 1 else 's'}")

    def _warn(self, what: str) -> None:
        """Once a process: whoever only reads opens the file with every state of a library."""
        if self.path not in _told:
            _told.add(self.path)
            log.warning("%s %s; `skillcue augment` makes anew what is missing", self.path, what)

    def _lines(self) -> Iterator[str]:
        # What is written is ASCII; whatever else is there fails its hash.
        with self.path.open(encoding="ascii", errors="replace", newline="\n") as lines:
            yield from lines

    def _clean(self) -> None:
        """Write the file without its damaged lines, as it is now: others may have added to it."""
        write_whole(self.path, "".join(line for line in self._lines() if _parts(line)))
        self.damaged = 0


class Writer:
    """Adds to the file of an `AugmentationStore`; not for several threads."""

    def __init__(self, store: AugmentationStore, file: BinaryIO) -> None:
        self._store = store
        self._file = file
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # a line that a killed process began
                file.write(b"\n")

    def put(self, key: str, maker: str, made: Augmentation) -> None:
        """Store what `maker` made; it is safe from a kill of this process when this returns.

        Raises:
            OSError: It cannot be written.
        """
        text = json.dumps(asdict(made), ensure_ascii=True, separators=(",", ":"))
        rest = f"{key} {maker} {text}"
        self._file.write(f"{_digest(rest)} {rest}\n".encode("ascii"))
        self._file.flush()
        self._store.remember(key, maker, text)


def _parts(line: str) -> list[str] | None:
    """Key, maker and text of a line; None where it is damaged."""
    digest, _, rest = line.rstrip("\n").partition(" ")
    parts = rest.split(" ", 2)
    return parts if len(parts) == 3 and digest == _digest(rest) else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]


def _decoded(text: str) -> Augmentation | None:
    try:
        fields = json.loads(text)
        fields["queries"] = tuple(
            PseudoQuery(q["text"], q["capability"], tuple((n, v) for n, v in q["values"]))
            for q in fields["queries"]
        )
        fields["usage"] = Usage(**fields["usage"])
        fields["tags"] = tuple(fields["tags"])
        fields["capabilities"] = tuple(fields["capabilities"])
        return Augmentation(**fields)
    except (ValueError, TypeError, KeyError, RecursionError):  # written by other code
        return None
