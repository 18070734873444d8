"""A LlamaIndex ``VectorStoreIndex``, or a vector store of LlamaIndex, as dense leg."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters, SimpleVectorStore
from llama_index.core.vector_stores.types import BasePydanticVectorStore

from skillcue_adapters.vector_stores.identity import leg_fingerprint
from skillcue_adapters.vector_stores.leg import ID, TENANT, Found, Record, StoreLeg
from skillcue_hooks.errors import ConfigurationError

__all__ = ["LlamaIndexLeg"]


class LlamaIndexLeg(StoreLeg):
    """Texts in an index of LlamaIndex, one node each. The store is told to filter by tenant.

    Args:
        index: An index, or a vector store that keeps the texts of its nodes.
        tenant: See `StoreLeg`.
        embed_model: Embeds, where a vector store is given; None takes that of ``Settings``.
        fingerprint: Names the vectors; by default class and settings of the embedding model.
    """

    def __init__(
        self, index: Any, tenant: str, embed_model: Any = None, fingerprint: str = ""
    ) -> None:
        self._index = _index_of(index, embed_model)
        store = self._index.vector_store
        model = self._index._embed_model
        super().__init__(leg_fingerprint(store, model, tenant, fingerprint), tenant, filtered=True)
        self._by_key = True

    def _held(self, keys: Sequence[str]) -> Collection[str] | None:
        store = self._index.vector_store
        if not store.stores_text:  # the index has put the nodes beside it
            documents = self._index.docstore
            kept = {key for key in keys if documents.document_exists(key)}
            # The one such store that shows what it holds: it may have lost what the index has.
            if isinstance(store, SimpleVectorStore):
                kept.intersection_update(store.data.embedding_dict)
            return kept
        if self._by_key:
            try:
                return {node.node_id for node in store.get_nodes(node_ids=list(keys))}
            except NotImplementedError:
                self._by_key = False
        return None

    def _put(self, records: Sequence[Record]) -> None:
        self._index.insert_nodes([_node(record) for record in records])

    def _remove(self, keys: Sequence[str]) -> None:
        for key in keys:  # the one way to delete that every vector store has
            self._index.delete_ref_doc(key, delete_from_docstore=True)

    def _find(self, text: str, count: int, filtered: bool) -> Sequence[Found]:
        own = MetadataFilters(filters=[MetadataFilter(key=TENANT, value=self.tenant)])
        retriever = self._index.as_retriever(
            similarity_top_k=count, filters=own if filtered else None
        )
        return [
            Found(found.node.metadata.get(ID), found.node.metadata.get(TENANT), found.score or 0.0)
            for found in retriever.retrieve(text)
        ]


def _index_of(index: Any, embed_model: Any) -> VectorStoreIndex:
    if isinstance(index, VectorStoreIndex):
        if embed_model is not None:
            raise ConfigurationError(
                "The index embeds by itself.", "Leave embed_model out, or pass its vector store."
            )
        return index
    if not isinstance(index, BasePydanticVectorStore):
        raise ConfigurationError(
            f"A {type(index).__name__} is no index of LlamaIndex.",
            "Pass a VectorStoreIndex, or a vector store and its embed_model.",
        )
    if not index.stores_text:
        raise ConfigurationError(
            f"A {type(index).__name__} keeps no texts.",
            "Pass VectorStoreIndex([], storage_context=..., embed_model=...) over it.",
        )
    return VectorStoreIndex.from_vector_store(index, embed_model=embed_model)


def _node(record: Record) -> TextNode:
    source = RelatedNodeInfo(node_id=record.key)
    return TextNode(
        id_=record.key,
        text=record.text,
        metadata=record.fields,
        excluded_embed_metadata_keys=list(record.fields),  # the text alone is embedded
        excluded_llm_metadata_keys=list(record.fields),
        relationships={NodeRelationship.SOURCE: source},
    )
