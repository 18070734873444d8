"""Training pairs: the right skill, hard negatives, and never a twin among them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from skillcue_adapters.augment.augmentation import Augmentation
from skillcue_adapters.augment.pairs import are_twins, training_pairs
from skillcue_adapters.augment.pseudo_queries import PseudoQuery
from skillcue_hooks.contracts import Skill
from skillcue_hooks.testing import make_skill

BODY = "## Merge\n\nJoins all the files, in order.\n"
SKILL = make_skill("merge", "Merge PDF files.", BODY)
MADE = Augmentation(("a", "b", "c", "d"), (PseudoQuery("join papers", "Merge"),), 1, ("Merge",))


@pytest.mark.parametrize(
    ("other", "twins"),
    [
        (SKILL, True),
        (make_skill("x", "y", "z", content_hash=SKILL.content_hash), True),
        (make_skill("joiner", "merges  pdf file", "Another body."), True),
        (make_skill("joiner", "Something else.", "## merge\n\nJOINS all the files in order"), True),
        (make_skill("split", "Split PDF files.", "## Split\n\nCuts them.\n"), False),
        (make_skill("empty", "", ""), False),
    ],
)
def test_twins_say_the_same_whatever_they_are_called(other: Skill, twins: bool) -> None:
    assert are_twins(SKILL, other) is twins
    assert are_twins(other, SKILL) is twins


def test_two_empty_skills_are_no_twins() -> None:
    assert not are_twins(Skill("a", "a", ""), Skill("b", "b", ""))


def test_negatives_are_the_best_that_are_no_twins_of_the_skill_or_of_each_other() -> None:
    split = make_skill("split", "Split PDF files.")
    found = [
        make_skill("copy", "Merge PDF files.", "Other."), SKILL, split,
        make_skill("split-2", "split PDF files"), make_skill("ocr", "Read scans."),
        make_skill("fill", "Fill forms."),
    ]  # fmt: skip

    def search(text: str, k: int) -> Sequence[Skill]:
        assert text == "join papers"
        return found[:k]

    (pair,) = training_pairs(SKILL, MADE, search, 2)
    assert (pair.query, pair.positive, pair.skill) == (
        "join papers",
        "merge: Merge PDF files.",
        "merge@merge",
    )
    assert pair.negative_skills == ("split@split", "ocr@ocr")
    assert pair.negatives == ("split: Split PDF files.", "ocr: Read scans.")


def test_without_negatives_nothing_is_searched() -> None:
    def search(_text: str, _k: int) -> Sequence[Skill]:
        raise AssertionError("searched")

    assert [p.negatives for p in training_pairs(SKILL, MADE, search, 0)] == [()]


def test_the_positive_does_not_hold_the_query() -> None:
    """Trained on its own augmentation, a model would learn to look for the query's very words."""
    augmented = make_skill("merge", "Merge PDF files.", search_terms=("join papers",))
    (pair,) = training_pairs(augmented, MADE, lambda _t, _k: [], 1)
    assert "join papers" not in pair.positive
