"""Settings are checked by name, kind and range."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from skillcue_adapters.settings import number, read_settings
from skillcue_hooks.errors import ConfigurationError, UnknownSettingError


@dataclass(frozen=True, slots=True)
class Example:
    weight: float = number(1.5, 0.0, 2.0)
    limit: int = number(10, 1, 100)


def test_defaults_and_given_values() -> None:
    assert read_settings(Example, {}, "m") == Example()
    assert read_settings(Example, {"weight": 2, "limit": 1}, "m") == Example(2, 1)


def test_an_unknown_name_suggests_the_closest() -> None:
    with pytest.raises(UnknownSettingError, match="weight"):
        read_settings(Example, {"wieght": 1.0}, "m")


@pytest.mark.parametrize(
    "given",
    [
        {"weight": -0.1},
        {"weight": 2.1},
        {"weight": float("nan")},
        {"weight": float("inf")},
        {"weight": "1"},
        {"weight": True},
        {"weight": None},
        {"limit": 0},
        {"limit": 1.5},
    ],
)
def test_values_out_of_range_are_refused(given: dict[str, object]) -> None:
    (name,) = given
    with pytest.raises(ConfigurationError, match=rf"'{name}' of mode 'm'.*from"):
        read_settings(Example, given, "m")
