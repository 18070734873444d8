"""What a cross-encoder reads."""

from __future__ import annotations

import pytest

from skillcue_adapters.rerankers.texts import pair_query, pair_text
from skillcue_hooks.testing import make_skill


@pytest.mark.parametrize(
    ("text", "limit", "read"),
    [
        ("bake a bread", 20, "bake a bread"),
        ("Bake a loaf of bread. Then eat it.", 30, "Bake a loaf of bread."),
        (
            "Bake a loaf of bread.\n\nThen eat all of it.\nDone.",
            45,
            "Bake a loaf of bread. Then eat all of it.",
        ),
        ("OK. Bake a loaf of bread. " * 9, 24, "Bake a loaf of bread."),
        ("Bake one very long loaf of bread and eat it.", 20, "Bake one very long l"),
        ("0123456789 " * 9, 15, "0123456789 0123"),
        ("", 5, ""),
    ],
)
def test_a_long_query_is_cut_to_its_first_sentences(text: str, limit: int, read: str) -> None:
    assert pair_query(text, limit) == read
    assert len(read) <= limit


def test_a_megabyte_of_query_costs_nothing() -> None:
    assert pair_query("Bake a loaf of bread. " * 100_000, 30) == "Bake a loaf of bread."


@pytest.mark.parametrize(
    ("body_limit", "limit", "read"),
    [
        (0, 100, "pdf: Fill in forms."),
        (7, 100, "pdf: Fill in forms.\n# Steps"),
        (100, 100, "pdf: Fill in forms.\n# Steps\n\nUse it."),
        (100, 9, "pdf: Fill"),
    ],
)
def test_a_skill_is_its_head_and_the_beginning_of_its_body(
    body_limit: int, limit: int, read: str
) -> None:
    skill = make_skill("pdf", "Fill in forms.", "# Steps\n\nUse it.")
    assert pair_text(skill, body_limit, limit) == read
    bare = make_skill("pdf", "Fill in forms.", " \n ")
    assert pair_text(bare, 100, 100) == "pdf: Fill in forms."
