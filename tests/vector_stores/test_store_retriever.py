"""Modes over a vector store against the suite that every retriever must pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from langchain_core.vectorstores import InMemoryVectorStore
from support.store_embeddings import CountingEmbeddings

from skillcue.langchain import from_vectorstore
from skillcue_adapters import bm25, dense, hybrid
from skillcue_hooks.contracts import Library, RetrieverContext
from skillcue_hooks.protocols import Retriever, RetrieverFactory
from skillcue_hooks.testing import RetrieverConformance


class _OverStore(RetrieverConformance):
    """Gives each retriever a store of its own, as no two libraries share a tenant."""

    module: ClassVar[Any]

    @pytest.fixture
    def factory(self) -> RetrieverFactory:
        def build(library: Library, context: RetrieverContext) -> Retriever:
            leg = from_vectorstore(InMemoryVectorStore(CountingEmbeddings()))
            return self.over(leg, library, context)

        return build

    def over(self, leg: Any, library: Library, context: RetrieverContext) -> Any:
        def stage(mode: str) -> Any:
            return modes[mode].build(library, replace(context, mode=mode, settings={}))

        modes: dict[str, Any] = {"bm25": bm25, "dense": dense}
        context = replace(context, defaults={"vectors": leg}, retriever=stage)
        built = self.module.build(library, context)
        assert built.wait_ready(60.0)
        return built

    @pytest.fixture
    def unmatched_query(self) -> None:
        """Every skill has some similarity to every query."""


class TestDenseOverStore(_OverStore):
    module = dense

    @pytest.fixture
    def other_settings(self) -> Mapping[str, Any]:
        return {"context_weight": 0.1}


class TestHybridOverStore(_OverStore):
    module = hybrid

    @pytest.fixture
    def other_settings(self) -> Mapping[str, Any]:
        return {"k": 10}
