"""Which skills a text calls by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillcue_adapters.analyzer import ANALYZER
from skillcue_adapters.names import NameIndex
from skillcue_hooks.contracts import Skill

NAMES = ("pdf", "pdf-merge-split", "csv_cleaning", "the", "git-bisect", "pdf", "发票核对", "")


def skills(names: Sequence[str]) -> list[Skill]:
    return [Skill(f"{n:03d}", name, "") for n, name in enumerate(names)]


def index_of(names: Sequence[str]) -> NameIndex:
    return NameIndex(skills(names), None, np.full(len(names), -1))


def called(text: str) -> list[str]:
    found = index_of(NAMES).called(ANALYZER.terms(text))
    return [name for name, yes in zip(NAMES, found.tolist(), strict=True) if yes]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("save it as PDF, please", ["pdf", "pdf"]),
        ("use PDF Merge/Split for this", ["pdf", "pdf-merge-split", "pdf"]),
        ("run git bisecting between the tags", ["git-bisect"]),
        ("git: no bisect here", ["git-bisect"]),  # "no" is a stop word
        ("bisect with git", []),
        ("git and then hunt, bisect last", []),
        ("cleaning of csv", []),
        ("clean the csv cleaned yesterday", ["csv_cleaning"]),
        ("git", []),
        ("please do 发票核对 today", ["发票核对"]),
        ("the", []),
        ("", []),
    ],
)
def test_names_are_found_as_phrases(text: str, expected: list[str]) -> None:
    assert called(text) == expected


def test_a_name_at_the_very_end_that_is_cut_short_is_not_called() -> None:
    assert called("pdf merge") == ["pdf", "pdf"]


def test_no_names() -> None:
    assert index_of(()).called(["pdf"]).tolist() == []


WORDS = st.lists(st.sampled_from("abcd"), max_size=12)


@given(st.lists(st.lists(st.sampled_from("bcd"), min_size=1, max_size=3), max_size=6), WORDS)
def test_it_agrees_with_looking_everywhere(names: list[list[str]], text: list[str]) -> None:
    # Single letters are terms of their own, "a" alone is a stop word.
    index = index_of(["-".join(name) for name in names])
    padded = f" {' '.join(text)} "
    expected = [f" {' '.join(name)} " in padded for name in names]
    assert index.called(text).tolist() == expected


def test_names_follow_the_library() -> None:
    first = index_of(["pdf", "csv", "git bisect"])
    now = skills(["csv", "owl", "pdf", "git"])
    second = NameIndex(now, first, np.array([1, -1, 0, -1]))
    found = second.called(ANALYZER.terms("git bisect, owl and csv"))
    assert found.tolist() == [True, True, False, True]
    # The generation before answers as it did.
    assert first.called(ANALYZER.terms("owl csv git")).tolist() == [False, True, False]


def test_names_of_many_generations_are_not_kept_for_ever() -> None:
    index = index_of(["start"])
    for n in range(2500):
        index = NameIndex(skills([f"name{n}"]), index, np.array([-1]))
    assert index.called(ANALYZER.terms("name2499")).tolist() == [True]
    assert len(index._numbers) < 1100
