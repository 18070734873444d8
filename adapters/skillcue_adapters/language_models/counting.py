"""What one call took: what the model counted where that can be, else an estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillcue_adapters.language_models.backend import is_count, message_texts
from skillcue_adapters.language_models.prices import Price, is_amount, money
from skillcue_adapters.token_estimate import estimate_tokens
from skillcue_hooks.language import ChatMessage, Completion, ToolSpec, Usage

__all__ = ["usage_of"]


def usage_of(
    messages: Sequence[ChatMessage],
    tools: Sequence[ToolSpec],
    found: Completion,
    price: Price | None,
) -> Usage:
    """What the call that gave `found` took.

    Args:
        messages: The conversation.
        tools: What the model was offered.
        found: Its answer; a count or an amount in it that cannot be is not used.
        price: Of the model, for a call whose money it does not know itself; None is not known.
    """
    usage = found.usage if _is_credible(found.usage) else _estimate(messages, tools, found)
    if not is_amount(usage.money):
        usage = replace(usage, money=None)
    if usage.money is None and price is not None:
        usage = replace(usage, money=money(price, usage.input_tokens, usage.output_tokens))
    return usage


def _is_credible(usage: object) -> bool:
    """Whether a model counted; model objects are of any origin, and say anything."""
    if not isinstance(usage, Usage) or usage.calls == 0:
        return False
    return all(map(is_count, (usage.calls, usage.input_tokens, usage.output_tokens)))


def _estimate(
    messages: Sequence[ChatMessage], tools: Sequence[ToolSpec], found: Completion
) -> Usage:
    said = ChatMessage("assistant", found.text, found.tool_calls)
    offered = "".join(f"{t.name}{t.description}{dict(t.parameters)}" for t in tools)
    return Usage(
        calls=1,
        input_tokens=estimate_tokens(message_texts(messages) + offered),
        output_tokens=estimate_tokens(message_texts([said])),
        money=None,
        estimated=True,
    )
