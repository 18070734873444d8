"""What is said to a language model and what it answers: the words of the `LanguageModel` protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["ChatMessage", "Completion", "ToolCall", "ToolSpec", "Usage"]


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls of a language model took; `a + b` is what both took.

    Attributes:
        calls: Requests that were answered.
        input_tokens: Tokens sent.
        output_tokens: Tokens received.
        money: In the currency of the user's price table; None where a call has no known price.
        estimated: Some tokens were estimated from the text, since the model did not count them.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    money: float | None = 0.0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        known = self.money is not None and other.money is not None
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            (self.money or 0.0) + (other.money or 0.0) if known else None,
            self.estimated or other.estimated,
        )


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
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(hash=False)


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
