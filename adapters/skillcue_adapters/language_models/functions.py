"""A plain function ``(system, prompt) -> str`` as a model."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from skillcue_hooks.errors import ConfigurationError, LanguageModelError
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
        ConfigurationError: It takes other arguments, or cannot return a text: a coroutine function,
            a generator function, a built-in of Python, one that is annotated with another class.
    """

    calls_tools = False

    def __init__(self, function: Callable[[str, str], str]) -> None:
        self.name = str(getattr(function, "__name__", type(function).__name__))
        _check(function, self.name)
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
            LanguageModelError: It is no text.
            Exception: Whatever the function raises.
        """
        system = "\n\n".join(m.text for m in messages if m.role == "system")
        said = [m for m in messages if m.role != "system"]
        alone = len(said) == 1 and said[0].role == "user"
        prompt = said[0].text if alone else "\n\n".join(f"{m.role}: {m.text}" for m in said)
        text = self._function(system, prompt)
        if not isinstance(text, str):
            if inspect.iscoroutine(text):
                text.close()  # else Python warns that nobody awaited it
            raise LanguageModelError(
                f"The model {self.name} gave no answer: it returned {_kind(text)}, not a text.",
                _FORM,
            )
        return Completion(text, usage=Usage(money=None))


_NO_TEXTS = (
    (inspect.iscoroutinefunction, "a coroutine"),
    (inspect.isgeneratorfunction, "a generator"),
    (inspect.isasyncgenfunction, "an asynchronous generator"),
)


def _check(function: Callable[..., Any], name: str) -> None:
    """What can be known of a function before it is called."""
    if getattr(builtins, name, None) is function:  # print binds two texts, eval runs them
        raise ConfigurationError(f"llm={name} is a built-in of Python and asks no model.", _FORM)
    called = function if inspect.isroutine(function) else type(function).__call__
    for is_such, what in _NO_TEXTS:
        if is_such(function) or is_such(called):
            raise ConfigurationError(f"llm={name} returns {what}, not a text.", _FORM)
    try:
        signature = inspect.signature(function)
    except ValueError:  # a function in C without a signature tells nothing before it is called
        return
    try:
        signature.bind("system", "prompt")
    except TypeError:
        raise ConfigurationError(f"llm={name} takes other arguments.", _FORM) from None
    returned = signature.return_annotation
    # What is wrapped has the annotations of the inner function, whose result may be made a text.
    if not hasattr(function, "__wrapped__") and _is_other_class(returned):
        raise ConfigurationError(f"llm={name} is annotated to return {_name(returned)}.", _FORM)


def _is_other_class(annotation: object) -> bool:
    """Whether it is None or a class of Python's own that no text is an instance of."""
    name = _name(annotation)
    own = getattr(builtins, name, object)
    is_it = annotation is own or annotation == name
    return is_it and (own is None or isinstance(own, type)) and own not in (str, object)


def _name(annotation: object) -> str:
    return str(getattr(annotation, "__name__", annotation))


def _kind(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
