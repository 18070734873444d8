"""What calls of a language model cost, by a table that the user supplies."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from skillcue_hooks.errors import ConfigurationError

__all__ = ["Price", "money", "price_of"]

Price = tuple[float, float]
"""Money for a million tokens sent, and for a million received."""

_MILLION = 1_000_000
_EXAMPLE = 'prices={"gpt-4o-mini": (0.15, 0.60)}, money for a million tokens in and out'


def price_of(model: str, prices: Mapping[str, Any] | None) -> Price | None:
    """The price of `model`, None without a table.

    Args:
        model: Its name.
        prices: Name of a model to `Price`.

    Raises:
        ConfigurationError: The table is malformed, or does not know the model.
    """
    if prices is None:
        return None
    if not isinstance(prices, Mapping):
        raise ConfigurationError(f"prices is a {type(prices).__name__}.", f"Pass {_EXAMPLE}.")
    for name, price in prices.items():
        _check(name, price)
    if model not in prices:
        known = ", ".join(map(repr, sorted(prices))) or "none"
        raise ConfigurationError(
            f"prices holds no price of the model {model!r}.",
            f"Add the key {model!r}; keys in the table: {known}.",
        )
    price_in, price_out = prices[model]
    return float(price_in), float(price_out)


def money(price: Price, input_tokens: int, output_tokens: int) -> float:
    """What so many tokens cost."""
    return (input_tokens * price[0] + output_tokens * price[1]) / _MILLION


def _check(name: object, price: object) -> None:
    pair = isinstance(price, tuple | list) and len(price) == 2
    if isinstance(name, str) and pair and all(map(_is_price, price)):  # type: ignore[call-overload]
        return
    raise ConfigurationError(
        f"The price of {name!r} is {price!r}.",
        f"Give two numbers of 0 or more: {_EXAMPLE}.",
    )


def _is_price(value: object) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and value >= 0  # type: ignore[arg-type,operator]
