"""What the plugins register by name: retrieval modes and encoders."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, Literal

from skillcue_hooks.errors import ConfigurationError, PluginError
from skillcue_hooks.manager import SkillcuePluginManager

__all__ = ["Factory", "Noun", "imported", "registered_factories", "registered_names"]

Factory = str | Callable[..., Any]
"""A callable, or ``"package.module:callable"``, which is imported when it is first needed."""

Noun = Literal["mode", "encoder"]

_HOOKS: dict[Noun, str] = {
    "mode": "skillcue_register_retrievers",
    "encoder": "skillcue_register_encoders",
}


def registered_factories(plugins: SkillcuePluginManager, noun: Noun) -> dict[str, Factory]:
    """Everything the plugins register, by name.

    Raises:
        PluginError: Two plugins claim one name, or a registration raises.
    """
    return {name: factory for name, (_, factory) in _registered(plugins, noun).items()}


def registered_names(plugins: SkillcuePluginManager, noun: Noun) -> dict[str, list[str]]:
    """Plugin name to the names it registers, sorted.

    Raises:
        PluginError: As `registered_factories`.
    """
    names: dict[str, list[str]] = {}
    for name, (owner, _) in sorted(_registered(plugins, noun).items()):
        names.setdefault(owner, []).append(name)
    return names


def imported(noun: Noun, name: str, factory: Factory) -> Callable[..., Any]:
    """`factory` as a callable.

    Raises:
        PluginError: It cannot be imported, or is neither callable nor a text.
    """
    if isinstance(factory, str):
        factory = _attribute(noun, name, factory)
    if not callable(factory):
        raise PluginError(
            f"{noun.capitalize()} {name!r} is registered with {factory!r}.",
            'Register a callable or the text "package.module:factory".',
        )
    return factory


def _registered(plugins: SkillcuePluginManager, noun: Noun) -> dict[str, tuple[str, Factory]]:
    found: dict[str, tuple[str, Factory]] = {}
    hook = _HOOKS[noun]
    for impl in getattr(plugins.hook, hook).get_hookimpls():
        owner = impl.plugin_name
        try:
            register = functools.partial(_register, found, noun, owner)
            impl.function(**dict.fromkeys(impl.argnames, register))
        except PluginError:
            raise
        except Exception as error:  # whatever it is, it must be clear whose mistake it was
            raise PluginError(
                f"Plugin {owner} raised in {hook}: {error!r}.",
                f"Mend it, or block it with SKILLCUE_BLOCK_PLUGINS={owner}.",
            ) from error
    return found


def _register(
    found: dict[str, tuple[str, Factory]], noun: Noun, owner: str, name: str, factory: Factory
) -> None:
    if not isinstance(name, str) or not name:
        article = "An" if noun == "encoder" else "A"
        raise PluginError(
            f"Plugin {owner} registers {name!r}.", f"{article} {noun}'s name is a text."
        )
    if name in found:
        raise PluginError(
            f"{noun.capitalize()} {name!r} is registered by {found[name][0]} and by {owner}.",
            f"Block one of them with SKILLCUE_BLOCK_PLUGINS={owner}, or rename its {noun}.",
        )
    found[name] = (owner, factory)


def _attribute(noun: Noun, name: str, target: str) -> Any:
    module_name, _, attribute = target.partition(":")
    try:
        return getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        if isinstance(error, ConfigurationError):
            raise
        raise PluginError(
            f"{noun.capitalize()} {name!r} is registered as {target!r}, which cannot be "
            f"imported: {error}.",
            'The form is "package.module:factory"; is its package installed?',
        ) from error
