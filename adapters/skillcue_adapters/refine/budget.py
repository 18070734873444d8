"""What a refinement may still take: seconds, tokens, money.

A part of every bound is kept back for the answer that hands in the skills, so that what was paid for
by then is not lost. Money is counted as tokens, at the dearest rate of any answer so far.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from skillcue_adapters.refine.failure import RefineError
from skillcue_adapters.refine.settings import RefineSettings
from skillcue_adapters.token_estimate import estimate_tokens
from skillcue_hooks.language import ChatMessage, Completion, ToolSpec, Usage

__all__ = ["LEAST_PART", "Budget", "estimated_tokens", "finish_tokens"]

LEAST_ANSWER = 50
"""Tokens below which no answer is asked for."""

LEAST_PART = 200
"""Tokens below which a command is not answered: too few to be of use."""

FINISH_SHARE = 0.25
"""Largest share of the tokens, and least share of the time, that is kept for handing in."""

CALL_TOKENS = 60
"""Tokens of an answer that asks for a command, until there were longer ones."""


class Budget:
    """Counts what a refinement took and says when it is too much.

    Args:
        settings: The bounds.
        clock: Monotonic time, seconds.
        tools: What is sent with each request.

    Attributes:
        spent: What it took so far.
    """

    def __init__(
        self,
        settings: RefineSettings,
        clock: Callable[[], float],
        tools: Sequence[ToolSpec] = (),
    ) -> None:
        self.spent = Usage()
        self._settings = settings
        self._clock = clock
        self._end = clock() + settings.seconds
        self._tools = sum(
            estimate_tokens(f"{tool.name}{tool.description}{dict(tool.parameters)}")
            for tool in tools
        )
        self._scale = 1.0
        self._rate = 0.0
        self._longest = CALL_TOKENS
        self._slowest = 0.0

    @property
    def left_s(self) -> float:
        """Seconds left; negative when it is late."""
        return self._end - self._clock()

    @property
    def left_tokens(self) -> int:
        """Tokens left, or as many as the money left pays for where these are fewer."""
        settings = self._settings
        left = settings.tokens - self.spent.input_tokens - self.spent.output_tokens
        return min(left, self._paid_for)

    @property
    def reserve(self) -> int:
        """Tokens that are kept for the answer that hands in the skills."""
        return finish_tokens(self._settings)

    def size(self, messages: Sequence[ChatMessage]) -> int:
        """Tokens of a request: an estimate, raised by what the model counted for the last one."""
        return math.ceil((estimated_tokens(messages) + self._tools) * self._scale)

    def room(self, messages: Sequence[ChatMessage]) -> int:
        """Tokens, as estimated, that may still be added to `messages` so that handing in fits."""
        return int((self.left_tokens - self.size(messages) - self.reserve) / self._scale)

    def excess(self, messages: Sequence[ChatMessage]) -> int:
        """Tokens, as estimated, that `messages` are too long for an answer to be handed in."""
        answer = min(self.reserve, self.left_tokens // 2)
        over = self.size(messages) + answer - self.left_tokens
        return max(math.ceil(over / self._scale), 0)

    def next_answer(self, messages: Sequence[ChatMessage], *, last: bool) -> int:
        """Tokens that the answer to `messages` may have.

        Args:
            messages: What is sent.
            last: It must hand in. Any other answer leaves room for that one, or is as long as
                that one may be, since it may hand in as well.

        Raises:
            RefineError: There is no time, no money, or no room for the messages and an answer.
        """
        if self.left_s <= 0:
            raise RefineError(self._too_long)
        size = self.size(messages)
        left = self.left_tokens - size
        if left < LEAST_ANSWER:
            raise RefineError(self._too_much)
        if not last:  # it is paid for twice: received, and sent with the next request
            left = min(left, max((left - size - self.reserve) // 2, self.reserve))
        return min(left, self._settings.answer_tokens)

    def last_call(self, messages: Sequence[ChatMessage]) -> str:
        """Why no other command can be answered before the skills are handed in; "" where one can.

        Args:
            messages: What is sent next.
        """
        size = self.size(messages) + self._longest
        if self.left_tokens < 2 * size + math.ceil(LEAST_PART * self._scale) + self.reserve:
            return self._too_much
        end = max(self._settings.seconds * FINISH_SHARE, self._slowest)
        return self._too_long if self.left_s < self._slowest + end else ""

    def add(self, messages: Sequence[ChatMessage], answer: Completion, seconds: float) -> None:
        """Count one answer; tokens are estimated where the model did not count them.

        Args:
            messages: What was sent.
            answer: What came back.
            seconds: How long that took.
        """
        usage = answer.usage
        estimate = estimated_tokens(messages) + self._tools
        if not usage.input_tokens and not usage.output_tokens:
            said = ChatMessage("assistant", answer.text, answer.tool_calls)
            output = estimated_tokens([said])
            usage = replace(usage, input_tokens=estimate, output_tokens=output, estimated=True)
        usage = replace(usage, calls=max(usage.calls, 1))
        tokens = usage.input_tokens + usage.output_tokens
        self._scale = max(usage.input_tokens / max(estimate, 1), 1.0)
        self._rate = max(self._rate, (usage.money or 0.0) / max(tokens, 1))
        self._longest = max(self._longest, usage.output_tokens)
        self._slowest = max(self._slowest, seconds)
        self.spent = self.spent + usage

    @property
    def _paid_for(self) -> int:
        """Tokens that the money left pays for; all of them where no price is known."""
        if self.spent.money is None or not self._rate:
            return self._settings.tokens
        return math.floor((self._settings.money - self.spent.money) / self._rate)

    @property
    def _too_much(self) -> str:
        settings = self._settings
        left = settings.tokens - self.spent.input_tokens - self.spent.output_tokens
        if self._paid_for < left:
            return f"it would cost more than {settings.money:g} (setting `money`)"
        return f"it would take more than {settings.tokens} tokens (setting `tokens`)"

    @property
    def _too_long(self) -> str:
        late = "took" if self.left_s <= 0 else "would take"
        return f"it {late} more than {self._settings.seconds:g} s (setting `seconds`)"


def finish_tokens(settings: RefineSettings) -> int:
    """Tokens that the answer that hands in the skills has in any case."""
    return min(settings.answer_tokens, int(settings.tokens * FINISH_SHARE))


def estimated_tokens(messages: Sequence[ChatMessage]) -> int:
    """About how many tokens the messages are."""
    total = 0
    for message in messages:
        total += estimate_tokens(message.text)
        total += sum(estimate_tokens(f"{c.name} {c.arguments}") for c in message.tool_calls)
    return total
