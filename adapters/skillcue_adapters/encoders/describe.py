"""What an unknown object consists of, as plain data, so that it can be hashed.

Only what is the same in every process counts: no addresses, no clients, no locks.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from inspect import getattr_static
from pathlib import PurePath
from typing import Any

from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.fingerprint import canonical_json

__all__ = ["check_fingerprint", "describe"]

_SECRET = re.compile(
    r"(^|_)(api_?)?(key|secret|token|password|credentials?|authorization)$", re.IGNORECASE
)
"""Names of values that say who asks and not what is computed."""
_TELLING = re.compile(r"model|name|path|revision|deployment|endpoint|url|prompt|dim", re.IGNORECASE)
"""Names of values by which an object tells which model it stands for."""
_DEPTH = 4
"""Levels of objects that are looked into."""
_EMBEDS = ("embed_query", "get_query_embedding", "encode_queries")


def describe(value: object) -> Any:
    """Plain data for `fingerprint`: the class of an object and the plain values it holds.

    Objects in it are looked into when they are pydantic models, dataclasses, or embed something
    themselves, as the inner model of a wrapper does. Any other object, such as a client, counts
    with its class and those of its plain values whose names speak of a model.
    """
    return [_name(type(value)), _mapping(_state(value), _DEPTH)]


def _described(value: object, depth: int) -> Any:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if isinstance(value, enum.Enum):
        return [_name(type(value)), value.name]
    if isinstance(value, PurePath):
        return value.as_posix()
    if isinstance(value, bytes | bytearray):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, Mapping):
        return _mapping(value, depth)
    if isinstance(value, list | tuple):
        return [_described(item, depth) for item in value]
    if isinstance(value, AbstractSet):
        return {canonical_json(_described(item, depth)) for item in value}
    if hasattr(value, "tobytes"):
        shape = [str(getattr(value, name, "")) for name in ("dtype", "shape")]
        return [*shape, hashlib.sha256(value.tobytes()).hexdigest()]
    return _object(value, depth)


def _mapping(values: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    return {
        key if isinstance(key, str) else f"{type(key).__name__}:{key}": _described(value, depth)
        for key, value in values.items()
        if not (isinstance(key, str) and _SECRET.search(key))
    }


def _object(value: object, depth: int) -> Any:
    if isinstance(value, type) or hasattr(value, "__qualname__"):
        return _name(value)
    inside = (
        hasattr(type(value), "model_fields")
        or dataclasses.is_dataclass(value)
        or any(hasattr(value, name) for name in _EMBEDS)
    )
    state = _state(value) if depth else {}
    if not inside:
        state = {k: v for k, v in state.items() if _TELLING.search(k) and isinstance(v, str | int)}
    return [_name(type(value)), _mapping(state, depth - 1)]


def _state(value: object) -> dict[str, Any]:
    slots = [slot for kind in type(value).__mro__ for slot in _slots(kind)]
    held = {slot: getattr(value, slot) for slot in slots if hasattr(value, slot)}
    private = getattr(value, "__pydantic_private__", None) or {}
    return {**held, **getattr(value, "__dict__", {}), **private}


def _slots(kind: type) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    # pydantic keeps there which fields were named, which tells equal objects apart
    return tuple(name for name in names if not name.startswith("__"))


def _name(thing: Any) -> str:
    return f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', '')}"


def check_fingerprint(value: object) -> None:
    """Make sure that an object has a fingerprint: without one, answers of two would be mixed up.

    A property is not read, since that may load a model.

    Raises:
        ConfigurationError: It has none, or one that is no text.
    """
    found = getattr_static(value, "fingerprint", None)
    if (isinstance(found, str) and found) or hasattr(type(found), "__get__"):
        return
    raise ConfigurationError(
        f"The fingerprint of the {type(value).__name__} is {found!r}.",
        "Give it one: a text that names everything by which its numbers differ from others'.",
    )
