"""A plain function ``(system, prompt) -> str`` as a model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence

from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.language import ChatMessage, Completion, ToolSpec, Usage

__all__ = ["FunctionBackend"]

_FORM = "Pass a function that takes two texts, system and prompt, and returns a text."


class FunctionBackend:
    """Asks a function, which gets no tools.

    The conversation becomes one prompt: a single user message as it is, several with the name of
    the speaker before each. The function's module and name are its fingerprint, so give a new name
    to a function that answers by another model.

    Args:
        function: ``(system, prompt) -> str``.

    Raises:
        ConfigurationError: It is a coroutine function or takes other arguments.
    """

    calls_tools = False

    def __init__(self, function: Callable[[str, str], str]) -> None:
        called = function if inspect.isroutine(function) else type(function).__call__
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called):
            raise ConfigurationError("llm is a coroutine function.", _FORM)
        self.name = str(getattr(function, "__name__", type(function).__name__))
        try:
            inspect.signature(function).bind("system", "prompt")
        except TypeError:
            raise ConfigurationError(f"llm={self.name} takes other arguments.", _FORM) from None
        except ValueError:  # a built-in without a signature tells nothing before it is called
            pass
        self._function = function
        named = function if hasattr(function, "__qualname__") else type(function)
        self.fingerprint = fingerprint("function", named.__module__, named.__qualname__)

    def answer(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolSpec],
        max_tokens: int,
        timeout_s: float,
    ) -> Completion:
        """What the function returns.

        Raises:
            TypeError: It is no text.
            Exception: Whatever the function raises.
        """
        system = "\n\n".join(m.text for m in messages if m.role == "system")
        said = [m for m in messages if m.role != "system"]
        alone = len(said) == 1 and said[0].role == "user"
        prompt = said[0].text if alone else "\n\n".join(f"{m.role}: {m.text}" for m in said)
        text = self._function(system, prompt)
        if not isinstance(text, str):
            raise TypeError(f"the function returned a {type(text).__name__}, not a text")
        return Completion(text, usage=Usage(money=None))
