"""The stand-ins for tests: they play their roles and are the same in every run."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from skillcue_hooks import (
    ChatMessage,
    Completion,
    Encoder,
    LanguageModel,
    Query,
    Retriever,
    Usage,
)
from skillcue_hooks.errors import LanguageModelError
from skillcue_hooks.testing import (
    FakeEncoder,
    RaisingRetriever,
    ScriptedLanguageModel,
    make_library,
    make_skill,
)


def test_they_play_their_roles() -> None:
    assert isinstance(FakeEncoder(), Encoder)
    assert isinstance(ScriptedLanguageModel([]), LanguageModel)
    assert isinstance(RaisingRetriever("f", "g"), Retriever)


def test_texts_that_share_words_are_more_similar() -> None:
    encoder = FakeEncoder(64)
    (query,) = encoder.encode_queries(["fill in PDF forms"])
    near, far = encoder.encode_documents(["Fill in pdf documents", "bake bread slowly today"])
    assert dot(query, near) > 0.5 > dot(query, far)


def dot(one: list[float], other: list[float]) -> float:
    return sum(x * y for x, y in zip(one, other, strict=True))


def test_rows_have_the_length_asked_for_and_norm_1_or_0() -> None:
    encoder = FakeEncoder(7)
    rows = encoder.encode_documents(["one two three", "four", "", "  "])
    assert [len(row) for row in rows] == [encoder.dim] * 4
    norms = [math.sqrt(dot(row, row)) for row in rows]
    assert norms == pytest.approx([1, 1, 0, 0])
    assert encoder.encode_documents([]) == []


def test_encoders_of_another_size_are_another_encoder() -> None:
    assert FakeEncoder(8).fingerprint != FakeEncoder(9).fingerprint
    assert FakeEncoder(8).fingerprint == FakeEncoder(8).fingerprint


def test_the_script_is_spoken_in_order_and_ends() -> None:
    bill = Completion("second", usage=Usage(1, 7, 3, 0.5))
    late = LanguageModelError("Too late.")
    model = ScriptedLanguageModel(iter(["first", bill, late, lambda asked: asked[-1].text]))
    asked = [(ChatMessage("user", text),) for text in "abcd"]

    def ask(messages: Sequence[ChatMessage]) -> Completion:
        return model.complete(messages, max_tokens=9, timeout_s=1.0)

    assert ask(asked[0]) == Completion("first", usage=Usage(1, 10, 5, None))
    assert ask(asked[1]) is bill
    with pytest.raises(LanguageModelError, match="Too late"):
        ask(asked[2])
    assert ask(asked[3]).text == "d"
    assert model.asked == asked
    with pytest.raises(IndexError):
        ask(asked[0])
    assert ScriptedLanguageModel(["first"]).fingerprint != model.fingerprint


def test_usage_adds_up_and_an_unknown_price_stays_unknown() -> None:
    first = Usage(1, 10, 5, 0.25)
    assert first + Usage(2, 1, 1, 0.5, estimated=True) == Usage(3, 11, 6, 0.75, True)
    assert (first + Usage(1, 1, 1, None)).money is None
    assert Usage() + first == first


def test_the_raising_retriever_names_the_query() -> None:
    with pytest.raises(AssertionError, match="'merge pdf'"):
        RaisingRetriever("f", "g").search(Query("merge pdf"))


def test_a_made_skill_is_filled_in_and_can_be_overridden() -> None:
    skill = make_skill("pdf", "Forms.", "# Steps", tags=("office",))
    assert (skill.id, skill.path) == ("pdf@pdf", Path("/skills/pdf/SKILL.md"))
    assert len(skill.content_hash) == 64
    assert skill.tags == ("office",)
    assert make_skill("pdf", id="x", path=Path("p"), content_hash="h").content_hash == "h"


def test_a_library_is_sorted_by_id() -> None:
    skills = [make_skill(name) for name in ("soup", "bread", "pdf")]
    library = make_library(skills)
    assert [skill.name for skill in library.skills] == ["bread", "pdf", "soup"]
    assert make_library(reversed(skills)) == library


CHANGES: dict[str, Any] = {
    "id": "other@pdf", "name": "other", "description": "x", "body": "x", "path": Path("/x"),
    "source": "x", "tags": ("x",), "metadata": {"x": "y"}, "allowed_tools": ("x",),
    "content_hash": "x", "trust": "untrusted", "derived_from": ("x",), "category": "x",
    "aliases": ("x",), "description_derived": True, "searchable": False, "pushable": False,
    "search_terms": ("x",), "user_invocable": False,
}  # fmt: skip


@pytest.mark.parametrize("field", [f.name for f in dataclasses.fields(make_skill("pdf"))])
def test_any_change_of_a_skill_gives_another_generation(field: str) -> None:
    skill = make_skill("pdf")
    changed = dataclasses.replace(skill, **{field: CHANGES[field]})
    assert make_library([changed]).generation != make_library([skill]).generation
