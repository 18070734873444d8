"""Mode ``expand`` against the suite of all retrievers, over several bases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from support.wordy_model import WordyModel

from skillcue_adapters import bm25, dense, expand, hybrid, skillsight
from skillcue_hooks.contracts import Library, RetrieverContext
from skillcue_hooks.protocols import Retriever, RetrieverFactory
from skillcue_hooks.testing import FakeEncoder, RetrieverConformance

FAKE = FakeEncoder(dim=256)
STAGES = {
    "bm25": bm25.build,
    "dense": dense.build,
    "hybrid": hybrid.build,
    "skillsight": skillsight.build,
}


class TestExpand(RetrieverConformance):
    @pytest.fixture
    def factory(self) -> RetrieverFactory:
        def build(library: Library, context: RetrieverContext) -> Retriever:
            return expand.build(library, self._full(context))

        return build

    @pytest.fixture
    def settings(self) -> Mapping[str, Any]:
        return {}

    @pytest.fixture
    def other_settings(self) -> Mapping[str, Any]:
        return {"seeds": 2}

    @pytest.fixture
    def unmatched_query(self) -> str | None:
        """Every skill has some similarity to every query."""
        return None

    def first_stage(self, library: Library, mode: str) -> Retriever:
        context = RetrieverContext(mode, {}, None, lambda other: self.first_stage(library, other))
        return STAGES[mode](library, self._full(context))

    def _full(self, context: RetrieverContext) -> RetrieverContext:
        return replace(context, encoder=lambda spec: FAKE, language_model=WordyModel())


class TestExpandShallow(TestExpand):
    """Most of every ranking lies beyond the fused part."""

    @pytest.fixture
    def settings(self) -> Mapping[str, Any]:
        return {"top": 2, "depth": 3}


class TestExpandLexical(TestExpand):
    """Skills match that share no word with the query."""

    @pytest.fixture
    def settings(self) -> Mapping[str, Any]:
        return {"base": "bm25"}

    @pytest.fixture
    def unmatched_query(self) -> str | None:
        return "zxqvj kwpfh"


class TestExpandHybrid(TestExpand):
    @pytest.fixture
    def settings(self) -> Mapping[str, Any]:
        return {"base": "hybrid"}
