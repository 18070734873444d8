"""Encoders and contexts for the modes that need vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from skillcue.library import FolderSource, build_snapshot
from skillcue_adapters import bm25, dense
from skillcue_adapters.encoders import minilm, static
from skillcue_hooks.contracts import Library, RetrieverContext
from skillcue_hooks.protocols import Encoder, Retriever
from skillcue_hooks.testing import FakeEncoder

Build = Callable[..., Any]


@pytest.fixture(scope="session")
def static_encoder() -> Encoder:
    """The shipped table of token vectors."""
    return static.build("")


@pytest.fixture(scope="session")
def minilm_encoder() -> Encoder:
    """The shipped transformer, the default."""
    return minilm.build("")


@pytest.fixture(scope="session")
def examples(example_skills: Path) -> Library:
    """The example library."""
    source = FolderSource(example_skills)
    return build_snapshot([source], [source.scan(None)]).library


@pytest.fixture
def fake_encoder() -> FakeEncoder:
    return FakeEncoder(dim=256)


@pytest.fixture
def build(fake_encoder: FakeEncoder) -> Build:
    """Builds a retriever with a factory as skillcue would: ``build(factory, library, ...)``."""

    def build_one(
        factory: Callable[[Library, RetrieverContext], Retriever],
        library: Library,
        previous: Retriever | None = None,
        encoder: Encoder | None = None,
        defaults: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> Any:
        used = fake_encoder if encoder is None else encoder

        def context(mode: str, own: Mapping[str, Any], before: Any) -> RetrieverContext:
            return RetrieverContext(
                mode,
                own,
                before,
                lambda other: stages[other](library, context(other, {}, None)),
                encoder=lambda spec: used if spec is None else spec,
                defaults=defaults or {},
            )

        stages = {"bm25": bm25.build, "dense": dense.build}
        built: Any = factory(library, context("under_test", settings, previous))
        assert built.wait_ready(60.0)
        return built

    return build_one
