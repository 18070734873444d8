"""One way to name a thing by its content: canonical JSON, hashed with sha256.

Every cache key, generation id and settings identity goes through here, so that equal values
give equal names in any process and with any hash seed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

__all__ = ["canonical_json", "fingerprint"]


def canonical_json(value: Any) -> str:
    """JSON text that is the same for equal values: sorted keys, no blanks, no NaN, ASCII only.

    A tuple counts as a list, a set as the list of its items in the order of their texts, and
    -0.0 as 0.0. Values of different types differ: ``1``, ``1.0``, ``True`` and ``"1"`` give four
    texts.

    Raises:
        TypeError: A value is not plain data (text, number, bool, None, list, tuple, set, mapping
            with text keys).
        ValueError: A number is not finite.
    """
    return _dumps(_plain(value), ensure_ascii=True)


def fingerprint(*parts: Any) -> str:
    """sha256 (64 hex digits) of the canonical JSON of `parts`; raises what `canonical_json` does.

    Hashed as UTF-8 and not as ASCII: escaped, two lone surrogates read like the one character
    that they would encode as a pair.
    """
    text = _dumps(_plain(parts), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _dumps(value: Any, *, ensure_ascii: bool) -> str:
    return json.dumps(
        value,
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=ensure_ascii,
        allow_nan=False,
    )


def _plain(value: Any) -> Any:
    """Reject what JSON would turn into something else without a word, such as non-text keys."""
    if isinstance(value, float):
        return value + 0.0  # -0.0 equals 0.0 and is written differently
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, set | frozenset):
        # By their text, since items of different types have no order of their own.
        return sorted(map(_plain, value), key=lambda item: _dumps(item, ensure_ascii=False))
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("fingerprint: mapping keys must be text")
        return {key: _plain(item) for key, item in value.items()}
    raise TypeError(f"fingerprint: {type(value).__name__} is not plain data")
