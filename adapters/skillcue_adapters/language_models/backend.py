"""What a kind of language model has to offer to be metered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeGuard

from skillcue_hooks.language import ChatMessage, Completion, ToolSpec, Usage

__all__ = ["Backend", "counted", "message_texts"]


class Backend(Protocol):
    """One way to ask a model. Neither retries nor limits: that is done around it.

    Attributes:
        name: The model's name, as price tables and messages write it.
        fingerprint: Everything that changes an answer.
        calls_tools: It can be given tools.
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
    if _is_count(input_tokens) and _is_count(output_tokens):
        return Usage(1, input_tokens, output_tokens, None)
    return Usage(money=None)


def message_texts(messages: Sequence[ChatMessage]) -> str:
    """Everything in `messages` that a model reads, for an estimate of its size."""
    return "\n".join(
        "\n".join([message.text, *(f"{c.name} {dict(c.arguments)}" for c in message.tool_calls)])
        for message in messages
    )


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
