"""The plugin manager: who is loaded, in which order, and what happens when one misbehaves."""

from __future__ import annotations

import importlib.metadata
import inspect
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pluggy

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
    """pluggy's manager plus three rules: no coroutines, nothing pending, observers isolated."""

    def __init__(self) -> None:
        super().__init__(PROJECT)
        self.add_hookspecs(SkillcueSpecs)

    def parse_hookimpl_opts(self, plugin: object, name: str) -> Any:
        opts = super().parse_hookimpl_opts(plugin, name)
        if opts is not None and inspect.iscoroutinefunction(getattr(plugin, name, None)):
            raise PluginError(
                f"Hook {name} of plugin {self._describe(plugin)} is an async function.",
                "Hooks are called synchronously and would never be awaited: make it a plain "
                "def; skillcue runs hooks off the event loop.",
            )
        return opts

    def add(self, plugin: object, name: str | None = None) -> None:
        """Register a plugin and check it, or leave no trace of it.

        Raises:
            PluginError: A hook name is misspelt, a hook is a coroutine, or an argument of a
                hook does not exist.
        """
        try:
            self.register(plugin, name)
            self.check_pending()
        except pluggy.PluginValidationError as error:
            if self.is_registered(plugin):
                self.unregister(plugin)
            raise PluginError(
                f"Plugin {name or self._describe(plugin)} does not fit: {error}",
                f"Known hooks: {', '.join(HOOK_KINDS)}.",
            ) from error
        except PluginError:
            if self.is_registered(plugin):
                self.unregister(plugin)
            raise

    def collect(
        self, hook: str, on_error: Callable[[str, Exception], Any], **arguments: Any
    ) -> list[Any]:
        """Call every implementation apart from the others; answers that are not None, in order.

        Args:
            hook: Name of the hook.
            on_error: Called with plugin name and exception; its answer takes the place of the
                implementation's (None drops it).
            arguments: All arguments of the hook.
        """
        answers = []
        for impl in reversed(getattr(self.hook, hook).get_hookimpls()):
            wanted = {name: arguments[name] for name in impl.argnames if name in arguments}
            try:
                answer = impl.function(**wanted)
            except Exception as error:  # a plugin may raise anything; the caller decides
                log.warning(
                    "plugin %s raised in %s: %r", impl.plugin_name, hook, error, exc_info=True
                )
                answer = on_error(impl.plugin_name, error)
            if answer is not None:
                answers.append(answer)
        return answers

    def notify(self, hook: str, **arguments: Any) -> None:
        """Call every observer; one that raises is logged with its plugin's name and skipped."""
        self.collect(hook, lambda _plugin, _error: None, **arguments)

    def first(self, hook: str, **arguments: Any) -> Any:
        """First answer that is not None; an implementation that raises is logged and passed."""
        for impl in reversed(getattr(self.hook, hook).get_hookimpls()):
            wanted = {name: arguments[name] for name in impl.argnames if name in arguments}
            try:
                answer = impl.function(**wanted)
            except Exception as error:  # a plugin may raise anything; the built-in answers then
                log.warning(
                    "plugin %s raised in %s: %r", impl.plugin_name, hook, error, exc_info=True
                )
                continue
            if answer is not None:
                return answer
        return None

    def describe(self) -> list[dict[str, Any]]:
        """One record a plugin: name, distribution, version and the hooks it implements."""
        origin = {id(p): dist for p, dist in self.list_plugin_distinfo()}
        records = []
        for name, plugin in sorted(self.list_name_plugin()):
            if plugin is None:
                records.append({"name": name, "blocked": True, "hooks": []})
                continue
            dist = origin.get(id(plugin))
            callers = self.get_hookcallers(plugin) or []
            records.append(
                {
                    "name": name,
                    "distribution": dist.project_name if dist else "",
                    "version": dist.version if dist else "",
                    "hooks": sorted(caller.name for caller in callers),
                }
            )
        return records

    def _describe(self, plugin: object) -> str:
        return str(self.get_name(plugin) or getattr(plugin, "__name__", type(plugin).__name__))


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
        if not manager.is_blocked(entry.name) and not manager.has_plugin(entry.name):
            _load_entry_point(manager, entry)
    for plugin in plugins:
        manager.add(plugin)
    return manager


def _entry_points(environ: Mapping[str, str]) -> list[importlib.metadata.EntryPoint]:
    wanted = environ.get(LOAD_ENV)
    if wanted is None and ("PYTEST_CURRENT_TEST" in environ or "PYTEST_VERSION" in environ):
        return []
    found = sorted(importlib.metadata.entry_points(group=PROJECT), key=lambda e: e.name)
    if wanted is None:
        return found
    return [entry for entry in found if entry.name in _names(wanted)]


def _load_entry_point(manager: SkillcuePluginManager, entry: importlib.metadata.EntryPoint) -> None:
    try:
        manager.add(entry.load(), entry.name)
    except Exception as error:  # one bad plugin must not stop the host: named, logged, skipped
        dist = entry.dist
        where = f"{dist.name} {dist.version}" if dist else "unknown distribution"
        log.warning("plugin %s (%s) is not loaded", entry.name, where, exc_info=error)


def _names(text: str) -> set[str]:
    return {name.strip() for name in text.split(",") if name.strip()}
