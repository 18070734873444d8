"""Where short answers of language models are kept, so that a question costs once."""

from __future__ import annotations

from pathlib import Path

from skillcue_adapters.caching.stores import DiskStore, MemoryStore, TieredStore
from skillcue_hooks.protocols import CacheStore

__all__ = ["open_answers"]

MEMORY_BYTES = 8 * 2**20
"""Of the answers of one store in memory, bytes."""

DISK_BYTES = 64 * 2**20
"""Of the answers in one cache folder, bytes."""


def open_answers(cache_dir: Path | None) -> CacheStore:
    """A store in memory, with one on disk behind it where there is a folder.

    Args:
        cache_dir: The user's cache folder; answers are kept in its folder ``answers``.
    """
    memory = MemoryStore(max_bytes=MEMORY_BYTES)
    if cache_dir is None:
        return memory
    return TieredStore(memory, DiskStore(cache_dir / "answers", size_limit_bytes=DISK_BYTES))
