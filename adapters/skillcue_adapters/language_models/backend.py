"""What a kind of language model has to offer to be metered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard

from skillcue_hooks.language import ChatMessage, Completion, ToolSpec, Usage

__all__ = ["Backend", "Service", "counted", "is_count", "message_texts", "model_name", "shortened"]

MOST_TOKENS = 1_000_000_000
"""No call takes more; a larger count is none."""


@dataclass(frozen=True, slots=True)
class Service:
    """Where requests go, as messages speak of it; empty where an object keeps that to itself.

    Attributes:
        url: The address that is asked; it holds no secret.
        key_env: Environment variable that holds the key.
        options: What a request asks for that a service may not know, such as ``temperature=0``.
    """

    url: str = ""
    key_env: str = ""
    options: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """What names the environment variable; it is not repeated where it looks like a key."""
        if re.fullmatch("[A-Z][A-Z0-9_]*", self.key_env):
            return f"the environment variable {self.key_env}"
        return "the environment variable that key_env names"


class Backend(Protocol):
    """One way to ask a model. Neither retries nor limits: that is done around it.

    Attributes:
        name: The model's name, as price tables and messages write it.
        fingerprint: Everything that changes an answer.
        calls_tools: It can be given tools.

    One that knows where its requests go has the attribute ``service`` as well, a `Service`.
    """

    @property
    def name(self) -> str: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def calls_tools(self) -> bool: ...

    def answer(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolSpec],
        max_tokens: int,
        timeout_s: float,
    ) -> Completion:
        """The model's next message.

        Its usage has no calls where the model did not count tokens, and no money where it does
        not know what it costs.

        Raises:
            Exception: Whatever the model raises.
        """
        ...


def counted(input_tokens: object, output_tokens: object) -> Usage:
    """What a service says it took; nothing where it says nothing of use."""
    if is_count(input_tokens) and is_count(output_tokens):
        return Usage(1, input_tokens, output_tokens, None)
    return Usage(money=None)


def is_count(value: object) -> TypeGuard[int]:
    """Whether `value` is a number of tokens that a call can have."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS


def message_texts(messages: Sequence[ChatMessage]) -> str:
    """Everything in `messages` that a model reads, for an estimate of its size."""
    return "\n".join(
        "\n".join([message.text, *(f"{c.name} {dict(c.arguments)}" for c in message.tool_calls)])
        for message in messages
    )


def model_name(holder: object, *fields: str, fallback: str = "") -> str:
    """The name of a model, from the first field of `holder` that holds one.

    Args:
        holder: What has the name.
        fields: Where integrations keep it.
        fallback: Else this, and else the class of `holder`.
    """
    found = (getattr(holder, field, None) for field in fields)
    names = (name for name in found if isinstance(name, str) and name)
    return next(names, fallback or type(holder).__name__)


def shortened(model: Any, max_tokens: int) -> Any:
    """A copy of a framework's model whose answers are at most so long, where it has such a limit.

    The field is set, since a keyword of a call goes unread to clients that may not know it. A
    lower limit of the user's stays.
    """
    known = type(model).model_fields
    for field in ("max_tokens", "max_output_tokens", "num_predict"):
        if field in known:
            own = getattr(model, field)
            lower = isinstance(own, int) and 0 < own < max_tokens
            return model if lower else model.model_copy(update={field: max_tokens})
    return model
