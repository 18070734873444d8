"""Mode ``two_stage`` against the suite of all retrievers, alone and as a first stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.pair_scorers import TableScorer

from skillcue_adapters import bm25, dense, hybrid, skillsight, two_stage
from skillcue_adapters.rerankers.onnx_pairs import build as open_onnx
from skillcue_hooks.contracts import Library, RetrieverContext
from skillcue_hooks.protocols import PairScorer, Retriever, RetrieverFactory
from skillcue_hooks.testing import FakeEncoder, RetrieverConformance

FAKE = FakeEncoder(dim=256)
STAGES = {
    "bm25": bm25.build,
    "dense": dense.build,
    "hybrid": hybrid.build,
    "skillsight": skillsight.build,
}
PATIENT = {"budget_ms": 600_000}
"""A busy machine must not make a ranking incomplete."""


class TestTwoStage(RetrieverConformance):
    @pytest.fixture
    def scorer(self, overlap_folder: Path) -> PairScorer:
        return open_onnx(str(overlap_folder))

    @pytest.fixture
    def factory(self, scorer: PairScorer) -> RetrieverFactory:
        self.given = scorer

        def build(library: Library, context: RetrieverContext) -> Retriever:
            settings = {**PATIENT, **context.settings}
            return two_stage.build(library, self._full(replace(context, settings=settings)))

        return build

    @pytest.fixture
    def other_settings(self) -> Mapping[str, Any]:
        return {"weight": 0.9}

    @pytest.fixture
    def unmatched_query(self) -> None:
        """Every skill has some similarity to every query."""

    def first_stage(self, library: Library, mode: str) -> Retriever:
        context = RetrieverContext(mode, {}, None, lambda other: self.first_stage(library, other))
        return STAGES[mode](library, self._full(context))

    def _full(self, context: RetrieverContext) -> RetrieverContext:
        return replace(
            context,
            encoder=lambda spec: FAKE,
            defaults={"cross_encoder": self.given},
        )


class TestTwoStageShallow(TestTwoStage):
    """Most of every ranking lies beyond the depth."""

    @pytest.fixture
    def settings(self) -> Mapping[str, Any]:
        return {"depth": 2}


class TestTwoStageLexical(TestTwoStage):
    @pytest.fixture
    def settings(self) -> Mapping[str, Any]:
        return {"first": "bm25"}

    @pytest.fixture
    def unmatched_query(self) -> str:
        return "zxqvj kwpfh"


class TestTwoStageHybrid(TestTwoStage):
    @pytest.fixture
    def settings(self) -> Mapping[str, Any]:
        return {"first": "hybrid", "depth": 3}


class TestThreeStages(TestTwoStage):
    """The first stage is of two stages itself."""

    @pytest.fixture
    def settings(self) -> Mapping[str, Any]:
        return {"first": "inner", "depth": 3, "cross_encoder": TableScorer()}

    def first_stage(self, library: Library, mode: str) -> Retriever:
        if mode != "inner":
            return super().first_stage(library, mode)
        context = RetrieverContext(
            mode, PATIENT, None, lambda other: self.first_stage(library, other)
        )
        return two_stage.build(library, self._full(context))
