"""How much advice may cost, in tokens."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence

from skillcue_adapters.token_estimate import estimate_tokens

__all__ = ["TokenCounter", "active_turns", "body_cost", "estimate_tokens", "shorten"]

TokenCounter = Callable[[str], int]


def shorten(text: str, limit: int) -> str:
    """`text` in at most `limit` characters, cut between words, the cut marked with an ellipsis."""
    if len(text) <= limit:
        return text
    if limit < 1:
        return ""
    head = text[: limit - 1]
    space = len(head) if text[limit - 1] == " " else head.rfind(" ")
    return (head[:space] if space > limit // 2 else head).rstrip(" ,;:.-") + "…"


def body_cost(tokens: int, load_tokens: int, budget: int) -> int:
    """What a replayed body of `tokens` counts as: two of the largest fill the budget.

    A body may be larger than all advice together. Counted as it is, the next advice would drop it.

    Args:
        tokens: Size of the body.
        load_tokens: Size of the largest body.
        budget: Tokens for all replayed advice together.
    """
    return max(1, math.ceil(tokens * budget / (2 * load_tokens)))


def active_turns(tokens: Sequence[int], budget: int) -> list[bool]:
    """Which turns' advice is still replayed, oldest first.

    When the sum would exceed `budget`, the oldest advice goes until half of it is free. Dropping
    more than needed at once keeps the prompt prefix stable for many turns instead of breaking it
    on every one. The newest advice always stays.

    Args:
        tokens: Size of each turn's advice, 0 for turns without.
        budget: Tokens for all replayed advice together.
    """
    active: deque[int] = deque()
    total = 0
    for turn, size in enumerate(tokens):
        if not size:
            continue
        if total + size > budget:
            while active and total + size > budget // 2:
                total -= tokens[active.popleft()]
        active.append(turn)
        total += size
    kept = set(active)
    return [turn in kept for turn in range(len(tokens))]
