"""`CachedRetriever`: any retriever, asked once for each distinct question."""

from __future__ import annotations

import logging
import os
import threading
import time
from concurrent.futures import Future
from dataclasses import replace

from skillcue_adapters.caching.codec import decode_ranking, encode_ranking, encoded_ids
from skillcue_adapters.caching.keys import ranking_key
from skillcue_adapters.locks import ForkSafeLock
from skillcue_adapters.skill_lookup import SkillLookup
from skillcue_hooks.contracts import Library, Query, Ranking, allow_all
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.language import Usage
from skillcue_hooks.protocols import CacheStore, Retriever

__all__ = ["CachedRetriever"]

log = logging.getLogger("skillcue.cache")


class _Abandoned(Exception):
    """The computing thread was interrupted; whoever waited computes for itself."""


class CachedRetriever:
    """A retriever that remembers rankings in a `CacheStore`.

    A cached answer equals the computed one except for ``cached=True``, ``elapsed_s`` and ``cost``:
    nothing is spent for it. Degraded
    rankings are never stored. Threads that ask the same question while it is being answered wait
    for that answer, or for its exception.

    Args:
        inner: What answers on a miss.
        store: Where rankings live; may be shared by retrievers and processes.
        mode: Name the retriever is registered under.
        library: What `inner` indexes; stored ids are resolved in it.

    Attributes:
        inner: As given; what the next generation is built from.

    Raises:
        ConfigurationError: `library` is not the generation that `inner` indexes.
    """

    def __init__(self, inner: Retriever, store: CacheStore, mode: str, library: Library) -> None:
        if inner.generation != library.generation:
            raise ConfigurationError(
                f"The retriever of mode {mode!r} indexes generation {inner.generation!r}, "
                f"not {library.generation!r}.",
                "Pass the library the retriever was built for.",
            )
        self.inner = inner
        self._in_index = library.index is not None
        self._store = store
        self._mode = mode
        self._lookup = SkillLookup(library)
        self._forget_flights()

    @property
    def fingerprint(self) -> str:
        """That of the retriever inside: caching changes no ranking."""
        return self.inner.fingerprint

    @property
    def generation(self) -> str:
        """That of the retriever inside."""
        return self.inner.generation

    def search(self, query: Query) -> Ranking:
        """The stored ranking, or the computed one; raises whatever the retriever inside raises."""
        if self._is_asked_about(query):
            return self.inner.search(query)
        started = time.perf_counter()
        key = ranking_key(self.fingerprint, self.generation, self._mode, query)
        while True:
            ranking = self._stored(key, started)
            if ranking is not None:
                return ranking
            flight, owner = self._board(key)
            if owner is None:
                return self._fly(key, query, flight)
            if owner == threading.get_ident():  # asked from inside its own answer: do not wait
                return self.inner.search(query)
            try:
                # What the answer cost was spent once, by the thread that computed it.
                return replace(flight.result(), cost=Usage())
            except _Abandoned:
                continue

    def _is_asked_about(self, query: Query) -> bool:
        """A policy is asked about each hit, since nobody can ask it about a whole index: nothing
        tells whether it says the same in another process, or after a restart.
        """
        scope = query.scope
        return self._in_index and scope is not None and scope.allows is not allow_all

    def _stored(self, key: str, started: float) -> Ranking | None:
        text = self._store.get(key)
        if text is None:
            return None
        ranking = decode_ranking(text, self._lookup.as_hits(encoded_ids(text)))
        if ranking is None:
            return None
        return replace(ranking, elapsed_s=time.perf_counter() - started)

    def _board(self, key: str) -> tuple[Future[Ranking], int | None]:
        """The flight that answers `key` and the thread that flies it, None for a new flight."""
        if self._pid != os.getpid():  # the threads that were flying did not survive the fork
            self._forget_flights()
        with self._lock:
            if key in self._flights:
                return self._flights[key]
            flight: Future[Ranking] = Future()
            self._flights[key] = (flight, threading.get_ident())
            return flight, None

    def _fly(self, key: str, query: Query, flight: Future[Ranking]) -> Ranking:
        try:
            # Another thread may have landed between the look into the store and boarding.
            ranking = self._stored(key, time.perf_counter()) or self._computed(key, query)
        except Exception as error:
            flight.set_exception(error)
            raise
        except BaseException:  # an interruption of this thread is no answer for those that wait
            flight.set_exception(_Abandoned())
            raise
        else:
            flight.set_result(ranking)
            return ranking
        finally:
            with self._lock:
                self._flights.pop(key, None)

    def _computed(self, key: str, query: Query) -> Ranking:
        ranking = self.inner.search(query)
        if ranking.degraded is None:
            try:
                self._store.put(key, encode_ranking(ranking))
            except (TypeError, ValueError) as error:
                log.warning("a ranking of mode %s is not cached: %s", self._mode, error)
        return ranking

    def _forget_flights(self) -> None:
        self._pid = os.getpid()
        self._lock = ForkSafeLock()
        self._flights: dict[str, tuple[Future[Ranking], int]] = {}
