"""Cached text in a LangGraph ``BaseCache``, which machines may share. A failure is a miss."""

from __future__ import annotations

import logging
import math
import os
import time
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from skillcue_adapters.locks import ForkSafeLock
from skillcue_hooks.errors import ConfigurationError

__all__ = ["SharedStore"]

KIND = "skillcue-text"
"""Stands beside every value that was put here; what stands beside others is not read."""

log = logging.getLogger("skillcue.cache")

Key = tuple[tuple[str, ...], str]


class SharedStore:
    """A `CacheStore` over a LangGraph cache, such as ``RedisCache`` or ``SqliteCache``.

    Nothing but text goes in and nothing but text comes out: values pass by the cache's own
    serializer, which may build objects from what it reads, and so run code. A failure, or an
    operation that takes longer than `slow_s`, is logged, and the cache is then left alone for
    `retry_after_s`. The cache is not closed here, and not used in a forked child: few clients can
    be carried over a fork.

    Args:
        cache: The cache. Its client should have a time limit: an operation is not interrupted.
        namespace: Where in the cache; `clear` removes that alone.
        ttl_s: How long a value is kept, seconds; None as long as the cache keeps it.
        slow_s: Longest time an operation should take, seconds.
        retry_after_s: Pause after a failure, seconds.

    Raises:
        ConfigurationError: `namespace` or `ttl_s` is out of range.
    """

    def __init__(
        self,
        cache: Any,
        namespace: tuple[str, ...] = ("skillcue",),
        ttl_s: int | None = None,
        slow_s: float = 0.25,
        retry_after_s: float = 30.0,
    ) -> None:
        _check(namespace, ttl_s)
        self.namespace = namespace
        self.ttl_s = ttl_s
        self.slow_s = slow_s
        self.retry_after_s = retry_after_s
        self._cache = _text_only(cache)
        self._kept = cache  # some close their connection when they are collected
        self._pid = os.getpid()
        self._lock = ForkSafeLock()
        self._resting_until = -math.inf

    def get(self, key: str) -> str | None:
        place = (self.namespace, key)
        found: Mapping[Key, Any] | None = self._try("get", [place])
        value = None if not found else found.get(place)
        return value if isinstance(value, str) else None

    def put(self, key: str, value: str) -> None:
        self._try("set", {(self.namespace, key): (value, self.ttl_s)})

    def clear(self) -> None:
        self._try("clear", [self.namespace])

    def close(self) -> None:
        """Nothing: whoever made the cache closes it."""

    def _try(self, operation: str, argument: Sequence[Any] | Mapping[Any, Any]) -> Any:
        began = time.monotonic()
        if began < self._resting_until or self._pid != os.getpid():
            return None
        try:
            method: Callable[..., Any] = getattr(self._cache, operation)
            found = method(argument)
        except Exception as error:  # noqa: BLE001  a client may raise anything
            self._rest(f"{type(error).__name__}: {error}")
            return None
        took = time.monotonic() - began
        if took > self.slow_s:
            self._rest(f"{operation} took {took:.2f} s")
        return found

    def _rest(self, reason: str) -> None:
        with self._lock:
            now = time.monotonic()
            if now < self._resting_until:
                return
            self._resting_until = now + self.retry_after_s
        name = type(self._kept).__name__
        log.warning("%s is not used for %g s: %s", name, self.retry_after_s, reason)


def _text_only(cache: Any) -> Any:
    """A second object of the cache's class with the same state, but for the serializer.

    The cache itself goes on with its own, for whoever else uses it.
    """
    kind = type(cache)
    own = {"serde": property(lambda _: _TextSerializer), "__del__": lambda _: None}
    made = types.new_class(kind.__name__, (kind,), {}, lambda body: body.update(own))
    twin: Any = object.__new__(made)
    twin.__dict__ = cache.__dict__  # shared, not copied
    return twin


class _TextSerializer:
    """Text as UTF-8; what is of any other kind is None."""

    @staticmethod
    def dumps_typed(value: str) -> tuple[str, bytes]:
        return KIND, value.encode("utf-8", "surrogatepass")

    @staticmethod
    def loads_typed(data: tuple[str, bytes]) -> str | None:
        kind, value = data
        if kind != KIND:
            log.warning("a cache entry of kind %r is not text and is ignored", kind)
            return None
        return bytes(value).decode("utf-8", "surrogatepass")


def _check(namespace: object, ttl_s: object) -> None:
    parts = namespace if isinstance(namespace, tuple) else ()
    # Caches join the parts, by a comma or a colon.
    if not parts or any(not isinstance(p, str) or not p or set(p) & set(",:") for p in parts):
        raise ConfigurationError(
            f"namespace is {namespace!r}.",
            'Pass a tuple of texts without commas and colons, such as ("skillcue",).',
        )
    whole = isinstance(ttl_s, int) and not isinstance(ttl_s, bool) and ttl_s > 0
    if ttl_s is not None and not whole:
        raise ConfigurationError(f"ttl_s is {ttl_s!r}.", "Pass whole seconds, 1 or more, or None.")
