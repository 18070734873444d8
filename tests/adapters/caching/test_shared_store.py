"""A LangGraph cache behind memory and folder: what goes in, what comes out, what a failure does."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from langgraph.cache.base import BaseCache
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from skillcue import SharedCache, SkillCue
from skillcue_adapters.caching import SharedStore
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.protocols import CacheStore

KEY = "a" * 64


class Flaky(InMemoryCache[Any]):
    """A cache that can be out of order, or slow."""

    def __init__(self) -> None:
        super().__init__()
        self.down = False
        self.seconds = 0.0
        self.asked = 0

    def get(self, keys: Sequence[Any]) -> dict[Any, Any]:
        self.asked += 1
        self._work()
        return super().get(keys)

    def set(self, keys: Mapping[Any, Any]) -> None:
        self._work()
        super().set(keys)

    def _work(self) -> None:
        if self.down:
            raise ConnectionError("no route")
        time.sleep(self.seconds)


def sqlite_cache(path: Path) -> BaseCache[Any]:
    module = pytest.importorskip("langgraph.cache.sqlite")
    cache: BaseCache[Any] = module.SqliteCache(path=str(path))
    return cache


@pytest.fixture(params=["memory", "sqlite"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> BaseCache[Any]:
    return InMemoryCache() if request.param == "memory" else sqlite_cache(tmp_path / "cache.db")


# --- text in, text out --------------------------------------------------------------------------


def test_it_keeps_text(cache: BaseCache[Any]) -> None:
    store = SharedStore(cache)
    assert isinstance(store, CacheStore)
    assert store.get(KEY) is None
    for value in ("one", "", "猫 \u0000", "x" * 100_000, "\ud800"):
        store.put(KEY, value)
        assert store.get(KEY) == value
    assert SharedStore(cache).get(KEY) == "\ud800"


def test_clearing_leaves_other_namespaces(cache: BaseCache[Any]) -> None:
    mine, other = SharedStore(cache), SharedStore(cache, ("other", "app"))
    mine.put(KEY, "mine")
    assert other.get(KEY) is None
    other.put(KEY, "theirs")
    mine.clear()
    assert (mine.get(KEY), other.get(KEY)) == (None, "theirs")


def test_a_value_is_gone_after_its_time(cache: BaseCache[Any]) -> None:
    store = SharedStore(cache, ttl_s=1)
    store.put(KEY, "one")
    deadline = time.monotonic() + 60
    while store.get(KEY) is not None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert store.get(KEY) is None


class Bomb:
    """Unpickling it leaves a mark."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return (Path.touch, (self.mark,))


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    mark = tmp_path / "exploded"
    cache = InMemoryCache[Any](serde=JsonPlusSerializer(pickle_fallback=True))
    cache._cache[("skillcue",)] = {KEY: ("pickle", pickle.dumps(Bomb(mark)), None)}
    assert SharedStore(cache).get(KEY) is None
    assert not mark.exists()
    cache.get([(("skillcue",), KEY)])  # the cache itself would have
    assert mark.exists()


def test_values_of_the_caches_own_kind_are_misses(
    cache: BaseCache[Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "skillcue.cache")
    cache.set({(("skillcue",), KEY): ("text by another", None)})
    store = SharedStore(cache)
    assert store.get(KEY) is None
    assert "not text" in caplog.text
    store.put(KEY, "mine")
    assert store.get(KEY) == "mine"


def test_the_cache_is_as_it_was_for_others(cache: BaseCache[Any]) -> None:
    place = (("graph",), "node")
    cache.set({place: ({"a": 1}, None)})
    SharedStore(cache).put(KEY, "mine")
    assert cache.get([place]) == {place: {"a": 1}}


# --- failures -----------------------------------------------------------------------------------


def test_a_failure_is_a_miss_and_the_cache_rests(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "skillcue.cache")
    cache = Flaky()
    store = SharedStore(cache, retry_after_s=1000.0)
    store.put(KEY, "one")
    cache.down = True
    assert [store.get(KEY) for _ in range(3)] == [None] * 3
    assert cache.asked == 1
    assert len(caplog.records) == 1
    cache.down = False
    assert store.get(KEY) is None  # still resting


def test_it_is_used_again_after_the_rest() -> None:
    cache = Flaky()
    store = SharedStore(cache, retry_after_s=0.0)
    store.put(KEY, "one")
    cache.down = True
    assert store.get(KEY) is None
    cache.down = False
    assert store.get(KEY) == "one"


def test_a_slow_cache_rests(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "skillcue.cache")
    cache = Flaky()
    store = SharedStore(cache, slow_s=0.01, retry_after_s=1000.0)
    cache.seconds = 0.05
    store.put(KEY, "one")
    store.get(KEY)
    assert cache.asked == 0
    assert "took" in caplog.text


# --- behind a library ---------------------------------------------------------------------------


def test_rankings_are_found_in_the_cache_and_move_up(
    example_skills: Path, tmp_path: Path, cache: BaseCache[Any]
) -> None:
    shared = SharedCache(cache, folder=tmp_path / "near")
    with SkillCue(example_skills, mode="bm25", cache=shared) as cue:
        first = cue.lookup("merge two pdf files")
    with SkillCue(example_skills, mode="bm25", cache=cache) as cue:  # without a folder
        again = cue.lookup("merge two pdf files")
        assert again.cached
        assert again.hits == first.hits
        cache.clear()
        assert cue.lookup("merge two pdf files").cached  # from memory
    with SkillCue(example_skills, mode="bm25", cache=tmp_path / "near") as cue:
        assert cue.lookup("merge two pdf files").cached  # from the folder


def test_what_is_in_the_cache_and_no_ranking_is_a_miss(example_skills: Path) -> None:
    cache = InMemoryCache[Any]()
    with SkillCue(example_skills, mode="bm25", cache=cache) as cue:
        first = cue.lookup("merge two pdf files")
    store = SharedStore(cache)
    (key,) = cache._cache[("skillcue",)]
    for damage in ("", "{}", "[1]", '{"hits": [["no-such", 1.0, 1, {}]]}'):
        store.put(key, damage)
        with SkillCue(example_skills, mode="bm25", cache=cache) as cue:
            again = cue.lookup("merge two pdf files")
        assert (again.cached, again.hits) == (False, first.hits)


def test_a_cache_that_is_down_costs_nothing_but_hits(example_skills: Path) -> None:
    cache = Flaky()
    cache.down = True
    with SkillCue(example_skills, mode="bm25", cache=cache) as cue:
        assert cue.lookup("merge two pdf files").hits
        assert cue.lookup("merge two pdf files").cached  # memory goes on


def test_processes_share_rankings(example_skills: Path, tmp_path: Path) -> None:
    pytest.importorskip("langgraph.cache.sqlite")
    code = """
import sys
from langgraph.cache.sqlite import SqliteCache
from skillcue import SharedCache, SkillCue
with SkillCue(sys.argv[1], mode="bm25", cache=SharedCache(SqliteCache(path=sys.argv[2]))) as cue:
    ranking = cue.lookup("merge two pdf files")
print(ranking.cached, ranking.hits[0].skill.name)
"""
    command = [sys.executable, "-c", code, str(example_skills), str(tmp_path / "cache.db")]
    said = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        for _ in range(2)
    ]
    assert said == ["False pdf-merge-split", "True pdf-merge-split"]


# --- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("namespace", [(), "skillcue", ("a,b",), ("a:b",), ("",), (1,)])
def test_a_namespace_is_a_tuple_of_plain_texts(namespace: Any) -> None:
    with pytest.raises(ConfigurationError, match="namespace"):
        SharedStore(InMemoryCache(), namespace)


@pytest.mark.parametrize("ttl_s", [0, -1, 1.5, True, "1"])
def test_a_time_to_live_is_whole_seconds(ttl_s: Any) -> None:
    with pytest.raises(ConfigurationError, match="ttl_s"):
        SharedStore(InMemoryCache(), ttl_s=ttl_s)


def test_what_is_no_cache_is_said(example_skills: Path) -> None:
    wrong: Any = object()
    for cache in (wrong, SharedCache(wrong)):
        with pytest.raises(ConfigurationError, match=r"Pass .*Cache"):
            SkillCue(example_skills, cache=cache)
