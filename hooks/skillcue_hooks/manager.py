"""The plugin manager: who is loaded, in which order, and what happens when one misbehaves."""

from __future__ import annotations

import importlib.metadata
import inspect
import itertools
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pluggy

from skillcue_hooks.admission import (
    check_implementation,
    is_function,
    refuse_ignored,
    usable,
)
from skillcue_hooks.errors import PluginError
from skillcue_hooks.markers import PROJECT
from skillcue_hooks.specs import HOOK_KINDS, SkillcueSpecs

__all__ = ["BLOCK_ENV", "LOAD_ENV", "SkillcuePluginManager", "build_manager"]

LOAD_ENV = "SKILLCUE_LOAD_PLUGINS"
"""Names of the entry points to load, separated by commas: unset loads all, empty loads none."""
BLOCK_ENV = "SKILLCUE_BLOCK_PLUGINS"
"""Names of plugins that are never loaded, separated by commas."""

log = logging.getLogger("skillcue.plugins")


class SkillcuePluginManager(pluggy.PluginManager):
    """pluggy's manager plus two rules: what cannot be called is refused, what raises is isolated.

    Hooks are called with `collect`, `first` and `notify`. ``manager.hook`` calls them as pluggy
    does, where one implementation that raises ends the whole call.
    """

    def __init__(self) -> None:
        super().__init__(PROJECT)
        self.add_hookspecs(SkillcueSpecs)
        self._origins: dict[str, importlib.metadata.Distribution | None] = {}

    def get_canonical_name(self, plugin: object) -> str:
        """Name of the module or of the class; ``Name#2`` for a second plugin of that name."""
        base = str(getattr(plugin, "__name__", type(plugin).__name__))
        names = itertools.chain([base], (f"{base}#{number}" for number in itertools.count(2)))
        return next(name for name in names if not self.has_plugin(name))

    def parse_hookimpl_opts(self, plugin: object, name: str) -> Any:
        """What ``@hookimpl`` says about attribute `name`; None where it implements no hook.

        Raises:
            PluginError: It is meant to implement a hook and cannot be called as one.
        """
        return self._options(plugin, name, self.get_canonical_name(plugin))

    def add(
        self,
        plugin: object,
        name: str | None = None,
        origin: importlib.metadata.Distribution | None = None,
    ) -> None:
        """Register a plugin, or leave no trace of it. Nothing happens when its name is blocked.

        Args:
            plugin: A module or an object whose functions are marked with ``@hookimpl``.
            name: What it is called in messages and in block lists; `get_canonical_name` by default.
            origin: The distribution it comes from, for `describe`.

        Raises:
            PluginError: It implements no hook, a name is misspelt, an implementation cannot be
                called (see `skillcue_hooks.admission`), or the plugin or its name is taken.
        """
        name = name or self.get_canonical_name(plugin)
        if self.is_blocked(name):
            return
        # Everything is checked before anything is registered: older releases of pluggy keep the
        # half of a plugin that came before the mistake.
        options = [self._options(plugin, attribute, name) for attribute in dir(plugin)]
        if not any(options):
            raise PluginError(
                f"Plugin {name} ({type(plugin).__name__}) implements no hook.",
                f"Pass a module or an object with @hookimpl functions: {', '.join(HOOK_KINDS)}.",
            )
        if self.has_plugin(name) or self.is_registered(plugin):
            raise PluginError(
                f"Plugin {name} is registered twice, or two plugins have that name.",
                f"Remove one, or block one by name with {BLOCK_ENV}.",
            )
        self.register(plugin, name)
        self._origins[name] = origin

    def collect(
        self, hook: str, on_error: Callable[[str, Exception], Any], **arguments: Any
    ) -> list[Any]:
        """Call every implementation apart from the others; answers that are not None, in order.

        Args:
            hook: Name of the hook.
            on_error: Called with plugin name and exception; its answer takes the place of the
                implementation's (None drops it).
            arguments: All arguments of the hook.

        Raises:
            TypeError: `arguments` are not those of the hook.
        """
        return [answer for _, answer in self._answers(hook, on_error, arguments)]

    def collect_named(
        self, hook: str, on_error: Callable[[str, Exception], Any], **arguments: Any
    ) -> list[tuple[str, Any]]:
        """As `collect`, each answer with the name of the plugin that gave it."""
        return list(self._answers(hook, on_error, arguments))

    def notify(self, hook: str, **arguments: Any) -> None:
        """Call every observer; one that raises is logged with its plugin's name and skipped."""
        self.collect(hook, _skip, **arguments)

    def first(self, hook: str, **arguments: Any) -> Any:
        """First answer that is not None; an implementation that raises is logged and passed."""
        return next((answer for _, answer in self._answers(hook, _skip, arguments)), None)

    def first_valid(self, hook: str, check: Callable[[Any], Any], **arguments: Any) -> Any:
        """As `first`; an answer that `check` raises for is logged and passed like an exception.

        Args:
            hook: Name of the hook.
            check: Gets each answer and gives the one that counts.
            arguments: All arguments of the hook.
        """
        return next((answer for _, answer in self._answers(hook, _skip, arguments, check)), None)

    def describe(self) -> list[dict[str, Any]]:
        """One record a plugin, sorted by name; blocked ones included.

        Keys: ``name``, ``distribution`` and ``version`` (empty unless it came from an entry
        point), ``hooks`` (sorted names of those it implements) and ``blocked``.
        """
        records = []
        for name, plugin in sorted(self.list_name_plugin(), key=lambda pair: pair[0]):
            origin = self._origins.get(name) if plugin is not None else None
            callers = self.get_hookcallers(plugin) if plugin is not None else None
            records.append(
                {
                    "name": name,
                    "distribution": origin.name if origin else "",
                    "version": origin.version if origin else "",
                    "hooks": sorted(caller.name for caller in callers or ()),
                    "blocked": plugin is None,
                }
            )
        return records

    def _options(self, plugin: object, name: str, owner: str) -> Any:
        attribute = inspect.getattr_static(plugin, name, None)
        options = super().parse_hookimpl_opts(plugin, name) if is_function(attribute) else None
        if options is None:
            refuse_ignored(owner, name, attribute)
            return None
        hook = options.get("specname") or name
        caller = getattr(self.hook, hook, None)
        arguments = caller.spec.argnames if caller is not None and caller.spec else None
        check_implementation(owner, hook, getattr(plugin, name), options, arguments)
        return options

    def _answers(
        self,
        hook: str,
        on_error: Callable[[str, Exception], Any],
        arguments: Mapping[str, Any],
        check: Callable[[Any], Any] | None = None,
    ) -> Iterator[tuple[str, Any]]:
        caller = getattr(self.hook, hook)
        if set(arguments) != set(caller.spec.argnames):  # else the plugins would get the blame
            raise TypeError(f"{hook} takes {caller.spec.argnames}, not {tuple(arguments)}")
        for impl in reversed(caller.get_hookimpls()):
            try:
                answer = usable(impl.function(**{name: arguments[name] for name in impl.argnames}))
                if check is not None and answer is not None:
                    answer = check(answer)
            except Exception as error:  # a plugin may raise anything; the caller decides
                log.warning(
                    "plugin %s raised in %s: %r", impl.plugin_name, hook, error, exc_info=True
                )
                answer = on_error(impl.plugin_name, error)
            if answer is not None:
                yield impl.plugin_name, answer


def _skip(_plugin: str, _error: Exception) -> None:
    """The answer of an implementation that raised does not count."""


def build_manager(
    builtins: Mapping[str, object],
    plugins: Iterable[object] = (),
    block: Iterable[str] = (),
    environ: Mapping[str, str] = os.environ,
) -> SkillcuePluginManager:
    """A manager with everything loaded and checked.

    Order of registration, and so the reverse order of calls: built-ins, entry points of group
    ``skillcue`` by name, then `plugins`. Entry points are not loaded while pytest runs unless
    ``SKILLCUE_LOAD_PLUGINS`` is set, so that what happens to be installed cannot change a test.

    Args:
        builtins: Name to plugin; they use the same hooks as a stranger's plugin.
        plugins: Plugin objects the user passes.
        block: Names that are never loaded; ``SKILLCUE_BLOCK_PLUGINS`` adds to it.
        environ: Where the two variables are read.

    Raises:
        PluginError: A built-in or a plugin of `plugins` does not fit. An entry point that does
            not fit is logged with its name and version and skipped.
    """
    manager = SkillcuePluginManager()
    for name in {*block, *_names(environ.get(BLOCK_ENV, ""))}:
        manager.set_blocked(name)
    for name, plugin in builtins.items():
        if not manager.is_blocked(name):
            manager.add(plugin, name)
    for entry in _entry_points(environ):
        if not manager.is_blocked(entry.name):
            _load_entry_point(manager, entry)
    for plugin in plugins:
        manager.add(plugin)
    return manager


def _entry_points(environ: Mapping[str, str]) -> list[importlib.metadata.EntryPoint]:
    text = environ.get(LOAD_ENV)
    if text is None and ("PYTEST_CURRENT_TEST" in environ or "PYTEST_VERSION" in environ):
        return []
    found = sorted(importlib.metadata.entry_points(group=PROJECT), key=_load_order)
    if text is None:
        return found
    wanted = _names(text)
    missing = sorted(wanted - {entry.name for entry in found})
    if missing:
        log.warning("%s names %s, which no distribution has", LOAD_ENV, ", ".join(missing))
    return [entry for entry in found if entry.name in wanted]


def _load_order(entry: importlib.metadata.EntryPoint) -> tuple[str, str, str]:
    """By name, and where two distributions share one, not by their places on ``sys.path``."""
    return entry.name, entry.dist.name if entry.dist else "", entry.value


def _load_entry_point(manager: SkillcuePluginManager, entry: importlib.metadata.EntryPoint) -> None:
    try:
        plugin = entry.load()
        # The built-ins have an entry point as well, for hosts that have no list of them.
        if manager.get_plugin(entry.name) is not plugin:
            manager.add(plugin, entry.name, entry.dist)
    except Exception as error:  # one bad plugin must not stop the host: named, logged, skipped
        dist = entry.dist
        where = f"{dist.name} {dist.version}" if dist else "unknown distribution"
        log.warning("plugin %s (%s) is not loaded: %r", entry.name, where, error, exc_info=True)


def _names(text: str) -> set[str]:
    return {name.strip() for name in text.split(",") if name.strip()}
