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
    """JSON text that is the same for equal values: sorted keys, no blanks, no NaN.

    Raises:
        TypeError: A value is not plain data (text, number, bool, None, list, tuple, dict).
        ValueError: A number is not finite.
    """
    return json.dumps(
        _plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def fingerprint(*parts: Any) -> str:
    """sha256 (64 hex digits) of the canonical JSON of `parts`."""
    return hashlib.sha256(canonical_json(parts).encode("ascii")).hexdigest()


def _plain(value: Any) -> Any:
    """Reject what JSON would turn into something else without a word, such as non-text keys."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(_plain(item) for item in value)
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("fingerprint: mapping keys must be text")
        return {key: _plain(item) for key, item in value.items()}
    raise TypeError(f"fingerprint: {type(value).__name__} is not plain data")
