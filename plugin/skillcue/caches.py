"""What the user passes as ``cache``, turned into a store."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.protocols import CacheStore

if TYPE_CHECKING:
    from langgraph.cache.base import BaseCache

__all__ = ["CacheSpec", "IndexOnly", "Near", "SharedCache", "open_cache"]


Near: TypeAlias = str | os.PathLike[str] | None
"""A folder, or memory alone."""


@dataclass(frozen=True, slots=True)
class IndexOnly:
    """Keeps indexes in a folder and caches no ranking: for measuring.

    Attributes:
        folder: Made when it does not exist.
    """

    folder: Path


@dataclass(frozen=True, slots=True)
class SharedCache:
    """Rankings in memory and in a folder, and behind them in a cache that machines share.

    Attributes:
        cache: A LangGraph ``BaseCache``, such as ``RedisCache``; whoever made it closes it. See
            `skillcue_adapters.caching.SharedStore` for what goes in and what a failure does.
        folder: As ``SkillCue(cache=folder)``; None keeps nothing on disk here.
        ttl_s: How long a ranking is kept in `cache`, whole seconds; None as long as it keeps it.
        namespace: Where in `cache`; texts without commas and colons.
    """

    cache: BaseCache[Any]
    folder: Near = None
    ttl_s: int | None = None
    namespace: tuple[str, ...] = ("skillcue",)


CacheSpec: TypeAlias = (
    "Near | CacheStore | IndexOnly | SharedCache | BaseCache[Any] | Literal[False]"
)


def open_cache(cache: CacheSpec) -> tuple[CacheStore | None, Path | None]:
    """(store, folder for persisted indexes).

    Args:
        cache: None is a memory cache, a folder adds a cache on disk behind it, a `CacheStore` is
            used as it is, `SharedCache` or a LangGraph cache adds a cache that machines share,
            `IndexOnly` keeps indexes alone, False caches nothing.

    Raises:
        ConfigurationError: `cache` is something else, or a file where a folder should be.
    """
    if cache is False:
        return None, None
    if isinstance(cache, IndexOnly):
        return None, _folder(cache.folder)
    if cache is None or (isinstance(cache, str | os.PathLike) and os.fspath(cache)):
        return _open_near(cache)
    if isinstance(cache, CacheStore):
        return cache, None
    if isinstance(cache, SharedCache):
        return _open_shared(cache)
    shared: Any = cache
    if _is_shared(shared):
        return _open_shared(SharedCache(shared))
    raise ConfigurationError(
        f"cache is {cache!r}.", "Pass None, a folder, a CacheStore, a SharedCache or False."
    )


def _open_shared(shared: SharedCache) -> tuple[CacheStore, Path | None]:
    from skillcue_adapters.caching import SharedStore, TieredStore

    if not _is_shared(shared.cache):
        raise ConfigurationError(
            f"SharedCache has a {type(shared.cache).__name__} as its cache.",
            "Pass a LangGraph BaseCache, such as langgraph.cache.redis.RedisCache.",
        )
    near, folder = _open_near(shared.folder)
    return TieredStore(near, SharedStore(shared.cache, shared.namespace, shared.ttl_s)), folder


def _open_near(cache: Near) -> tuple[CacheStore, Path | None]:
    """(memory, and where there is a folder the disk behind it; the folder)."""
    from skillcue_adapters.caching import DiskStore, MemoryStore, TieredStore

    if cache is None:
        return MemoryStore(), None
    folder = _folder(cache)
    return TieredStore(MemoryStore(), DiskStore(folder / "rankings")), folder


def _is_shared(cache: object) -> bool:
    base = sys.modules.get("langgraph.cache.base")  # whoever has such an object has loaded it
    return base is not None and isinstance(cache, base.BaseCache)


def _folder(cache: str | os.PathLike[str]) -> Path:
    folder = Path(cache).expanduser().absolute()  # a process may change its folder
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(f"The cache {folder} is a file.", "Pass a folder.")
    return folder
