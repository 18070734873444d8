"""An object that is a `LanguageModel` already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.language import ChatMessage, Completion, ToolSpec
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
        ConfigurationError: Its fingerprint is no text.
    """

    def __init__(self, model: LanguageModel) -> None:
        if not isinstance(model.fingerprint, str) or not model.fingerprint:
            raise ConfigurationError(
                f"The fingerprint of the {type(model).__name__} is {model.fingerprint!r}.",
                "Give it one: a text that names everything by which its answers differ from others'.",
            )
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
            TypeError: It is no `Completion`.
            Exception: Whatever the object raises.
        """
        found = self._model.complete(
            messages, tools=tools, max_tokens=max_tokens, timeout_s=timeout_s
        )
        if not isinstance(found, Completion):
            raise TypeError(f"complete() returned a {type(found).__name__}, not a Completion")
        return found
