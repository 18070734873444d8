"""Every kind of store against the suite that each dense leg must pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.store.memory import InMemoryStore
from support.store_embeddings import DIM, CountingEmbeddings, llamaindex_embedding

from skillcue.langchain import from_vectorstore
from skillcue.langgraph import from_store
from skillcue.llamaindex import from_llamaindex
from skillcue_hooks.dense_leg import DenseLeg
from skillcue_hooks.testing import DenseLegConformance
from skillcue_hooks.testing.dense_leg import OpenLeg


class TestLangChainInMemory(DenseLegConformance):
    @pytest.fixture
    def open_leg(self) -> OpenLeg:
        store = InMemoryVectorStore(CountingEmbeddings())
        return lambda tenant: from_vectorstore(store, tenant=tenant)


class TestLangChainFiltered(DenseLegConformance):
    @pytest.fixture
    def open_leg(self) -> OpenLeg:
        store = InMemoryVectorStore(CountingEmbeddings())

        def open_one(tenant: str) -> DenseLeg:
            def own(document: Document) -> bool:
                return bool(document.metadata["skillcue_tenant"] == tenant)

            return from_vectorstore(store, tenant=tenant, filter=own)

        return open_one


class FiltersTooLate(InMemoryVectorStore):
    """Looks at the ten nearest and filters those, as an approximate index does."""

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        own = kwargs.get("filter")
        if own is None:
            return super().similarity_search_with_score(query, k)
        nearest = super().similarity_search_with_score(query, max(k, 10))[:10]
        return [(document, score) for document, score in nearest if own(document)][:k]


class TestLangChainThatFiltersTooLate(TestLangChainFiltered):
    @pytest.fixture
    def open_leg(self) -> OpenLeg:
        store = FiltersTooLate(CountingEmbeddings())

        def open_one(tenant: str) -> DenseLeg:
            def own(document: Document) -> bool:
                return bool(document.metadata["skillcue_tenant"] == tenant)

            return from_vectorstore(store, tenant=tenant, filter=own)

        return open_one


class Distances(InMemoryVectorStore):
    """Gives distances in place of similarities, and cannot tell what it holds."""

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        found = super().similarity_search_with_score(query, k, **kwargs)
        return [(document, 1.0 - score) for document, score in found]

    def get_by_ids(self, ids: Any, /) -> list[Document]:
        raise NotImplementedError


class TestLangChainDistances(DenseLegConformance):
    @pytest.fixture
    def open_leg(self) -> OpenLeg:
        store = Distances(CountingEmbeddings())
        return lambda tenant: from_vectorstore(store, tenant=tenant)


class TestQdrant(DenseLegConformance):
    @pytest.fixture
    def open_leg(self) -> Iterator[OpenLeg]:
        qdrant = pytest.importorskip("langchain_qdrant")
        from qdrant_client import QdrantClient, models

        client = QdrantClient(":memory:")
        client.create_collection(
            "skills",
            vectors_config=models.VectorParams(size=DIM, distance=models.Distance.COSINE),
        )
        store = qdrant.QdrantVectorStore(client, "skills", CountingEmbeddings())

        def open_one(tenant: str) -> DenseLeg:
            field = models.FieldCondition(
                key="metadata.skillcue_tenant", match=models.MatchValue(value=tenant)
            )
            return from_vectorstore(store, tenant=tenant, filter=models.Filter(must=[field]))

        yield open_one
        client.close()


class TestLangGraphInMemory(DenseLegConformance):
    @pytest.fixture
    def open_leg(self) -> OpenLeg:
        store = InMemoryStore(index={"dims": DIM, "embed": CountingEmbeddings()})
        return lambda tenant: from_store(store, namespace=("skills",), tenant=tenant)


class TestLangGraphNested(DenseLegConformance):
    """A store searches the namespaces below the one it is asked for as well."""

    @pytest.fixture
    def open_leg(self) -> OpenLeg:
        store = InMemoryStore(index={"dims": DIM, "embed": CountingEmbeddings()})
        below = {"acme": ("skills",), "crowd": ("skills", "acme"), "other": ("skills", "acme")}
        return lambda tenant: from_store(
            store, namespace=below.get(tenant, ("skills",)), tenant=tenant
        )


class TestLlamaIndex(DenseLegConformance):
    @pytest.fixture
    def open_leg(self) -> OpenLeg:
        from llama_index.core import VectorStoreIndex

        index = VectorStoreIndex([], embed_model=llamaindex_embedding())
        return lambda tenant: from_llamaindex(index, tenant=tenant)
