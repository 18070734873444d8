"""What is said to a language model and what it answers: the words of the `LanguageModel` protocol."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, Literal

from skillcue_hooks.errors import ConfigurationError

__all__ = ["ChatMessage", "Completion", "ToolCall", "ToolSpec", "Usage"]


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls of a language model took; `a + b` is what both took.

    What no call can take, such as a negative count, is a `ConfigurationError`.

    Attributes:
        calls: Requests that were answered, 0 or more.
        input_tokens: Tokens sent, 0 or more.
        output_tokens: Tokens received, 0 or more.
        money: In the currency of the user's price table, 0 or more; None where a call has no known
            price.
        estimated: Some tokens were estimated from the text, since the model did not count them.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    money: float | None = 0.0
    estimated: bool = False

    def __post_init__(self) -> None:
        for name in ("calls", "input_tokens", "output_tokens"):
            if not _is_number(getattr(self, name), int):
                raise ConfigurationError(
                    f"Usage: {name} is {getattr(self, name)!r}.",
                    "Give a whole number of 0 or more; Usage(money=None) where nothing was counted.",
                )
        if self.money is not None and not _is_number(self.money, int | float):
            raise ConfigurationError(
                f"Usage: money is {self.money!r}.", "Give a number of 0 or more, or None."
            )

    def __add__(self, other: Usage) -> Usage:
        known = self.money is not None and other.money is not None
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            (self.money or 0.0) + (other.money or 0.0) if known else None,
            self.estimated or other.estimated,
        )


def _is_number(value: object, kind: type | UnionType) -> bool:
    fits = isinstance(value, kind) and not isinstance(value, bool)
    return fits and 0 <= value < math.inf  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that a model may call.

    Attributes:
        name: Its name.
        description: What it does.
        parameters: JSON schema of its arguments, an object.
    """

    name: str
    description: str
    parameters: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model asks for a tool.

    Attributes:
        id: Names the call in the answer to it; unique in a conversation.
        name: Of the tool, as the model wrote it: it may not exist.
        arguments: As the model wrote them: they may not fit the schema.
        invalid: What it wrote where that is no JSON object, and `arguments` is empty; else "".
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(hash=False)
    invalid: str = ""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message to or from a model.

    Attributes:
        role: Who speaks.
        text: What is said.
        tool_calls: What the assistant asked for.
        tool_call_id: Which call a message of role ``tool`` answers.
    """

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered.

    Attributes:
        text: Its words; may be empty beside tool calls.
        tool_calls: The tools it asks for.
        usage: What the call took.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
