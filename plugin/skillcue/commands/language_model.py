"""The language model that ``--llm`` and ``--price`` name, and what it took."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.language import Usage

if TYPE_CHECKING:
    from skillcue_adapters.language_models import MeteredLanguageModel

__all__ = ["open_model", "price_pair", "usage_record", "usage_text"]


def open_model(spec: str | None, price: str | None) -> MeteredLanguageModel | None:
    """The model with its price; None where none is named.

    Args:
        spec: ``openai:MODEL@URL``.
        price: Money for a million tokens in and out, such as ``0.15,0.60``.

    Raises:
        ConfigurationError: There is no such model, the price is none, or it has no model.
    """
    if spec is None:
        if price is not None:
            raise ConfigurationError("--price needs a model.", "Name one: --llm openai:MODEL@URL")
        return None
    from skillcue_adapters.language_models import open_language_model  # only where used

    model = open_language_model(spec)
    if price is None:
        return model
    return open_language_model(spec, prices={model.name: price_pair(price)})


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
    paid = "no known price" if cost.money is None else f"money {cost.money:.4f}"
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
