"""A LangChain ``VectorStore`` as dense leg."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from skillcue_adapters.vector_stores.identity import leg_fingerprint
from skillcue_adapters.vector_stores.leg import ID, TENANT, Found, Record, StoreLeg
from skillcue_hooks.errors import ConfigurationError

__all__ = ["LangChainLeg"]


class LangChainLeg(StoreLeg):
    """Texts in a LangChain vector store.

    Args:
        store: The store, which embeds.
        tenant: See `StoreLeg`.
        filter: What the store takes as ``filter`` to leave out other tenants; None sends none.
        fingerprint: Names the vectors; by default class and settings of the store's embeddings.
    """

    def __init__(
        self, store: VectorStore, tenant: str, filter: Any = None, fingerprint: str = ""
    ) -> None:
        if not isinstance(store, VectorStore):
            raise ConfigurationError(
                f"A {type(store).__name__} is no LangChain vector store.",
                "Pass an object whose class is a langchain_core VectorStore.",
            )
        identity = leg_fingerprint(store, store.embeddings, tenant, fingerprint)
        super().__init__(identity, tenant, filter is not None)
        self._store = store
        self._filter = filter
        self._by_key = True
        self._distances = False

    def _held(self, keys: Sequence[str]) -> Collection[str] | None:
        if self._by_key:
            try:
                documents = self._store.get_by_ids(list(keys))
            except NotImplementedError:
                self._by_key = False
            else:
                return {key for d in documents if (key := _key_of(d)) is not None}
        return None

    def _put(self, records: Sequence[Record]) -> None:
        documents = [
            Document(page_content=r.text, metadata={**r.fields, _KEY: r.key}) for r in records
        ]
        self._store.add_documents(documents, ids=[r.key for r in records])

    def _remove(self, keys: Sequence[str]) -> None:
        self._store.delete(list(keys))

    def _find(self, text: str, count: int, filtered: bool) -> Sequence[Found]:
        options = {"filter": self._filter} if filtered else {}
        found = self._store.similarity_search_with_score(text, k=count, **options)
        # Best first in every store, but for some a score is a distance.
        if len(found) > 1 and found[0][1] != found[-1][1]:
            self._distances = found[0][1] < found[-1][1]
        sign = -1.0 if self._distances else 1.0
        return [
            Found(d.metadata.get(ID), d.metadata.get(TENANT), sign * float(score))
            for d, score in found
        ]


_KEY = "skillcue_key"
"""Field with the record's id: not every store gives it back with a document."""


def _key_of(document: Document) -> str | None:
    key: str | None = document.metadata.get(_KEY)
    return key
