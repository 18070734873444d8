"""`StoreLeg`: a `DenseLeg` over a store of any framework, which tells only how to talk to it."""

from __future__ import annotations

import logging
import uuid
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from skillcue_adapters.locks import ForkSafeLock

__all__ = ["ID", "TENANT", "Found", "Record", "StoreLeg"]

ID = "skillcue_id"
"""Field of a stored record with the id of the text."""

TENANT = "skillcue_tenant"
"""Field of a stored record with the tenant, for filters of the store."""

GROWTH = 4
"""Where results of others took places, so many times as many are asked for."""

MOST_ASKED = 10_000
"""Results that a store is asked for at most."""

_NAMES = uuid.UUID("6f0b7f0e-5d0a-5f5e-9a35-5c1d6a0e4b71")

log = logging.getLogger("skillcue.vectors")


@dataclass(frozen=True, slots=True)
class Record:
    """A text as a store keeps it.

    Attributes:
        key: Its id in the store, a UUID as text, which is what every store takes.
        id: Its id for whoever stored it.
        tenant: Whose it is.
        text: The text.
    """

    key: str
    id: str
    tenant: str
    text: str

    @property
    def fields(self) -> dict[str, str]:
        """What is stored beside the text."""
        return {ID: self.id, TENANT: self.tenant}


@dataclass(frozen=True, slots=True)
class Found:
    """One result of a store.

    Attributes:
        id: As in `Record.id`; None for what somebody else has put there.
        tenant: As in `Record.tenant`.
        score: Higher is better.
    """

    id: str | None
    tenant: str | None
    score: float


class StoreLeg(ABC):
    """See `skillcue_hooks.dense_leg.DenseLeg`; as safe to share between threads as the store.

    Args:
        fingerprint: As there.
        tenant: Whose texts they are; others' are never returned, whatever the store gives.
        filtered: The store is told to leave out what belongs to others.

    Attributes:
        fingerprint: As given.
        tenant: As given.
    """

    def __init__(self, fingerprint: str, tenant: str, filtered: bool) -> None:
        self.fingerprint = fingerprint
        self.tenant = tenant
        self._filtered = filtered
        self._lock = ForkSafeLock()
        self._changes = 0
        self._sent: set[str] = set()  # of a store that cannot tell what it holds
        self._warned = False

    @property
    def revision(self) -> str:
        """See `DenseLeg`."""
        return str(self._changes)

    def stored(self, ids: Sequence[str]) -> Collection[str] | None:
        """See `DenseLeg`."""
        keys = {self._key(i): i for i in ids}
        held = self._held(list(keys)) if keys else ()
        return None if held is None else {keys[key] for key in held if key in keys}

    def upsert(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """See `DenseLeg`."""
        held = self._known(ids)
        records = {
            i: Record(self._key(i), i, self.tenant, text)
            for i, text in zip(ids, texts, strict=True)
            if i not in held
        }
        if records:
            self._put(list(records.values()))
            self._changed(put=records)

    def delete(self, ids: Sequence[str]) -> None:
        """See `DenseLeg`."""
        told = self.stored(ids)
        gone = list(dict.fromkeys(ids)) if told is None else sorted(told)
        if gone:
            self._remove([self._key(i) for i in gone])
            self._changed(gone=gone)

    def search(self, text: str, k: int) -> Sequence[tuple[str, float]]:
        """See `DenseLeg`.

        Results of others are dropped, and more are asked for as long as more come. A store that
        filters after it has searched gives too few whatever it is asked for; then it is asked
        without its filter.
        """
        own = self._own(text, k, self._filtered)
        if len(own) < k and self._filtered:
            unfiltered = self._own(text, k, False)
            if len(unfiltered) > len(own):
                self._warn(len(own), len(unfiltered))
                own = unfiltered
        return own[:k]

    @abstractmethod
    def _held(self, keys: Sequence[str]) -> Collection[str] | None:
        """Those of `keys` that are in the store; None where it cannot tell."""

    @abstractmethod
    def _put(self, records: Sequence[Record]) -> None:
        """Store records that are not there."""

    @abstractmethod
    def _remove(self, keys: Sequence[str]) -> None:
        """Remove records."""

    @abstractmethod
    def _find(self, text: str, count: int, filtered: bool) -> Sequence[Found]:
        """The `count` best results, best first."""

    def _own(self, text: str, k: int, filtered: bool) -> list[tuple[str, float]]:
        asked, before = k, -1
        while True:
            found = self._find(text, asked, filtered)
            own: dict[str, float] = {}
            for item in found:
                if item.id is not None and item.tenant == self.tenant:
                    own.setdefault(item.id, item.score)
            # Fewer than asked for may be all there is, or what a filter left: the next time tells.
            if len(own) >= k or len(found) <= before or asked >= MOST_ASKED:
                return list(own.items())
            asked, before = min(asked * GROWTH, MOST_ASKED), len(found)

    def _known(self, ids: Sequence[str]) -> Collection[str]:
        told = self.stored(ids)
        return self._sent if told is None else told

    def _changed(self, put: Collection[str] = (), gone: Collection[str] = ()) -> None:
        with self._lock:
            self._changes += 1
            self._sent.update(put)
            self._sent.difference_update(gone)

    def _key(self, text_id: str) -> str:
        return str(uuid.uuid5(_NAMES, f"{self.tenant}\0{text_id}"))

    def _warn(self, filtered: int, unfiltered: int) -> None:
        if not self._warned:
            self._warned = True
            log.warning(
                "with its filter the store gave %d results, without it %d of the same tenant: it "
                "filters after it has searched (pgvector: set hnsw.iterative_scan)",
                filtered,
                unfiltered,
            )
