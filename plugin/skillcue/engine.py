"""Modes to retrievers: built when first used, cached, rebuilt for each library generation."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillcue.registry import Factory, imported
from skillcue_adapters.locks import ForkSafeLock
from skillcue_hooks.contracts import Library, Query, Ranking, RetrieverContext
from skillcue_hooks.errors import ConfigurationError, UnknownModeError
from skillcue_hooks.protocols import CacheStore, Retriever

if TYPE_CHECKING:
    from skillcue_adapters.language_models import MeteredLanguageModel
    from skillcue_adapters.scoring import EncodingProgress

__all__ = ["Engine"]

log = logging.getLogger("skillcue.engine")

GENERATIONS_KEPT = 2
"""A turn that began before an edit still finds the retriever of its own generation."""


INDEX_GENERATIONS_KEPT = 16
"""The same for libraries in an index: each set of tenants that a policy leaves is one."""

LATEST_KEPT = 64
"""Retrievers that a next generation may build on: modes and sets of tenants."""


class Engine:
    """Finds, builds and keeps the retriever of a mode; safe to share between threads.

    Args:
        factories: Mode name to factory or ``"package.module:factory"``.
        settings: Settings by mode name.
        store: Where rankings are cached; None caches nothing.
        cache_dir: Folder for persisted indexes, None for none.
        encoder: Opens an encoder by spec, the default for None.
        defaults: What the user set for all modes.
        language_model: For modes that need one; its calls are counted by mode.

    Raises:
        UnknownModeError: `settings` names a mode that does not exist.
    """

    def __init__(
        self,
        factories: Mapping[str, Factory],
        settings: Mapping[str, Mapping[str, Any]],
        store: CacheStore | None,
        cache_dir: Path | None,
        encoder: Callable[[Any], Any],
        defaults: Mapping[str, Any],
        language_model: MeteredLanguageModel | None = None,
    ) -> None:
        self._factories = dict(factories)
        self._settings = settings
        self._store = store
        self._cache_dir = cache_dir
        self._encoder = encoder
        self._defaults = defaults
        self._language_model = language_model
        self._lock = ForkSafeLock()
        # One builds at a time, since a mode may ask for others; whoever needs nothing new to be
        # built does not wait.
        self._building = ForkSafeLock()
        self._under_way: list[str] = []  # modes that are being built, each for the one before it
        self._generations: OrderedDict[str, dict[str, Retriever]] = OrderedDict()
        self._latest: OrderedDict[tuple[str, tuple[str, ...]], Retriever] = OrderedDict()
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

    def check_language_model(self, mode: str) -> None:
        """Find out before anything is asked that `mode` needs what the user did not give.

        Raises:
            ConfigurationError: It needs a language model and there is none.
        """
        if self._language_model is not None:
            return
        factory = imported("mode", mode, self._factories[mode])
        if getattr(factory, "needs_language_model", False):
            raise ConfigurationError(
                f"Mode {mode!r} needs a language model.", "Pass one: SkillCue(..., llm=model)."
            )

    def gate_mode(self, mode: str, library: Library) -> str:
        """The mode to which the push gate of `mode` is fitted: its base where it names one.

        A fit makes hundreds of searches, which a mode that asks a language model cannot answer.
        """
        return str(getattr(self.bare_retriever(mode, library), "base_mode", mode))

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
        found = self._built(mode, library)
        if found is not None:
            return found
        with self._building:
            found = self._built(mode, library)
            if found is None:
                found = self._build_once(mode, library)
                with self._lock:
                    self._generation(library)[mode] = found
            return found

    def bare_retriever(self, mode: str, library: Library) -> Any:
        """As `retriever`, without the cache: with whatever else the retriever offers."""
        return self._bare(self.retriever(mode, library))

    def wait_ready(self, mode: str, library: Library) -> bool:
        """Build the retriever of `mode` and wait until its answers are complete.

        Returns:
            Whether they are; False when they never will be.
        """
        wait = getattr(self._bare(self.retriever(mode, library)), "wait_ready", None)
        return wait is None or bool(wait())

    def progress(self, mode: str, library: Library) -> EncodingProgress | None:
        """How far the encoding of `library` is: see `ScoringRetriever.progress`.

        None for a mode that encodes nothing, and while its retriever is being built.
        """
        found = self._built(mode, library)
        return None if found is None else getattr(self._bare(found), "progress", None)

    def close(self) -> None:
        """Stop background work and release the cache."""
        with self._lock:
            built = [r for modes in self._generations.values() for r in modes.values()]
        for retriever in built:
            stop = getattr(self._bare(retriever), "close", None)
            if stop is not None:
                stop()
        if self._store is not None:
            self._store.close()

    def _build_once(self, mode: str, library: Library) -> Retriever:
        """As `_build`, for whoever holds the lock of building.

        Raises:
            ConfigurationError: The mode is its own base, by way of others.
        """
        if mode in self._under_way:
            circle = " -> ".join([*self._under_way[self._under_way.index(mode) :], mode])
            raise ConfigurationError(
                f"Mode {mode!r} is its own base: {circle}.",
                "Give one of them another base, such as 'skillsight'.",
            )
        self._under_way.append(mode)
        try:
            return self._build(mode, library)
        finally:
            self._under_way.pop()

    def _build(self, mode: str, library: Library) -> Retriever:
        context = RetrieverContext(
            mode=mode,
            settings=self._settings.get(mode, {}),
            previous=self._latest.get((mode, library.tenants)),
            retriever=lambda other: self.retriever(other, library),
            cache_dir=self._cache_dir,
            encoder=self._encoder,
            defaults=self._defaults,
            language_model=self._language_model and self._language_model.for_mode(mode),
        )
        factory = imported("mode", mode, self._factories[mode])
        self._factories[mode] = factory
        retriever: Retriever = factory(library, context)
        self._latest[mode, library.tenants] = retriever
        self._latest.move_to_end((mode, library.tenants))
        while len(self._latest) > LATEST_KEPT:
            self._latest.popitem(last=False)
        log.debug("mode %s is ready for generation %s", mode, library.generation[:12])
        if self._store is None or getattr(retriever, "keeps_answers", False):
            return retriever
        from skillcue_adapters.caching import CachedRetriever  # costs numpy only where used

        return CachedRetriever(retriever, self._store, mode, library)

    def _built(self, mode: str, library: Library) -> Retriever | None:
        with self._lock:
            return self._generation(library).get(mode)

    def _generation(self, library: Library) -> dict[str, Retriever]:
        """What is built for a library; the oldest generation makes room for a new one."""
        built = self._generations.setdefault(library.generation, {})
        self._generations.move_to_end(library.generation)
        kept = GENERATIONS_KEPT if library.index is None else INDEX_GENERATIONS_KEPT
        while len(self._generations) > kept:
            self._generations.popitem(last=False)
        return built

    def _bare(self, retriever: Retriever) -> Any:
        """The retriever without the cache that `_build` put around it."""
        return retriever if self._store is None else getattr(retriever, "inner", retriever)
