"""Masks and the exact top k."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillcue_adapters import selection
from skillcue_adapters.selection import SkillMasks, top_k
from skillcue_hooks.contracts import Query, Scope, Skill
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.testing import make_skill

SKILLS = [
    make_skill("a", category="food", tags=("vegan", "quick"), source="one"),
    make_skill("b", category="food/quick", source="two", trust="untrusted"),
    make_skill("c", category="foods", tags=("vegan",)),
    make_skill("d"),
]


def names(masks: SkillMasks, **query: object) -> list[str]:
    mask = masks.of(Query("x", **query))  # type: ignore[arg-type]
    assert mask is not None
    return [skill.name for skill, allowed in zip(SKILLS, mask, strict=True) if allowed]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ([("category", "food")], ["a", "b"]),
        ([("category", "food/")], ["a", "b"]),
        ([("category", "food/quick")], ["b"]),
        ([("category", "foo")], []),
        ([("category", "")], ["d"]),
        ([("tag", "vegan")], ["a", "c"]),
        ([("tag", "vegan"), ("tag", "quick")], ["a"]),
        ([("tag", "vegan"), ("source", "two")], []),
        ([("trust", "untrusted")], ["b"]),
    ],
)
def test_filters_are_a_conjunction(filters: list[tuple[str, str]], expected: list[str]) -> None:
    assert names(SkillMasks(SKILLS), filters=tuple(filters)) == expected


def test_no_restriction_is_no_mask() -> None:
    assert SkillMasks(SKILLS).of(Query("x")) is None


def test_an_unknown_filter_names_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="category, source, tag, trust"):
        SkillMasks(SKILLS).of(Query("x", filters=(("colour", "red"),)))


def test_a_scope_is_asked_once_for_each_key() -> None:
    asked: list[str] = []

    def allows(skill: Skill) -> bool:
        asked.append(skill.name)
        return skill.name != "a"

    masks = SkillMasks(SKILLS)
    for _ in range(2):
        assert names(masks, scope=Scope("k1", allows)) == ["b", "c", "d"]
    assert asked == ["a", "b", "c", "d"]
    assert names(masks, scope=Scope("k2", lambda skill: True)) == ["a", "b", "c", "d"]


def test_what_a_scope_cannot_judge_is_hidden_and_asked_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken = True

    def allows(skill: Skill) -> bool:
        if broken and skill.name in "bc":
            raise RuntimeError("policy service is down")
        return True

    masks = SkillMasks(SKILLS)
    with caplog.at_level(logging.ERROR, "skillcue.selection"):
        assert names(masks, scope=Scope("k", allows)) == ["a", "d"]
    assert len(caplog.records) == 1
    broken = False
    assert names(masks, scope=Scope("k", allows)) == ["a", "b", "c", "d"]


def test_remembered_masks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "MAX_MASKS", 2)
    asked: list[str] = []
    masks = SkillMasks(SKILLS)

    def ask(key: str) -> None:
        names(masks, scope=Scope(key, lambda skill: not asked.append(key)))

    for key in ["k1", "k2", "k1", "k3", "k1", "k2"]:
        ask(key)
    # k2 was the least recently used when k3 came.
    assert asked[:: len(SKILLS)] == ["k1", "k2", "k3", "k2"]


SCORES = st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 2.0000000001]), max_size=30)


@given(SCORES, st.data(), st.integers(0, 40))
def test_top_k_equals_a_full_sort(scores: list[float], data: st.DataObject, k: int) -> None:
    allowed = data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)))
    expected = sorted((i for i, ok in enumerate(allowed) if ok), key=lambda i: (-scores[i], i))[:k]
    found = top_k(np.array(scores, dtype=float), np.array(allowed, dtype=bool), k)
    assert found.tolist() == expected
