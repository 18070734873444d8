"""Settings of a retriever: a frozen dataclass whose fields say which values they take."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from skillcue_hooks.errors import ConfigurationError, UnknownSettingError

__all__ = ["choice", "number", "read_settings"]

T = TypeVar("T")


def number(default: float, low: float, high: float) -> Any:
    """A dataclass field for a finite number from `low` to `high`; whole where `default` is."""
    return dataclasses.field(default=default, metadata={"low": low, "high": high})


def choice(default: str, *others: str) -> Any:
    """A dataclass field for one of a few texts."""
    return dataclasses.field(default=default, metadata={"options": (default, *others)})


def read_settings(
    kind: type[T], given: Mapping[str, Any], mode: str, others: Iterable[str] = ()
) -> T:
    """An instance of the dataclass `kind`, defaults where `given` says nothing.

    Args:
        kind: A dataclass whose fields are made by `number` and `choice`.
        given: Settings as the user wrote them.
        mode: Name of the retriever, for messages.
        others: Settings of the mode that are not fields and were taken out of `given`; they are
            listed with the fields where a name is unknown.

    Raises:
        UnknownSettingError: `given` names a field that `kind` has not.
        ConfigurationError: A value is no number, not whole where it must be, out of range, or
            none of the texts to choose from.
    """
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for name, value in given.items():
        if name not in fields:
            raise UnknownSettingError(name, (*fields, *others))
        _check(fields[name], value, mode)
    return kind(**given)


def _check(field: dataclasses.Field[Any], value: Any, mode: str) -> None:
    if "options" in field.metadata:
        _check_choice(field, value, mode)
    else:
        _check_number(field, value, mode)


def _check_choice(field: dataclasses.Field[Any], value: Any, mode: str) -> None:
    options = field.metadata["options"]
    if not isinstance(value, str) or value not in options:
        raise ConfigurationError(
            f"Setting {field.name!r} of mode {mode!r} cannot be {value!r}.",
            f"Give one of {', '.join(map(repr, options))} (default {field.default!r}).",
        )


def _check_number(field: dataclasses.Field[Any], value: Any, mode: str) -> None:
    low, high = field.metadata["low"], field.metadata["high"]
    whole = isinstance(field.default, int)
    fits = (
        isinstance(value, int if whole else int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and low <= value <= high
    )
    if not fits:
        raise ConfigurationError(
            f"Setting {field.name!r} of mode {mode!r} cannot be {value!r}.",
            f"Give a {'whole number' if whole else 'number'} from {low} to {high} "
            f"(default {field.default}).",
        )
