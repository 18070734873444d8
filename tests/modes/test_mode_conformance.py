"""Every mode with vectors against the suite that every retriever must pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from skillcue_adapters import bm25, dense, hybrid, skillsight
from skillcue_adapters.encoders import static
from skillcue_hooks.contracts import Library, RetrieverContext
from skillcue_hooks.protocols import Encoder, Retriever, RetrieverFactory
from skillcue_hooks.testing import FakeEncoder, RetrieverConformance

FAKE = FakeEncoder(dim=256)
STATIC = static.build("")


class _SemanticConformance(RetrieverConformance):
    """Gives the factory an encoder and the stages it may ask for."""

    module: ClassVar[Any]
    encoder: ClassVar[Encoder] = FAKE

    @pytest.fixture
    def factory(self) -> RetrieverFactory:
        def build(library: Library, context: RetrieverContext) -> Retriever:
            opened: Retriever = self.module.build(library, self._with_encoder(context))
            return opened

        return build

    @pytest.fixture
    def unmatched_query(self) -> None:
        """Every skill has some similarity to every query."""

    def first_stage(self, library: Library, mode: str) -> Retriever:
        stages = {"bm25": bm25.build, "dense": dense.build}
        context = RetrieverContext(mode, {}, None, lambda other: self.first_stage(library, other))
        return stages[mode](library, self._with_encoder(context))

    def _with_encoder(self, context: RetrieverContext) -> RetrieverContext:
        return replace(context, encoder=lambda spec: self.encoder)


class TestDense(_SemanticConformance):
    module = dense

    @pytest.fixture
    def other_settings(self) -> Mapping[str, Any]:
        return {"context_weight": 0.1}


class TestDenseStatic(TestDense):
    encoder = STATIC


class TestDenseBodies(TestDense):
    @pytest.fixture
    def settings(self) -> Mapping[str, Any]:
        return {"bodies": "all"}


class TestHybrid(_SemanticConformance):
    module = hybrid

    @pytest.fixture
    def other_settings(self) -> Mapping[str, Any]:
        return {"k": 10}


class TestHybridStatic(TestHybrid):
    encoder = STATIC


class TestSkillSight(_SemanticConformance):
    module = skillsight

    @pytest.fixture
    def other_settings(self) -> Mapping[str, Any]:
        return {"evidence_weight": 1.0}


class TestSkillSightStatic(TestSkillSight):
    encoder = STATIC


class TestSkillSightBodies(TestSkillSight):
    @pytest.fixture
    def settings(self) -> Mapping[str, Any]:
        return {"bodies": "all", "long_chars": 5}


class TestSkillSightBlend(TestSkillSight):
    @pytest.fixture
    def settings(self) -> Mapping[str, Any]:
        return {"fusion": "minmax"}


class TestSkillSightPublished(TestSkillSight):
    @pytest.fixture
    def settings(self) -> Mapping[str, Any]:
        return {"fusion": "published"}
