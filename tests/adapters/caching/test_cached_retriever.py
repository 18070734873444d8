"""CachedRetriever: hits are proved by a retriever that must not be called."""

from __future__ import annotations

import logging
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from skillcue_adapters import bm25
from skillcue_adapters.caching import CachedRetriever, MemoryStore
from skillcue_hooks.contracts import Hit, Library, Query, Ranking, RetrieverContext, Scope
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.language import Usage
from skillcue_hooks.protocols import Retriever, RetrieverFactory
from skillcue_hooks.testing import (
    RaisingRetriever,
    RetrieverConformance,
    make_library,
    make_skill,
)

SKILLS = (
    make_skill("prune-roses", "Prune roses in spring.", "Use clean secateurs.", tags=("garden",)),
    make_skill("water-roses", "Water roses and herbs."),
    make_skill("bake-bread", "Bake bread.", source="kitchen"),
)
LIBRARY = make_library(SKILLS)
QUERY = Query("water the roses", context="herbs", k=2, filters=(("trust", "trusted"),))


def bm25_over(library: Library, **settings: Any) -> Retriever:
    return bm25.build(library, RetrieverContext("bm25", settings, None, lambda mode: None))


def cached(inner: Retriever, store: MemoryStore, mode: str = "bm25") -> CachedRetriever:
    return CachedRetriever(inner, store, mode, LIBRARY)


class Scripted:
    """A retriever that does what a function says and counts how often it is asked."""

    fingerprint = "scripted"
    generation = LIBRARY.generation

    def __init__(self, answer: Callable[[Query], Ranking]) -> None:
        self._answer = answer
        self._lock = threading.Lock()
        self.calls = 0

    def search(self, query: Query) -> Ranking:
        with self._lock:
            self.calls += 1
        return self._answer(query)


def plain(query: Query) -> Ranking:
    return Ranking((Hit(SKILLS[0], 1.0, 1),), "scripted", total=1)


class TestCachedBm25(RetrieverConformance):
    """What holds for a retriever holds for it behind a cache."""

    @pytest.fixture
    def factory(self) -> RetrieverFactory:
        def build(library: Library, context: RetrieverContext) -> CachedRetriever:
            previous = getattr(context.previous, "inner", None)
            inner = bm25.build(library, replace(context, previous=previous))
            return CachedRetriever(inner, MemoryStore(), "bm25", library)

        return build

    @pytest.fixture
    def other_settings(self) -> dict[str, float]:
        return {"k1": 1.2}


# --- hits and misses ----------------------------------------------------------------------


def test_a_hit_asks_nobody_and_equals_the_computed_answer() -> None:
    store = MemoryStore()
    inner = bm25_over(LIBRARY)
    computed = cached(inner, store).search(QUERY)
    assert len(computed.hits) == 2
    assert not computed.cached
    trap = RaisingRetriever(inner.fingerprint, inner.generation)
    answer = cached(trap, store).search(QUERY)
    assert answer == replace(computed, cached=True, elapsed_s=answer.elapsed_s)
    assert all(hit.skill is LIBRARY.skills[LIBRARY.skills.index(hit.skill)] for hit in answer.hits)
    assert 0.0 < answer.elapsed_s < 1.0


@pytest.mark.parametrize(
    "flip",
    [
        {"text": "water roses"},
        {"context": ""},
        {"k": 1},
        {"offset": 1},
        {"filters": ()},
        {"filters": (("tag", "garden"),)},
        {"scope": Scope("all", lambda skill: True)},
    ],
    ids=lambda flip: next(iter(flip)),
)
def test_another_query_is_a_miss(flip: dict[str, Any]) -> None:
    store = MemoryStore()
    inner = bm25_over(LIBRARY)
    cached(inner, store).search(QUERY)
    trap = RaisingRetriever(inner.fingerprint, inner.generation)
    with pytest.raises(AssertionError, match="was called"):
        cached(trap, store).search(replace(QUERY, **flip))


def test_another_mode_or_setting_is_a_miss() -> None:
    store = MemoryStore()
    inner = bm25_over(LIBRARY)
    cached(inner, store).search(QUERY)
    other = bm25_over(LIBRARY, k1=1.2).fingerprint
    for fingerprint, mode in ((inner.fingerprint, "hybrid"), (other, "bm25")):
        trap = RaisingRetriever(fingerprint, inner.generation)
        with pytest.raises(AssertionError, match="was called"):
            cached(trap, store, mode).search(QUERY)


def test_another_generation_is_a_miss() -> None:
    store = MemoryStore()
    inner = bm25_over(LIBRARY)
    cached(inner, store).search(QUERY)
    edited = make_library([*SKILLS[:2], make_skill("bake-bread", "Bake rye bread.")])
    trap = RaisingRetriever(inner.fingerprint, edited.generation)
    with pytest.raises(AssertionError, match="was called"):
        CachedRetriever(trap, store, "bm25", edited).search(QUERY)


def test_a_damaged_entry_is_computed_again_and_replaced() -> None:
    store = MemoryStore()
    inner = Scripted(plain)
    retriever = cached(inner, store)
    retriever.search(QUERY)
    (key,) = store._entries
    store.put(key, "{damaged")
    assert not retriever.search(QUERY).cached
    assert retriever.search(QUERY).cached
    assert inner.calls == 2


def test_the_wrong_library_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="generation"):
        CachedRetriever(bm25_over(LIBRARY), MemoryStore(), "bm25", make_library(SKILLS[:1]))


def test_degraded_rankings_are_never_stored() -> None:
    inner = Scripted(lambda query: replace(plain(query), degraded="no time"))
    retriever = cached(inner, MemoryStore())
    for _ in range(2):
        answer = retriever.search(QUERY)
        assert (answer.degraded, answer.cached) == ("no time", False)
    assert inner.calls == 2


def test_what_cannot_be_written_is_answered_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    inner = Scripted(lambda query: Ranking((Hit(SKILLS[0], float("nan"), 1),), "scripted"))
    retriever = cached(inner, MemoryStore())
    with caplog.at_level(logging.WARNING, "skillcue.cache"):
        assert retriever.search(QUERY).hits
        assert retriever.search(QUERY).hits
    assert len(caplog.records) == 2
    assert inner.calls == 2


def test_a_hit_costs_well_under_a_third_of_a_millisecond() -> None:
    retriever = cached(bm25_over(LIBRARY), MemoryStore())
    query = replace(QUERY, text="water the roses " * 80)
    retriever.search(query)
    times = []
    for _ in range(200):
        started = time.perf_counter()
        assert retriever.search(query).cached
        times.append(time.perf_counter() - started)
    assert statistics.median(times) < 0.0003


# --- one computation for many -------------------------------------------------------------


def ask_together(retriever: CachedRetriever, threads: int) -> list[Ranking | BaseException]:
    """The answers of threads that ask at once; fewer than `threads` where some wait for ever."""
    barrier = threading.Barrier(threads)
    answers: list[Ranking | BaseException] = []

    def ask() -> None:
        barrier.wait()
        try:
            answers.append(retriever.search(QUERY))
        except BaseException as error:  # noqa: BLE001  it is what the test looks at
            answers.append(error)

    asking = [threading.Thread(target=ask, daemon=True) for _ in range(threads)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join(5)
    return answers


def slow(query: Query) -> Ranking:
    time.sleep(0.2)
    return plain(query)


def test_concurrent_identical_misses_compute_once() -> None:
    inner = Scripted(slow)
    answers = ask_together(cached(inner, MemoryStore()), 8)
    assert inner.calls == 1
    assert {answer.hits for answer in answers if isinstance(answer, Ranking)} == {plain(QUERY).hits}
    assert len(answers) == 8


def test_what_an_answer_cost_is_told_once() -> None:
    spent = Usage(1, 700, 80, 0.25)
    inner = Scripted(lambda query: replace(slow(query), cost=spent))
    retriever = cached(inner, MemoryStore())
    together = ask_together(retriever, 8)
    later = retriever.search(QUERY)
    assert inner.calls == 1
    costs = [ranking.cost for ranking in together if isinstance(ranking, Ranking)]
    assert sorted(costs, key=lambda cost: cost.calls) == [*[Usage()] * 7, spent]
    assert (later.cached, later.cost) == (True, Usage())


def test_a_thread_that_missed_just_before_the_answer_landed_does_not_compute() -> None:
    """Between its look into the store and taking off, another thread lands."""
    inner = Scripted(plain)
    landed = threading.Event()

    class LateStore(MemoryStore):
        def get(self, key: str) -> str | None:
            value = super().get(key)
            if value is None and threading.current_thread().name == "late":
                landed.wait(5)
            return value

    retriever = cached(inner, LateStore())
    late = threading.Thread(target=retriever.search, args=(QUERY,), name="late")
    late.start()
    time.sleep(0.05)
    retriever.search(QUERY)
    landed.set()
    late.join(5)
    assert inner.calls == 1


def test_different_questions_do_not_wait_for_each_other() -> None:
    gate = threading.Event()

    def answer(query: Query) -> Ranking:
        if query.text == "slow":
            assert gate.wait(5)
        return plain(query)

    retriever = cached(Scripted(answer), MemoryStore())
    waiting = threading.Thread(target=retriever.search, args=(Query("slow"),))
    waiting.start()
    assert retriever.search(Query("fast")).hits
    assert waiting.is_alive()
    gate.set()
    waiting.join(5)


def test_a_failure_reaches_everybody_and_is_not_remembered() -> None:
    def fail(query: Query) -> Ranking:
        time.sleep(0.2)
        raise LookupError("index is gone")

    inner = Scripted(fail)
    retriever = cached(inner, MemoryStore())
    answers = ask_together(retriever, 6)
    assert [str(answer) for answer in answers] == ["index is gone"] * 6
    assert inner.calls == 1
    inner._answer = plain
    assert retriever.search(QUERY).hits


def test_an_interrupt_stops_only_the_thread_it_hit() -> None:
    first = threading.Event()

    def interrupted_once(query: Query) -> Ranking:
        time.sleep(0.1)
        if not first.is_set():
            first.set()
            raise KeyboardInterrupt
        return plain(query)

    inner = Scripted(interrupted_once)
    answers = ask_together(cached(inner, MemoryStore()), 6)
    assert inner.calls == 2
    assert sum(isinstance(answer, KeyboardInterrupt) for answer in answers) == 1
    assert sum(isinstance(answer, Ranking) for answer in answers) == 5


def test_a_retriever_that_asks_itself_does_not_wait_for_itself() -> None:
    depth = 0

    def recursive(query: Query) -> Ranking:
        nonlocal depth
        depth += 1
        return plain(query) if depth > 1 else retriever.search(query)

    retriever = cached(Scripted(recursive), MemoryStore())
    done = threading.Thread(target=retriever.search, args=(QUERY,), daemon=True)
    done.start()
    done.join(5)
    assert not done.is_alive()


FORK = """
import os, sys, threading, time
from skillcue_adapters.caching import CachedRetriever, MemoryStore
from skillcue_hooks.contracts import Query, Ranking
from skillcue_hooks.testing import make_library

library = make_library([])
started = threading.Event()
parent = os.getpid()

class Slow:
    fingerprint, generation = "slow", library.generation
    def search(self, query):
        if os.getpid() == parent:
            started.set()
            time.sleep(2)
        return Ranking((), "slow", total=7)

store = MemoryStore()
retriever = CachedRetriever(Slow(), store, "slow", library)
thread = threading.Thread(target=retriever.search, args=(Query("q"),))
thread.start()
started.wait()
with store._lock, retriever._lock:  # the child is born with both held
    child = os.fork()
    if child == 0:
        os._exit(retriever.search(Query("q")).total)
deadline = time.monotonic() + 1.5
while time.monotonic() < deadline:
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        print(os.waitstatus_to_exitcode(status))
        break
    time.sleep(0.01)
else:
    os.kill(child, 9)
    print("the child hangs")
thread.join()
"""


def test_a_child_forked_in_mid_computation_computes_for_itself() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "7", done.stderr
