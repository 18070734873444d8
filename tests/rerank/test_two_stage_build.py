"""How mode ``two_stage`` is set up, and what it says when that is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.pair_scorers import FixedStage, TableScorer, numbered

from skillcue_adapters import register, two_stage
from skillcue_adapters.two_stage import TwoStageRetriever
from skillcue_hooks.contracts import Query, RetrieverContext
from skillcue_hooks.errors import ConfigurationError, UnknownModeError, UnknownSettingError

LIBRARY = numbered(4)
SCORES = {skill.name: float(n) for n, skill in enumerate(LIBRARY.skills)}
MODES = ("bm25", "skillsight", "two_stage")


def build(
    settings: Mapping[str, Any] | None = None,
    previous: Any = None,
    asked: list[str] | None = None,
    **defaults: Any,
) -> TwoStageRetriever:
    def stage(mode: str) -> FixedStage:
        if mode not in MODES:
            raise UnknownModeError(mode, MODES)
        if asked is not None:
            asked.append(mode)
        return FixedStage(LIBRARY, SCORES)

    context = RetrieverContext("two_stage", settings or {}, previous, stage, defaults=defaults)
    return two_stage.build(LIBRARY, context)


def test_it_is_registered() -> None:
    found: dict[str, Any] = {}
    register.skillcue_register_retrievers(register=found.__setitem__)
    assert found["two_stage"] == "skillcue_adapters.two_stage:build"


def test_the_first_stage_is_skillsight_or_what_is_asked_for() -> None:
    asked: list[str] = []
    build(cross_encoder=TableScorer(), asked=asked)
    build({"first": "bm25"}, cross_encoder=TableScorer(), asked=asked)
    assert asked == ["skillsight", "bm25"]


def test_the_cross_encoder_of_the_mode_goes_before_that_of_all_modes() -> None:
    own, common = TableScorer(), TableScorer()
    assert build({"cross_encoder": own}, cross_encoder=common).scorer is own
    assert build(cross_encoder=common).scorer is common
    assert build({"cross_encoder": None}, cross_encoder=common).scorer is common


@pytest.mark.parametrize("defaults", [{}, {"cross_encoder": None}])
def test_without_a_cross_encoder_it_is_not_built(defaults: Mapping[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=r"no cross-encoder.*SkillCue\(\.\.\., cross_enc"):
        build(**defaults)


@pytest.mark.parametrize("first", ["two_stage", 3, None])
def test_a_first_stage_that_cannot_be(first: Any) -> None:
    with pytest.raises(ConfigurationError, match="as its first stage"):
        build({"first": first}, cross_encoder=TableScorer())


def test_an_unknown_first_stage_is_named() -> None:
    with pytest.raises(UnknownModeError, match="Did you mean 'bm25'"):
        build({"first": "bm24"}, cross_encoder=TableScorer())


@pytest.mark.parametrize(
    "settings",
    [{"depth": 0}, {"weight": 1.5}, {"budget_ms": 0}, {"batch_pairs": 0.5}, {"query_chars": 1}],
)
def test_a_setting_out_of_range(settings: Mapping[str, Any]) -> None:
    (name,) = settings
    with pytest.raises(ConfigurationError, match=f"'{name}' of mode 'two_stage'"):
        build(settings, cross_encoder=TableScorer())


def test_an_unknown_setting() -> None:
    with pytest.raises(UnknownSettingError, match="Did you mean 'depth'"):
        build({"dept": 3}, cross_encoder=TableScorer())


def test_a_model_that_cannot_be_loaded_is_an_error_before_any_search(
    overlap_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "model.onnx").write_bytes(b"no model")
    (tmp_path / "tokenizer.json").write_bytes((overlap_folder / "tokenizer.json").read_bytes())
    with pytest.raises(ConfigurationError, match="cannot be loaded"):
        build(cross_encoder=f"onnx:{tmp_path}")


def test_the_next_generation_takes_over_the_loaded_model(
    overlap_folder: Path, cross_encoder: Any
) -> None:
    spec = f"onnx:{overlap_folder}"
    before = build(cross_encoder=spec)
    assert build(cross_encoder=spec, previous=before).scorer is before.scorer
    other = build(cross_encoder=f"onnx:{cross_encoder()}", previous=before)
    assert other.scorer is not before.scorer
    assert build(cross_encoder=spec, previous=FixedStage(LIBRARY, {})).scorer is not before.scorer


def test_the_fingerprint_covers_both_stages_and_the_settings(
    overlap_folder: Path, cross_encoder: Any
) -> None:
    spec = f"onnx:{overlap_folder}"
    same = build(cross_encoder=spec).fingerprint
    assert build(cross_encoder=spec).fingerprint == same
    shorter = cross_encoder(config={"max_position_embeddings": 32})
    stage = FixedStage(LIBRARY, SCORES)
    stage.fingerprint = "another"
    context = RetrieverContext(
        "two_stage", {}, None, lambda mode: stage, defaults={"cross_encoder": spec}
    )
    others = {
        build(cross_encoder=f"onnx:{shorter}").fingerprint,
        build({"weight": 0.9}, cross_encoder=spec).fingerprint,
        two_stage.build(LIBRARY, context).fingerprint,
    }
    assert len({same, *others}) == 4


def test_what_is_built_ranks() -> None:
    mode = build({"weight": 0.3}, cross_encoder=TableScorer({"s00": 9.0}))
    hits = mode.search(Query("do", k=4)).hits
    assert [hit.skill.name for hit in hits] == ["s03", "s02", "s00", "s01"]
