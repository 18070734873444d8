"""The language model that ``--llm`` and ``--price`` name, and what it took."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.language import Usage

if TYPE_CHECKING:
    from skillcue_adapters.language_models import MeteredLanguageModel

__all__ = ["open_model", "price_pair", "usage_record", "usage_text"]

MOST_SECONDS = 86_400
"""Longest time that can be given for one request, seconds."""


def open_model(
    spec: str | None, price: str | None, timeout_s: float | None
) -> MeteredLanguageModel | None:
    """The model with its price; None where none is named.

    Args:
        spec: ``openai:MODEL@URL``.
        price: Money for a million tokens in and out, such as ``0.15,0.60``.
        timeout_s: Longest time for one request, seconds; None for the default.

    Raises:
        ConfigurationError: There is no such model, price or time, or no model for them.
    """
    if spec is None:
        for name, given in (("--price", price), ("--llm-timeout", timeout_s)):
            if given is not None:
                cure = "Name one: --llm openai:MODEL@URL"
                raise ConfigurationError(f"{name} needs a model.", cure)
        return None
    from skillcue_adapters.language_models import CallLimits, open_language_model  # only where used

    if timeout_s is not None and not 0 < timeout_s <= MOST_SECONDS:
        raise ConfigurationError(
            f"--llm-timeout is {timeout_s:g}.", f"Give seconds above 0, to {MOST_SECONDS:,}."
        )
    limits = None if timeout_s is None else CallLimits(timeout_s=timeout_s)
    model = open_language_model(spec, limits=limits)
    if price is None:
        return model
    return open_language_model(spec, prices={model.name: price_pair(price)}, limits=limits)


def price_pair(text: str) -> tuple[float, float]:
    """``IN,OUT`` as numbers.

    Raises:
        ConfigurationError: It is not that.
    """
    from skillcue_adapters.language_models.prices import MOST_MONEY, is_amount  # only where used

    try:
        price_in, price_out = (float(part) for part in text.split(","))
    except ValueError:
        price_in = price_out = math.nan
    if not (is_amount(price_in) and is_amount(price_out)):
        raise ConfigurationError(
            f"--price is {text!r}.",
            f"Give two numbers from 0 to {MOST_MONEY:g}, such as --price 0.15,0.60.",
        )
    return price_in, price_out


def usage_text(cost: Usage) -> str:
    """``4 calls, 5210 tokens in, 640 out, money 0.0123``."""
    about = "about " if cost.estimated else ""
    known = cost.money is not None and cost.calls > 0
    paid = f"money {cost.money:.4f}" if known else "no known price"
    tokens = f"{about}{cost.input_tokens} tokens in, {cost.output_tokens} out"
    return f"{cost.calls} call{'' if cost.calls == 1 else 's'}, {tokens}, {paid}"


def usage_record(cost: Usage) -> dict[str, Any]:
    """The same as plain data for ``--json``."""
    return {
        "calls": cost.calls,
        "input_tokens": cost.input_tokens,
        "output_tokens": cost.output_tokens,
        "money": cost.money,
        "estimated": cost.estimated,
    }
