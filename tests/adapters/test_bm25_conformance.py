"""The bm25 factory against the suite that every retriever must pass."""

from __future__ import annotations

import pytest

from skillcue_adapters import bm25
from skillcue_hooks.protocols import RetrieverFactory
from skillcue_hooks.testing import RetrieverConformance


class TestBm25(RetrieverConformance):
    @pytest.fixture
    def factory(self) -> RetrieverFactory:
        return bm25.build

    @pytest.fixture
    def other_settings(self) -> dict[str, float]:
        return {"k1": 1.2}


class TestBm25HeadOnly(TestBm25):
    @pytest.fixture
    def settings(self) -> dict[str, float]:
        return {"body_weight": 0.0}
