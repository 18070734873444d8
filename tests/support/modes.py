"""Retrieval modes for tests: they count what turns ask for, wait, fail, or mark what they answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

from skillcue_hooks import Library, Query, Ranking, RetrieverContext, hookimpl

__all__ = ["CountingModes", "StandInMode"]


class _Mode:
    def __init__(self, owner: CountingModes, library: Library, context: RetrieverContext) -> None:
        self._owner = owner
        self._mode = context.mode
        self._inner = context.retriever("bm25")
        self.fingerprint = f"test:{context.mode}"
        self.generation = library.generation

    def search(self, query: Query) -> Ranking:
        self._owner.called(self._mode, query)
        ranking = self._inner.search(query)
        return replace(ranking, mode=self._mode, cached=False)


class CountingModes:
    """A plugin with the modes `names`, each of them bm25 with a counter.

    Args:
        names: Modes to register.
        delay: Seconds each search sleeps.
        error: What each search raises.
    """

    def __init__(
        self,
        *names: str,
        delay: float = 0.0,
        error: Callable[[], Exception] | None = None,
    ) -> None:
        self._names = names
        self._delay = delay
        self.error = error
        self.calls: list[tuple[str, str]] = []
        self.queries: list[Query] = []
        self.threads: list[int] = []
        self._lock = threading.Lock()

    @hookimpl
    def skillcue_register_retrievers(self, register: Callable[..., None]) -> None:
        for name in self._names:
            register(name, lambda library, context: _Mode(self, library, context))

    def called(self, mode: str, query: Query) -> None:
        if threading.current_thread().name == "skillcue-gate":
            return  # the gate is being fitted to the library: no turn asked for it
        with self._lock:
            self.calls.append((mode, query.text))
            self.queries.append(query)
            self.threads.append(threading.get_ident())
        if self._delay:
            time.sleep(self._delay)
        if self.error:
            raise self.error()


class StandInMode:
    """A plugin with the mode ``stand_in``: bm25 that says it is a stand-in, as long as it is one.

    Attributes:
        degraded: What it says; None when it is none any more.
    """

    def __init__(self) -> None:
        self.degraded: str | None = "the good index is not ready"

    @hookimpl
    def skillcue_register_retrievers(self, register: Callable[..., None]) -> None:
        register("stand_in", self._build)

    def _build(self, library: Library, context: RetrieverContext) -> SimpleNamespace:
        inner = context.retriever("bm25")

        def search(query: Query) -> Ranking:
            return replace(inner.search(query), degraded=self.degraded)

        return SimpleNamespace(fingerprint="stand_in", generation=library.generation, search=search)
