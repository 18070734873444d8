"""Vectors of queries, remembered by encoder: every mode and every generation of a library asks for
the same ones, and one context comes with many queries."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Any

from skillcue_adapters.document_vectors import rows_of
from skillcue_hooks.protocols import Encoder

__all__ = ["REMEMBERED", "QueryNotEncodedError", "forget_queries", "query_vector"]

REMEMBERED = 2_048
"""Texts of queries whose vectors are kept in a process, the last used ones: some 3 MB."""

# Every operation on it is atomic; two threads may encode the same text at worst, to equal vectors.
# A lock would have to survive forks.
_remembered: OrderedDict[tuple[str, bytes], Any] = OrderedDict()


class QueryNotEncodedError(RuntimeError):
    """The encoder failed on a query."""


def query_vector(encoder: Encoder, text: str) -> Any:
    """Vector of `text`: float32, shape ``(encoder.dim,)``, length 1; it cannot be written to.

    Args:
        encoder: Gives it where it is not remembered, by its fingerprint.
        text: A query.

    Raises:
        QueryNotEncodedError: The encoder failed, or gave something that is no vector.
    """
    key = (encoder.fingerprint, hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    vector = _remembered.pop(key, None)
    if vector is None:
        vector = _encoded(encoder, text)
    _remembered[key] = vector
    while len(_remembered) > REMEMBERED:
        _remembered.popitem(last=False)
    return vector


def forget_queries() -> None:
    """Forget all vectors, so that the next answers take the time of first ones."""
    _remembered.clear()


def _encoded(encoder: Encoder, text: str) -> Any:
    # One text a call: what else is encoded must not change a vector.
    try:
        vector = rows_of(encoder.encode_queries([text]), 1, encoder.dim)[0]
    except Exception as error:  # a server may be down; the words of the query still answer
        raise QueryNotEncodedError(type(error).__name__) from error
    vector.setflags(write=False)
    return vector
