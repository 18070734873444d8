"""What is known to be in a vector store: few stores can list what they hold."""

from __future__ import annotations

import logging
import sqlite3
import weakref
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from skillcue_adapters.locks import ForkSafeLock
from skillcue_hooks.dense_leg import DenseLeg
from skillcue_hooks.fingerprint import fingerprint

__all__ = ["Ledger", "open_ledger"]

BUSY_WAIT_S = 5.0
"""How long a change of the ledger's file waits for another process, seconds."""

log = logging.getLogger("skillcue.vectors")

_shared: weakref.WeakKeyDictionary[Any, dict[Path | None, Ledger]] = weakref.WeakKeyDictionary()
_shared_lock = ForkSafeLock()


class Ledger:
    """Ids of texts in one dense leg. Safe to share between threads, its file between processes.

    A file that cannot be read or written is logged once; then it is kept in memory alone.

    Args:
        path: A SQLite file, made with its folder; None keeps it in memory.

    Attributes:
        turn: Whoever brings the store up to date holds it meanwhile.
    """

    def __init__(self, path: Path | None) -> None:
        self.turn = ForkSafeLock()
        self._path = path
        self._lock = ForkSafeLock()
        self._ids: set[str] | None = None

    def ids(self) -> frozenset[str]:
        """Those that are known."""
        with self._lock:
            return frozenset(self._known())

    def add(self, ids: Collection[str]) -> None:
        """They have been stored, or found to be."""
        with self._lock:
            new = [i for i in ids if i not in self._known()]
            self._known().update(new)
            self._write("insert or ignore into held values (?)", new)

    def remove(self, ids: Collection[str]) -> None:
        """They are gone, or may be."""
        with self._lock:
            self._known().difference_update(ids)
            self._write("delete from held where id = ?", ids)

    def _known(self) -> set[str]:
        if self._ids is None:
            self._ids = set()
            with self._open() as link:
                if link is not None:
                    self._ids.update(i for (i,) in link.execute("select id from held"))
        return self._ids

    def _write(self, statement: str, ids: Collection[str]) -> None:
        if ids:
            with self._open() as link:
                if link is not None:
                    link.executemany(statement, [(i,) for i in ids])
                    link.commit()

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection | None]:
        if self._path is None:
            yield None
            return
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=BUSY_WAIT_S)) as link:
                link.execute("create table if not exists held (id text primary key)")
                yield link
        except (OSError, sqlite3.Error) as error:
            log.warning("%s is not used any more: %s", self._path, error)
            self._path = None


def open_ledger(leg: DenseLeg, cache_dir: Path | None) -> Ledger:
    """The ledger that all modes and generations with this leg and folder share."""
    with _shared_lock:
        try:
            ledgers = _shared.setdefault(leg, {})
        except TypeError:  # neither hashable nor weakly referable: nothing to share by
            return Ledger(_path(leg, cache_dir))
        if cache_dir not in ledgers:
            ledgers[cache_dir] = Ledger(_path(leg, cache_dir))
        return ledgers[cache_dir]


def _path(leg: DenseLeg, cache_dir: Path | None) -> Path | None:
    if cache_dir is None:
        return None
    return cache_dir / "vector_stores" / f"{fingerprint(leg.fingerprint)[:32]}.db"
