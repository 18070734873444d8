"""Modes as stages of other modes: over the public roles, and through a whole `SkillCue`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skillcue import SkillCue
from skillcue_adapters import bm25, dense, hybrid, skillsight
from skillcue_hooks import Library, Query, Ranking, RetrieverContext, hookimpl
from skillcue_hooks.protocols import Encoder

Build = Callable[..., Any]
MODES = ("bm25", "dense", "hybrid", "skillsight")


class Upside:
    """A mode that takes the first five of another and turns them round."""

    def __init__(self, library: Library, context: RetrieverContext) -> None:
        self.stage = context.retriever(context.mode.removeprefix("upside_"))
        self.generation = library.generation
        self.fingerprint = f"upside:{self.stage.fingerprint}"

    def search(self, query: Query) -> Ranking:
        found = self.stage.search(replace(query, k=5))
        hits = tuple(
            replace(hit, rank=rank, score=-hit.score)
            for rank, hit in enumerate(reversed(found.hits), start=1)
        )
        return replace(found, hits=hits[: query.k], cached=False)


class Plugin:
    @hookimpl
    def skillcue_register_retrievers(self, register: Callable[..., None]) -> None:
        for mode in MODES:
            register(f"upside_{mode}", Upside)


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_can_be_the_first_stage_of_another(example_skills: Path, mode: str) -> None:
    with SkillCue(example_skills, encoder="static", plugins=[Plugin()], wait=True) as cue:
        first = cue.lookup("fill in a pdf form", k=5, mode=mode)
        second = cue.lookup("fill in a pdf form", k=5, mode=f"upside_{mode}")
    assert len(first.hits) == 5
    assert first.degraded is second.degraded is None
    assert [hit.skill.id for hit in second.hits] == [hit.skill.id for hit in first.hits][::-1]
    assert [hit.signals for hit in second.hits] == [hit.signals for hit in first.hits][::-1]


def test_stages_are_shared(example_skills: Path) -> None:
    # The lexical side of skillsight and hybrid is the bm25 of the same SkillCue, settings and all.
    modes = {"bm25": {"head_weight": 0.0, "body_weight": 0.0}}
    with SkillCue(example_skills, encoder="static", modes=modes, wait=True) as cue:
        assert cue.lookup("certificate", mode="bm25").hits == ()
        (first, *_) = cue.lookup("certificate", mode="hybrid").hits
    with SkillCue(example_skills, encoder="static", wait=True) as cue:
        (other, *_) = cue.lookup("certificate", mode="hybrid").hits
    assert first.score == 1 / 61  # first of the one list that is left
    assert other.score > first.score


@pytest.mark.parametrize("module", [hybrid, skillsight], ids=["hybrid", "skillsight"])
def test_what_is_no_bm25_or_dense_of_ours_is_not_used_as_one(
    build: Build, examples: Library, static_encoder: Encoder, module: Any
) -> None:
    class Stranger:
        fingerprint = "stranger"
        generation = examples.generation

        def search(self, query: Query) -> Ranking:
            raise AssertionError("asked")

    context = RetrieverContext(
        "under_test", {}, None, lambda mode: Stranger(), encoder=lambda spec: static_encoder
    )
    usual = build(module.build, examples, encoder=static_encoder)
    alone = module.build(examples, context)
    query = Query("renew the certificate", k=48)
    assert [(hit.skill.id, hit.score) for hit in alone.search(query).hits] == [
        (hit.skill.id, hit.score) for hit in usual.search(query).hits
    ]


@pytest.mark.parametrize(
    "module", [dense, hybrid, skillsight], ids=["dense", "hybrid", "skillsight"]
)
def test_while_vectors_are_missing_the_answer_is_lexical_and_says_so(
    examples: Library, static_encoder: Encoder, module: Any
) -> None:
    class Broken:
        fingerprint = "broken"
        dim = 4

        def encode_documents(self, texts: Any) -> Any:
            raise OSError("the model is gone")

        encode_queries = encode_documents

    def context(mode: str) -> RetrieverContext:
        own = {} if mode in ("bm25", "hybrid") else {"inline_texts": 0}
        return RetrieverContext(mode, own, None, stage, encoder=lambda spec: Broken())

    def stage(mode: str) -> Any:
        return {"bm25": bm25, "dense": dense}[mode].build(examples, context(mode))

    retriever = module.build(examples, context(module.__name__.rsplit(".", 1)[-1]))
    assert retriever.wait_ready(30.0) is False
    ranking = retriever.search(Query("renew the certificate"))
    expected = stage("bm25").search(Query("renew the certificate"))
    assert ranking.degraded == "encoding failed: OSError"
    assert [hit.skill.id for hit in ranking.hits] == [hit.skill.id for hit in expected.hits]
    assert ranking.fingerprint != expected.fingerprint
