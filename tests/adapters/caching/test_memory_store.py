"""Stores in memory, and memory in front of disk."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from skillcue_adapters.caching import MemoryStore, TieredStore
from skillcue_hooks.protocols import CacheStore


def test_stores_fill_the_role() -> None:
    assert isinstance(MemoryStore(), CacheStore)
    assert isinstance(TieredStore(MemoryStore(), MemoryStore()), CacheStore)


def test_the_least_recently_used_entry_goes_first() -> None:
    store = MemoryStore(max_entries=2)
    store.put("a", "1")
    store.put("b", "2")
    assert store.get("a") == "1"
    store.put("c", "3")
    assert [store.get(key) for key in "abc"] == ["1", None, "3"]


def test_the_byte_limit_holds() -> None:
    entry = sys.getsizeof("a") + sys.getsizeof("x" * 1000)
    store = MemoryStore(max_bytes=2 * entry)
    for key in "abc":
        store.put(key, "x" * 1000)
    assert [store.get(key) is None for key in "abc"] == [True, False, False]
    store.put("d", "x" * 10_000)
    assert store.get("d") is None
    assert store.get("c") is not None


def test_replacing_an_entry_frees_its_bytes() -> None:
    store = MemoryStore(max_bytes=3000)
    for n in range(50):
        store.put("a", f"{n}" + "x" * 1000)
    store.put("b", "y" * 1000)
    assert store.get("a") is not None
    assert store.get("b") is not None


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.text(max_size=300)), max_size=60),
    st.integers(1, 5),
    st.integers(200, 2000),
)
def test_it_never_holds_more_than_its_limits(
    puts: list[tuple[str, str]], max_entries: int, max_bytes: int
) -> None:
    store = MemoryStore(max_entries, max_bytes)
    for key, value in puts:
        store.put(key, value)
        held = {k: v for k in "abcdef" if (v := store.get(k)) is not None}
        assert len(held) <= max_entries
        assert sum(sys.getsizeof(k) + sys.getsizeof(v) for k, v in held.items()) <= max_bytes
        if sys.getsizeof(key) + sys.getsizeof(value) <= max_bytes:
            assert held[key] == value


def test_threads_keep_the_books_straight() -> None:
    store = MemoryStore(max_entries=50)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def work(seed: int) -> None:
        for n in range(2000):
            store.put(f"k{(seed * 31 + n) % 97}", "x" * (n % 50))
            store.get(f"k{n % 97}")

    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
    finally:
        sys.setswitchinterval(interval)
    held = store._entries.items()
    assert len(held) <= 50
    assert store._bytes == sum(sys.getsizeof(k) + sys.getsizeof(v) for k, v in held)


def test_what_disk_finds_moves_up() -> None:
    memory, disk = MemoryStore(), MemoryStore()
    store = TieredStore(memory, disk)
    disk.put("a", "1")
    assert store.get("a") == "1"
    assert memory.get("a") == "1"
    store.put("b", "2")
    assert (memory.get("b"), disk.get("b")) == ("2", "2")
    memory.clear()
    assert store.get("b") == "2"
    store.clear()
    assert [memory.get("a"), disk.get("a"), store.get("b")] == [None] * 3
