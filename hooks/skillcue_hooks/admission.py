"""What a function must be to implement a hook; checked when its plugin is registered.

Implementations are called one at a time, by keyword and synchronously, so that one that raises
cannot take the others with it. Whatever cannot be called that way is refused with the reason,
rather than ignored or left to fail in the middle of a turn.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from skillcue_hooks.errors import PluginError, closest_names
from skillcue_hooks.markers import PROJECT
from skillcue_hooks.specs import HOOK_KINDS

__all__ = ["check_implementation", "is_function", "refuse_ignored", "usable"]

_FUNCTIONS = (types.FunctionType, types.MethodType, staticmethod, classmethod)


def is_function(attribute: object) -> bool:
    """Whether pluggy looks at it; properties are not evaluated, so they cannot hold hooks."""
    return isinstance(attribute, _FUNCTIONS)


def refuse_ignored(plugin: str, name: str, attribute: object) -> None:
    """Refuse what its author takes for an implementation and pluggy would pass over.

    Args:
        plugin: Name of the plugin, for the message.
        name: Name of the attribute.
        attribute: The attribute as it lies in the plugin, without binding it.

    Raises:
        PluginError: It is marked with ``@hookimpl`` and is no function, or has the name of a
            hook and no mark.
    """
    if isinstance(inspect.getattr_static(attribute, f"{PROJECT}_impl", None), dict):
        raise PluginError(
            f"Hook {name} of plugin {plugin} is a {type(attribute).__name__}, not a function.",
            "Write it as a def with @hookimpl above it, and call the other object in there.",
        )
    marked = inspect.getattr_static(attribute, f"{PROJECT}_spec", None) is not None
    if name in HOOK_KINDS and callable(attribute) and not marked:
        raise PluginError(
            f"{name} of plugin {plugin} has the name of a hook and is not marked as one.",
            "Put @hookimpl above it; without it, it would never be called.",
        )


def check_implementation(
    plugin: str,
    hook: str,
    function: Callable[..., object],
    options: Mapping[str, Any],
    arguments: Sequence[str] | None,
) -> None:
    """Refuse an implementation that cannot be called.

    Args:
        plugin: Name of the plugin, for the message.
        hook: Name of the hook it implements.
        function: The implementation, bound to its plugin.
        options: What ``@hookimpl`` was given.
        arguments: Arguments of the hook, None when there is no such hook.

    Raises:
        PluginError: The hook does not exist, the function is asynchronous, a generator or a
            wrapper, or its parameters are not arguments of the hook.
    """
    if arguments is None:
        if not options.get("optionalhook"):
            raise PluginError(f"Plugin {plugin} implements {hook}, which is no hook.", _near(hook))
        return
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise PluginError(
            f"Hook {hook} of plugin {plugin} is an async function.",
            "Hooks are called synchronously and would never be awaited: make it a plain "
            "def; skillcue runs hooks off the event loop.",
        )
    if options.get("wrapper") or options.get("hookwrapper"):
        raise PluginError(
            f"Hook {hook} of plugin {plugin} is a hook wrapper.",
            "Each implementation is called apart from the others, so there is nothing to wrap: "
            "use a plain @hookimpl.",
        )
    if inspect.isgeneratorfunction(function):
        raise PluginError(
            f"Hook {hook} of plugin {plugin} is a generator function.",
            "Nobody would iterate over it, so its body would never run: return the answer.",
        )
    _check_parameters(plugin, hook, function, arguments)


def usable(answer: Any) -> Any:
    """`answer` itself, unless it would have to be awaited.

    A plain function that hands on what an async function gave it is only found out here.

    Raises:
        PluginError: It is a coroutine or something else to be awaited.
    """
    if not (inspect.isawaitable(answer) or inspect.isasyncgen(answer)):
        return answer
    if inspect.iscoroutine(answer):
        answer.close()  # or Python would warn, far from here, that it was never awaited
    raise PluginError(
        f"It answered a {type(answer).__name__}, which nobody will await.",
        "Hooks are called synchronously: await it inside the hook, or make it a plain def.",
    )


def _near(hook: str) -> str:
    near = closest_names(hook, HOOK_KINDS, limit=1)
    hint = f"Did you mean {near[0]}? " if near else ""
    return f"{hint}Hooks: {', '.join(HOOK_KINDS)}."


def _check_parameters(
    plugin: str, hook: str, function: Callable[..., object], arguments: Sequence[str]
) -> None:
    for parameter in inspect.signature(function).parameters.values():
        problem = _problem(parameter, arguments)
        if problem:
            raise PluginError(
                f"Hook {hook} of plugin {plugin} cannot be called: {problem}.",
                f"Its arguments are: {', '.join(arguments)}. Name those it needs, without "
                "defaults.",
            )


def _problem(parameter: inspect.Parameter, arguments: Sequence[str]) -> str | None:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return f"parameter {str(parameter)!r} would always be empty"
    has_default = parameter.default is not parameter.empty
    if parameter.name == "self" and not has_default:
        return "'self' is not bound, register an instance and not the class"
    if parameter.name not in arguments:
        return None if has_default else f"parameter {parameter.name!r} is none of its arguments"
    if has_default:  # pluggy passes no argument for which the implementation has a default
        return f"parameter {parameter.name!r} has a default and would never be filled"
    if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
        return f"parameter {parameter.name!r} must be passable by position and by keyword"
    return None
