"""The key of a cached ranking: everything that could change it, hashed."""

from __future__ import annotations

from skillcue_hooks.contracts import Query
from skillcue_hooks.fingerprint import fingerprint

__all__ = ["SCHEMA_VERSION", "ranking_key"]

SCHEMA_VERSION = 1
"""Of key and stored text; raised whenever either changes, so that old entries are misses."""


def ranking_key(retriever_fingerprint: str, generation: str, mode: str, query: Query) -> str:
    """64 hex digits that are equal exactly where the rankings must be.

    Args:
        retriever_fingerprint: `Retriever.fingerprint`.
        generation: `Library.generation`.
        mode: Name the retriever is registered under.
        query: Filters are a conjunction, so their order and repeats do not matter; a scope counts
            by its key and its answers.
    """
    return fingerprint(
        SCHEMA_VERSION,
        retriever_fingerprint,
        generation,
        mode,
        query.text,
        query.context,
        query.k,
        query.offset,
        sorted(set(query.filters)),
        None if query.scope is None else [query.scope.key, query.scope.answers],
    )
