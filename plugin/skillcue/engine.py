"""Modes to retrievers: built when first used, cached, rebuilt for each library generation."""

from __future__ import annotations

import functools
import importlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skillcue_hooks.contracts import Library, Query, Ranking, RetrieverContext
from skillcue_hooks.errors import ConfigurationError, PluginError, UnknownModeError
from skillcue_hooks.manager import SkillcuePluginManager
from skillcue_hooks.protocols import CacheStore, Retriever, RetrieverFactory

__all__ = ["Engine", "registered_factories"]

log = logging.getLogger("skillcue.engine")

GENERATIONS_KEPT = 2
"""A turn that began before an edit still finds the retriever of its own generation."""


def registered_factories(
    plugins: SkillcuePluginManager, hook: str = "skillcue_register_retrievers"
) -> dict[str, str | RetrieverFactory]:
    """Everything the plugins register, by name.

    Raises:
        PluginError: Two plugins claim one name, or a registration raises.
    """
    factories: dict[str, str | RetrieverFactory] = {}
    owners: dict[str, str] = {}
    for impl in getattr(plugins.hook, hook).get_hookimpls():
        owner = impl.plugin_name
        try:
            register = functools.partial(_register, factories, owners, owner)
            impl.function(**dict.fromkeys(impl.argnames, register))
        except PluginError:
            raise
        except Exception as error:  # whatever it is, it must be clear whose mistake it was
            raise PluginError(
                f"Plugin {owner} raised in {hook}: {error!r}.",
                f"Mend it, or block it with SKILLCUE_BLOCK_PLUGINS={owner}.",
            ) from error
    return factories


class Engine:
    """Finds, builds and keeps the retriever of a mode; safe to share between threads.

    Args:
        factories: Mode name to factory or ``"package.module:factory"``.
        settings: Settings by mode name.
        store: Where rankings are cached; None caches nothing.
        cache_dir: Folder for persisted indexes, None for none.

    Raises:
        UnknownModeError: `settings` names a mode that does not exist.
    """

    def __init__(
        self,
        factories: Mapping[str, str | RetrieverFactory],
        settings: Mapping[str, Mapping[str, Any]],
        store: CacheStore | None,
        cache_dir: Path | None,
    ) -> None:
        self._factories = dict(factories)
        self._settings = settings
        self._store = store
        self._cache_dir = cache_dir
        self._lock = threading.RLock()
        self._generations: OrderedDict[str, dict[str, Retriever]] = OrderedDict()
        self._latest: dict[str, Retriever] = {}
        for mode in settings:
            self.check_mode(mode)

    @property
    def modes(self) -> tuple[str, ...]:
        """Names of the registered modes, sorted."""
        return tuple(sorted(self._factories))

    def check_mode(self, mode: str) -> str:
        """`mode` itself.

        Raises:
            UnknownModeError: It is not registered.
        """
        if not isinstance(mode, str) or mode not in self._factories:
            raise UnknownModeError(str(mode), self._factories)
        return mode

    def search(self, query: Query, mode: str, library: Library) -> Ranking:
        """Rank `library` in `mode`; from the cache where the answer is known.

        Raises:
            UnknownModeError: The mode is not registered.
            ConfigurationError: A setting of the mode is wrong.
            MissingExtraError: The mode needs a package that is not installed.
        """
        return self.retriever(mode, library).search(query)

    def retriever(self, mode: str, library: Library) -> Retriever:
        """The cached retriever of `mode` over `library`, built when it is first asked for."""
        self.check_mode(mode)
        with self._lock:
            built = self._generations.setdefault(library.generation, {})
            self._generations.move_to_end(library.generation)
            while len(self._generations) > GENERATIONS_KEPT:
                self._generations.popitem(last=False)
            if mode not in built:
                built[mode] = self._build(mode, library)
            return built[mode]

    def close(self) -> None:
        """Release the cache."""
        if self._store is not None:
            self._store.close()

    def _build(self, mode: str, library: Library) -> Retriever:
        context = RetrieverContext(
            mode=mode,
            settings=self._settings.get(mode, {}),
            previous=self._latest.get(mode),
            retriever=lambda other: self.retriever(other, library),
            cache_dir=self._cache_dir,
        )
        retriever = self._factory(mode)(library, context)
        self._latest[mode] = retriever
        log.debug("mode %s indexes %d skills", mode, len(library.skills))
        if self._store is None:
            return retriever
        from skillcue_adapters.caching import CachedRetriever  # costs numpy only where used

        return CachedRetriever(retriever, self._store, mode, library)

    def _factory(self, mode: str) -> RetrieverFactory:
        factory = self._factories[mode]
        if isinstance(factory, str):
            factory = _imported(mode, factory)
            self._factories[mode] = factory
        if not callable(factory):
            raise PluginError(
                f"Mode {mode!r} is registered with {factory!r}.",
                'Register a callable or the text "package.module:factory".',
            )
        return factory


def _register(
    factories: dict[str, str | RetrieverFactory],
    owners: dict[str, str],
    owner: str,
    name: str,
    factory: str | RetrieverFactory,
) -> None:
    if not isinstance(name, str) or not name:
        raise PluginError(f"Plugin {owner} registers {name!r}.", "A mode's name is a text.")
    if name in factories:
        raise PluginError(
            f"Mode {name!r} is registered by {owners[name]} and by {owner}.",
            f"Block one of them with SKILLCUE_BLOCK_PLUGINS={owner}, or rename its mode.",
        )
    factories[name] = factory
    owners[name] = owner


def _imported(mode: str, target: str) -> RetrieverFactory:
    module_name, _, attribute = target.partition(":")
    try:
        found: RetrieverFactory = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        if isinstance(error, ConfigurationError):
            raise
        raise PluginError(
            f"Mode {mode!r} is registered as {target!r}, which cannot be imported: {error}.",
            'The form is "package.module:factory"; is its package installed?',
        ) from error
    return found
