"""An object that is a `LanguageModel` already."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from skillcue_hooks.errors import ConfigurationError, LanguageModelError
from skillcue_hooks.language import ChatMessage, Completion, ToolCall, ToolSpec
from skillcue_hooks.protocols import LanguageModel

__all__ = ["ObjectBackend", "is_language_model"]


def is_language_model(value: Any) -> bool:
    """Whether `value` has what a `LanguageModel` has; nothing of it is called."""
    has_all = all(hasattr(value, name) for name in ("fingerprint", "calls_tools"))
    return has_all and callable(getattr(value, "complete", None))


class ObjectBackend:
    """Asks a `LanguageModel`, which counts for itself.

    Args:
        model: The object; ``model.name`` is its name where it has one, else its class.

    Raises:
        ConfigurationError: Its fingerprint is no text, or ``complete`` is a coroutine function or
            takes other arguments.
    """

    def __init__(self, model: LanguageModel) -> None:
        if not isinstance(model.fingerprint, str) or not model.fingerprint:
            raise ConfigurationError(
                f"The fingerprint of the {type(model).__name__} is {model.fingerprint!r}.",
                "Give it one: a text that names everything by which its answers differ from others'.",
            )
        _check(model)
        self._model = model
        named = getattr(model, "name", "")
        self.name = named if isinstance(named, str) and named else type(model).__name__
        self.fingerprint = model.fingerprint
        self.calls_tools = bool(model.calls_tools)

    def answer(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolSpec],
        max_tokens: int,
        timeout_s: float,
    ) -> Completion:
        """What the object answers.

        Raises:
            LanguageModelError: It is no `Completion` of a text and tool calls.
            Exception: Whatever the object raises.
        """
        found = self._model.complete(
            messages, tools=tools, max_tokens=max_tokens, timeout_s=timeout_s
        )
        wrong = _fault(found)
        if wrong:
            raise LanguageModelError(
                f"The model {self.name} gave no answer: complete() returned {wrong}.", _FORM
            )
        return found


_FORM = "Return skillcue_hooks.Completion(text, tool_calls, usage) from it."


def _check(model: LanguageModel) -> None:
    name = type(model).__name__
    if inspect.iscoroutinefunction(model.complete):
        raise ConfigurationError(f"complete() of the {name} is a coroutine function.", _FORM)
    try:
        signature = inspect.signature(model.complete)
    except ValueError:  # a function in C without a signature tells nothing before it is called
        return
    try:
        signature.bind((), tools=(), max_tokens=1, timeout_s=1.0)
    except TypeError:
        raise ConfigurationError(
            f"complete() of the {name} takes other arguments.",
            "Its form is complete(messages, *, tools=(), max_tokens, timeout_s).",
        ) from None


def _fault(found: object) -> str:
    """What is wrong with a `Completion`; the empty text for nothing."""
    if not isinstance(found, Completion):
        return f"a {type(found).__name__}, not a Completion"
    if not isinstance(found.text, str):
        return f"a Completion whose text is a {type(found.text).__name__}"
    calls = found.tool_calls
    if not isinstance(calls, tuple | list) or not all(isinstance(call, ToolCall) for call in calls):
        return "a Completion whose tool_calls are no ToolCall each"
    return ""
