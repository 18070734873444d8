"""What a refinement may still take: seconds, tokens, money."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from skillcue_adapters.refine.failure import RefineError
from skillcue_adapters.refine.settings import RefineSettings
from skillcue_adapters.token_estimate import estimate_tokens
from skillcue_hooks.language import ChatMessage, Completion, Usage

__all__ = ["Budget", "estimated_tokens"]

LEAST_ANSWER = 50
"""Tokens below which no answer is asked for."""


class Budget:
    """Counts what a refinement took and says when it is too much.

    Args:
        settings: The bounds.
        clock: Monotonic time, seconds.

    Attributes:
        spent: What it took so far.
    """

    def __init__(self, settings: RefineSettings, clock: Callable[[], float]) -> None:
        self.spent = Usage()
        self._settings = settings
        self._clock = clock
        self._end = clock() + settings.seconds

    @property
    def left_s(self) -> float:
        """Seconds left; negative when it is late."""
        return self._end - self._clock()

    def next_answer(self, messages: Sequence[ChatMessage]) -> int:
        """Tokens that the answer to `messages` may have.

        Raises:
            RefineError: There is no time, no money, or no room for the messages and an answer.
        """
        settings = self._settings
        if self.left_s <= 0:
            raise RefineError(f"it took more than {settings.seconds:g} s")
        if self.spent.money is not None and self.spent.money > settings.money:
            raise RefineError(f"it cost more than {settings.money:g}")
        used = self.spent.input_tokens + self.spent.output_tokens
        left = settings.tokens - used - estimated_tokens(messages)
        if left < LEAST_ANSWER:
            raise RefineError(f"it would take more than {settings.tokens} tokens")
        return min(left, settings.answer_tokens)

    def add(self, messages: Sequence[ChatMessage], answer: Completion) -> Usage:
        """Count one answer; tokens are estimated where the model did not count them."""
        usage = answer.usage
        if not usage.input_tokens and not usage.output_tokens:
            said = ChatMessage("assistant", answer.text, answer.tool_calls)
            usage = replace(
                usage,
                input_tokens=estimated_tokens(messages),
                output_tokens=estimated_tokens([said]),
                estimated=True,
            )
        usage = replace(usage, calls=max(usage.calls, 1))
        self.spent = self.spent + usage
        return usage


def estimated_tokens(messages: Sequence[ChatMessage]) -> int:
    """About how many tokens the messages are."""
    total = 0
    for message in messages:
        total += estimate_tokens(message.text)
        total += sum(estimate_tokens(str(call.arguments)) for call in message.tool_calls)
    return total
