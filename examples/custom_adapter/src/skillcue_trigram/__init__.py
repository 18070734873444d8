"""Mode ``trigram``: skills whose text looks like the query, typing errors forgiven."""

from __future__ import annotations

from collections.abc import Callable

from skillcue_hooks import RetrieverFactory, hookimpl

__all__ = ["skillcue_register_retrievers"]


@hookimpl
def skillcue_register_retrievers(register: Callable[[str, str | RetrieverFactory], None]) -> None:
    """Name the mode; its module is imported when the mode is first used."""
    register("trigram", "skillcue_trigram.retriever:build")
