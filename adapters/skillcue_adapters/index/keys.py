"""Names of texts: hashes, as rows of an array, and how many of them are found at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["KEY_BYTES", "Keys", "Positions", "content_keys", "keys_of", "match_keys", "smallest"]

KEY_BYTES = 32

Keys = npt.NDArray[np.uint8]
"""Names of texts, one a row, shape ``(n, KEY_BYTES)``."""

Positions = npt.NDArray[np.int64]

_FEW = 16
"""So many keys are found faster one by one than by sorting those that are known."""


def content_keys(identity: str, texts: Iterable[str]) -> Keys:
    """sha256 of identity and text for each text.

    Args:
        identity: Of whatever was made of the texts, such as `Encoder.fingerprint`: what another
            encoder made must never be found.
        texts: What it was made of.
    """
    start = hashlib.sha256(identity.encode("utf-8", "surrogatepass"))
    start.update(b"\0")
    digests = []
    for text in texts:
        own = start.copy()
        own.update(text.encode("utf-8", "surrogatepass"))
        digests.append(own.digest())
    return keys_of(digests)


def keys_of(digests: Sequence[bytes]) -> Keys:
    """Digests of `KEY_BYTES` bytes as rows."""
    return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, KEY_BYTES)


def match_keys(known: Keys, wanted: Keys) -> Positions:
    """Where each of `wanted` stands in `known`, -1 for those that do not.

    Two keys of `known` that begin with the same 64 bits, which no two hashes do by accident, may
    count as unknown.
    """
    found = np.full(len(wanted), -1, dtype=np.int64)
    if not len(known) or not len(wanted):
        return found
    heads, asked = _prefixes(known), _prefixes(wanted)
    if len(asked) <= _FEW:
        for position, prefix in enumerate(asked):
            where = np.flatnonzero(heads == prefix)
            found[position] = where[0] if len(where) else -1
    else:
        order = np.argsort(heads, kind="stable")
        places = np.searchsorted(heads[order], asked)
        found = order[np.minimum(places, len(order) - 1)]
    same = (known[found] == wanted).all(axis=1) & (found >= 0)
    return np.where(same, found, -1)


def smallest(keys: Keys, count: int) -> Positions:
    """Positions of the `count` smallest keys, ascending by key: a sample drawn by content."""
    heads = _prefixes(keys)
    candidates = np.arange(len(keys))
    if count < len(keys):
        candidates = np.flatnonzero(heads <= np.partition(heads, count)[count])
    words = np.ascontiguousarray(keys[candidates]).view(">u8")
    order = np.lexsort(tuple(words[:, column] for column in reversed(range(words.shape[1]))))
    return candidates[order][:count]


def _prefixes(keys: Keys) -> npt.NDArray[np.uint64]:
    return np.ascontiguousarray(keys[:, :8]).view(">u8").ravel().astype(np.uint64)
