"""What a refinement may still take: seconds, tokens, money.

A part of every bound is kept back for the answer that hands in the skills, so that what was paid for
by then is not lost. Money is counted as tokens, at the dearest rate of any answer so far; where the
price of tokens is known, no request is made that would cost more than is left.
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


MILLION = 1_000_000


class Budget:
    """Counts what a refinement took and says when it is too much.

    Args:
        settings: The bounds.
        clock: Monotonic time, seconds.
        tools: What is sent with each request.
        price: Money for a million tokens sent, and for a million received; None where only answers
            tell what they cost.

    Attributes:
        spent: What it took so far.
        limit: The setting that bounds the answer that is asked for.
    """

    def __init__(
        self,
        settings: RefineSettings,
        clock: Callable[[], float],
        tools: Sequence[ToolSpec] = (),
        price: tuple[float, float] | None = None,
    ) -> None:
        self.spent = Usage()
        self.limit = ""
        self._settings = settings
        self._clock = clock
        self._price = None if price is None else (price[0] / MILLION, price[1] / MILLION)
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
        limits = {
            "answer_tokens": self._settings.answer_tokens,
            self._scarce: left,
            "money": min(left, self._paid_answer(size, last=last)),
        }
        self.limit = min(limits, key=limits.__getitem__)
        return limits[self.limit]

    def last_call(self, messages: Sequence[ChatMessage]) -> str:
        """Why no other command can be answered before the skills are handed in; "" where one can.

        Args:
            messages: What is sent next.
        """
        size = self.size(messages) + self._longest
        if self.left_tokens < 2 * size + math.ceil(LEAST_PART * self._scale) + self.reserve:
            return self._too_much
        if self._price is not None:  # asked for a command, and then to hand in what came of it
            sent = self.size(messages) + size + LEAST_PART
            if self._left_money(sent, self._longest) < self._kept_money:
                return self._too_dear
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
        if self._price is not None:
            free = self._left_money(0) - self._kept_money
            return self._bought(free, self._price[0]) + self.reserve
        if self.spent.money is None or not self._rate:
            return self._settings.tokens
        return math.floor((self._settings.money - self.spent.money) / self._rate)

    def _paid_answer(self, size: int, *, last: bool) -> int:
        """Tokens of an answer to `size` tokens that the money left pays for, by the price.

        Raises:
            RefineError: They are too few.
        """
        if self._price is None:
            return self._settings.tokens
        sent, received = self._price
        money = self._left_money(size)
        paid = self._bought(money, received)
        if money < 0 or paid < LEAST_ANSWER:
            raise RefineError(self._too_dear)
        if last:
            return paid
        kept = self._kept_money
        spare = self._bought(money - size * sent - kept, sent + received)
        return min(paid, max(spare, self._bought(kept, received), LEAST_ANSWER))

    @property
    def _kept_money(self) -> float:
        """Money that is kept for the answer that hands in the skills."""
        assert self._price is not None
        return min(self.reserve * self._price[1], self._settings.money * FINISH_SHARE)

    def _left_money(self, sent: int, received: int = 0) -> float:
        """Money left when so many more tokens are paid; negative when it is too little."""
        assert self._price is not None
        spent = self.spent.money or 0.0
        return self._settings.money - spent - sent * self._price[0] - received * self._price[1]

    def _bought(self, money: float, each: float) -> int:
        """Tokens for so much money, within the bound on tokens."""
        if money < 0:
            return 0
        most = self._settings.tokens
        return most if money >= most * each else math.floor(money / each)

    @property
    def _too_dear(self) -> str:
        return f"it would cost more than {self._settings.money:g} (setting `money`)"

    @property
    def _scarce(self) -> str:
        """The setting that bounds the tokens left."""
        left = self._settings.tokens - self.spent.input_tokens - self.spent.output_tokens
        return "money" if self._paid_for < left else "tokens"

    @property
    def _too_much(self) -> str:
        if self._scarce == "money":
            return self._too_dear
        return f"it would take more than {self._settings.tokens} tokens (setting `tokens`)"

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
