"""Every mode over an index against the suite that every retriever must pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from support.memory_indexes import FACTORIES, Bodyless, NeverWalked, in_memory_index
from support.pair_scorers import TableScorer
from support.wordy_model import WordyModel

from skillcue_adapters import expand, two_stage
from skillcue_adapters.caching import CachedRetriever, MemoryStore
from skillcue_adapters.indexed import facts
from skillcue_hooks.contracts import Library, RetrieverContext
from skillcue_hooks.protocols import Retriever, RetrieverFactory
from skillcue_hooks.testing import FakeEncoder, RetrieverConformance, make_library
from skillcue_hooks.testing.conformance import _SKILLS

ENCODER = FakeEncoder(dim=256)
STAGED = {"expand": expand.build, "two_stage": two_stage.build}


class _IndexedConformance(RetrieverConformance):
    mode: ClassVar[str]

    @pytest.fixture
    def factory(self) -> RetrieverFactory:
        def build(library: Library, context: RetrieverContext) -> Retriever:
            return self.over_index(library, context, self.mode)

        return build

    def over_index(self, library: Library, context: RetrieverContext, mode: str) -> Retriever:
        index = in_memory_index(library.skills, ENCODER)
        indexed = Library(library.generation, NeverWalked(), index, ("t",))

        def full(context: RetrieverContext) -> RetrieverContext:
            return replace(
                context,
                retriever=stage,
                encoder=lambda spec: ENCODER,
                defaults={"cross_encoder": TableScorer()},
                language_model=WordyModel(),
            )

        def stage(other: str) -> Any:
            return FACTORIES[other](indexed, full(RetrieverContext(other, {}, None, stage)))

        retriever = {**FACTORIES, **STAGED}[mode](indexed, full(context))
        return self.finished(retriever, indexed)

    def finished(self, retriever: Retriever, library: Library) -> Retriever:
        return retriever

    @pytest.fixture
    def library(self) -> Library:
        library = make_library(_SKILLS)
        return replace(library, skills=Bodyless(library.skills))

    @pytest.fixture
    def unmatched_query(self) -> str | None:
        """Every skill has some similarity to every query."""
        return None


class TestIndexedBm25(_IndexedConformance):
    mode = "bm25"

    @pytest.fixture
    def other_settings(self) -> Mapping[str, Any]:
        return {"postings": 1}

    @pytest.fixture
    def unmatched_query(self) -> str | None:
        return "zxqvj kwpfh"


class TestIndexedDense(_IndexedConformance):
    mode = "dense"

    @pytest.fixture
    def other_settings(self) -> Mapping[str, Any]:
        return {"context_weight": 0.1}


class TestIndexedHybrid(_IndexedConformance):
    mode = "hybrid"

    @pytest.fixture
    def other_settings(self) -> Mapping[str, Any]:
        return {"k": 10}


class TestIndexedSkillSight(_IndexedConformance):
    mode = "skillsight"

    @pytest.fixture
    def other_settings(self) -> Mapping[str, Any]:
        return {"candidates": 50}


class TestIndexedSkillSightLongTexts(TestIndexedSkillSight):
    @pytest.fixture
    def settings(self) -> Mapping[str, Any]:
        return {"long_chars": 5}


class TestIndexedSkillSightBlend(TestIndexedSkillSight):
    @pytest.fixture
    def settings(self) -> Mapping[str, Any]:
        return {"fusion": "minmax"}


class TestIndexedSkillSightPublished(TestIndexedSkillSight):
    @pytest.fixture
    def settings(self) -> Mapping[str, Any]:
        return {"fusion": "published"}


class TestIndexedTwoStage(_IndexedConformance):
    mode = "two_stage"

    @pytest.fixture
    def settings(self) -> Mapping[str, Any]:
        return {"budget_ms": 600_000, "body_chars": 100, "depth": 3}

    @pytest.fixture
    def other_settings(self) -> Mapping[str, Any]:
        return {"budget_ms": 600_000, "weight": 0.9}


class TestIndexedExpand(_IndexedConformance):
    mode = "expand"

    @pytest.fixture
    def settings(self) -> Mapping[str, Any]:
        return {"top": 2, "depth": 3}

    @pytest.fixture
    def other_settings(self) -> Mapping[str, Any]:
        return {"seeds": 2}


class TestIndexedCached(TestIndexedBm25):
    def finished(self, retriever: Retriever, library: Library) -> Retriever:
        return CachedRetriever(retriever, MemoryStore(), "bm25", library)


@pytest.fixture
def _few_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index is larger than its sample."""
    monkeypatch.setattr(facts, "SAMPLE", 4)
    monkeypatch.setattr(facts, "MOST_SAMPLED", 5)


@pytest.mark.usefixtures("_few_are_sampled")
class TestSampledBm25(TestIndexedBm25):
    pass


@pytest.mark.usefixtures("_few_are_sampled")
class TestSampledDense(TestIndexedDense):
    pass


@pytest.mark.usefixtures("_few_are_sampled")
class TestSampledHybrid(TestIndexedHybrid):
    pass


@pytest.mark.usefixtures("_few_are_sampled")
class TestSampledSkillSight(TestIndexedSkillSight):
    pass
