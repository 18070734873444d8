"""What the user passes as ``cache``, turned into a store."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.protocols import CacheStore

__all__ = ["CacheSpec", "IndexOnly", "open_cache"]


@dataclass(frozen=True, slots=True)
class IndexOnly:
    """Keeps indexes in a folder and caches no ranking: for measuring.

    Attributes:
        folder: Made when it does not exist.
    """

    folder: Path


CacheSpec = str | os.PathLike[str] | CacheStore | IndexOnly | Literal[False] | None


def open_cache(cache: CacheSpec) -> tuple[CacheStore | None, Path | None]:
    """(store, folder for persisted indexes).

    Args:
        cache: None is a memory cache, a folder adds a cache on disk behind it, a `CacheStore` is
            used as it is, `IndexOnly` keeps indexes alone, False caches nothing.

    Raises:
        ConfigurationError: `cache` is something else, or a file where a folder should be.
    """
    if cache is False:
        return None, None
    if isinstance(cache, IndexOnly):
        return None, _folder(cache.folder)
    from skillcue_adapters.caching import DiskStore, MemoryStore, TieredStore

    if cache is None:
        return MemoryStore(), None
    if isinstance(cache, str | os.PathLike) and os.fspath(cache):
        folder = _folder(cache)
        return TieredStore(MemoryStore(), DiskStore(folder / "rankings")), folder
    if isinstance(cache, CacheStore):
        return cache, None
    raise ConfigurationError(f"cache is {cache!r}.", "Pass None, a folder, a CacheStore or False.")


def _folder(cache: str | os.PathLike[str]) -> Path:
    folder = Path(cache).expanduser().absolute()  # a process may change its folder
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(f"The cache {folder} is a file.", "Pass a folder.")
    return folder
