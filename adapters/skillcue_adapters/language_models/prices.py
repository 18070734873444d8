"""What calls of a language model cost, by a table that the user supplies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillcue_hooks.errors import ConfigurationError

__all__ = ["MOST_MONEY", "Price", "is_amount", "money", "price_of"]

MOST_MONEY = 1e12
"""No call and no million tokens cost more, in any currency."""

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


def is_amount(value: object) -> bool:
    """Whether `value` is an amount of money that a call can cost."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 <= value <= MOST_MONEY  # type: ignore[operator]


def _check(name: object, price: object) -> None:
    pair = isinstance(price, tuple | list) and len(price) == 2
    if isinstance(name, str) and pair and all(map(is_amount, price)):  # type: ignore[call-overload]
        return
    raise ConfigurationError(
        f"The price of {name!r} is {price!r}.",
        f"Give two numbers from 0 to {MOST_MONEY:g}: {_EXAMPLE}.",
    )
