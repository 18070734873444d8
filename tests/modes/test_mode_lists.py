"""Modes dense and hybrid against their definitions, computed the slow way from outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from skillcue_adapters import bm25, dense, hybrid
from skillcue_adapters.bm25 import head_text
from skillcue_adapters.passages import chunks
from skillcue_hooks.contracts import Library, Query
from skillcue_hooks.protocols import Encoder

Build = Callable[..., Any]
TEXT = "check the invoice against the bank statement"
CONTEXT = "We close the books of March on Friday."


@pytest.mark.parametrize("bodies", ["lexical", "all"])
@pytest.mark.parametrize("context", ["", CONTEXT])
def test_dense_is_the_cosine_of_the_best_piece(
    build: Build, examples: Library, static_encoder: Encoder, bodies: str, context: str
) -> None:
    def cosine(text: str, pieces: list[str]) -> float:
        query = np.asarray(static_encoder.encode_queries([text]))[0]
        return float(max(np.asarray(static_encoder.encode_documents(pieces)) @ query))

    settings = {"bodies": bodies, "chunk_chars": 200, "context_weight": 0.3}
    retriever = build(dense.build, examples, encoder=static_encoder, **settings)
    hits = retriever.search(Query(TEXT, context, k=48)).hits
    assert len(hits) == 48
    for hit in hits:
        pieces = [head_text(hit.skill)]
        if bodies == "all":
            pieces += [f"{hit.skill.name}: {piece}" for piece in chunks(hit.skill.body, 200)]
        own = cosine(TEXT, pieces)
        assert hit.signals["semantic"] == pytest.approx(own, abs=1e-5)
        told = own + 0.3 * cosine(CONTEXT, pieces) if context else own
        assert hit.score == pytest.approx(told, abs=1e-5)


@pytest.mark.parametrize(("depth", "k"), [(100, 60), (7, 60), (3, 0)])
@pytest.mark.parametrize("context", ["", CONTEXT])
def test_hybrid_is_the_sum_of_reciprocal_ranks(
    build: Build, examples: Library, static_encoder: Encoder, depth: int, k: int, context: str
) -> None:
    query = Query(TEXT, context, k=48)
    lists = [
        build(module.build, examples, encoder=static_encoder).search(query).hits
        for module in (bm25, dense)
    ]
    expected: dict[str, float] = {}
    for hits in lists:
        for rank, hit in enumerate(hits[:depth], start=1):
            expected[hit.skill.id] = expected.get(hit.skill.id, 0.0) + 1 / (k + rank)
    found = build(hybrid.build, examples, encoder=static_encoder, depth=depth, k=k).search(query)
    fused = found.hits[: len(expected)]
    assert {hit.skill.id: hit.score for hit in fused} == pytest.approx(expected, abs=1e-12)
    # The rest stands below in the order of similarity, so that paging reaches everything.
    rest = [hit.skill.id for hit in found.hits[len(expected) :]]
    assert rest == [hit.skill.id for hit in lists[1] if hit.skill.id not in expected]
    assert all(0.0 <= hit.score <= 1e-6 for hit in found.hits[len(expected) :])
    assert len(found.hits) == 48
