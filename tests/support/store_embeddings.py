"""The shipped token vectors as embedding objects of LangChain and LlamaIndex, which count texts."""

from __future__ import annotations

from typing import Any

from langchain_core.embeddings import Embeddings

from skillcue_adapters.encoders import static

__all__ = ["DIM", "CountingEmbeddings", "llamaindex_embedding"]

ENCODER = static.build("")
DIM = ENCODER.dim


class Embedded:
    """What was embedded.

    Attributes:
        documents: The documents, in order.
        queries: The queries.
    """

    def __init__(self) -> None:
        self.documents: list[str] = []
        self.queries: list[str] = []


class CountingEmbeddings(Embeddings):
    """`static` for LangChain and LangGraph.

    Attributes:
        seen: What was embedded; an object of its own, for plain values would name the model.
    """

    def __init__(self) -> None:
        self.seen = Embedded()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.seen.documents += texts
        return _rows(ENCODER.encode_documents(texts))

    def embed_query(self, text: str) -> list[float]:
        self.seen.queries.append(text)
        return _rows(ENCODER.encode_queries([text]))[0]


def llamaindex_embedding() -> Any:
    """`static` for LlamaIndex."""
    from llama_index.core.base.embeddings.base import BaseEmbedding

    class StaticEmbedding(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return _rows(ENCODER.encode_documents([text]))[0]

        def _get_query_embedding(self, query: str) -> list[float]:
            return _rows(ENCODER.encode_queries([query]))[0]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    return StaticEmbedding(model_name="static")


def _rows(vectors: Any) -> list[list[float]]:
    # A text of unknown words alone has the zero vector, whose cosine some stores refuse to take.
    return [(row if row.any() else row + 1.0).tolist() for row in vectors]
