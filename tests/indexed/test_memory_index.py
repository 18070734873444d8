"""The index in memory fills the role, and what it stores of a skill is what the modes work with."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from skillcue_adapters.analyzer import ANALYZER
from skillcue_adapters.bm25 import Bm25Retriever, Bm25Settings, head_text
from skillcue_adapters.document_vectors import DocumentVectors
from skillcue_adapters.indexed import MemoryIndex, Unprepared, prepare
from skillcue_adapters.indexed.pruning import rarest
from skillcue_adapters.text_plan import follow_plan
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.skill_index import IndexQuery, SkillIndex, View
from skillcue_hooks.testing import FakeEncoder, SkillIndexConformance, make_library, make_skill

ENCODER = FakeEncoder()


class TestMemoryIndex(SkillIndexConformance):
    @pytest.fixture
    def index_factory(self):
        index = MemoryIndex()
        return lambda: index


SKILLS = [
    make_skill("pdf-forms", "Fill in PDF forms.", "Use a field map.", tags=("office",)),
    make_skill("the", "Only a stop word for a name.", search_terms=("query",)),
    make_skill("soup", "Cook a soup.", "Cook it. Cook it."),
]


def test_what_is_stored_is_what_the_modes_in_memory_work_with():
    items = prepare([Unprepared(skill, names=(skill.name,)) for skill in SKILLS], ENCODER)
    bm25 = Bm25Retriever(make_library(SKILLS), Bm25Settings())
    vectors = DocumentVectors(ENCODER)
    plan = follow_plan(None, np.full(len(SKILLS), -1), SKILLS, None, vectors.keys)
    for item, skill, key in zip(items, SKILLS, plan.keys, strict=True):
        assert item.skill is skill
        assert item.text == skill.body
        assert item.key == key.tobytes()
        assert item.head == Counter(ANALYZER.terms(head_text(skill)))
        assert item.body == Counter(ANALYZER.terms(skill.body))
        assert list(item.vector) == pytest.approx(ENCODER.encode_documents([head_text(skill)])[0])
    lengths = {s.id: int(n) for s, n in zip(bm25.skills, bm25.head.field.lengths, strict=True)}
    assert {item.skill.id: sum(item.head.values()) for item in items} == lengths
    assert [item.name for item in items] == ["pdf form", "", "soup"]


def test_texts_names_and_files_are_those_that_are_given():
    given = Unprepared(SKILLS[0], "The whole text.", ("pdf-forms", "forms"), {"a.py": b"1"})
    [item] = prepare([given], ENCODER)
    assert (item.text, item.names, item.files) == (given.text, given.names, given.files)
    assert prepare([], ENCODER) == []


def test_vectors_that_are_known_are_not_encoded_again():
    class Counting(FakeEncoder):
        encoded = 0

        def encode_documents(self, texts):
            self.encoded += len(texts)
            return super().encode_documents(texts)

    encoder = Counting()
    vectors = DocumentVectors(encoder)
    items = [Unprepared(skill) for skill in SKILLS]
    first = prepare(items, encoder, vectors)
    again = prepare([*items[1:], Unprepared(make_skill("new", "New."))], encoder, vectors)
    assert encoder.encoded == len(SKILLS) + 1
    assert list(again[0].vector) == list(first[1].vector)


def test_a_revision_is_the_same_in_any_index_with_the_same_content():
    items = prepare([Unprepared(skill) for skill in SKILLS], ENCODER)
    one, other = MemoryIndex(), MemoryIndex()
    one.apply(items, tenant="a", encoder=ENCODER.fingerprint)
    for item in reversed(items):
        other.apply([item], tenant="a", encoder=ENCODER.fingerprint)
    assert one.revision(("a",)) == other.revision(("a",))
    other.apply([replace(items[0], text="other")], tenant="a", encoder=ENCODER.fingerprint)
    assert one.revision(("a",)) != other.revision(("a",))


def test_an_index_that_was_emptied_takes_another_encoder():
    index: SkillIndex = MemoryIndex()
    items = prepare([Unprepared(skill) for skill in SKILLS], ENCODER)
    index.apply(items, tenant="a", encoder=ENCODER.fingerprint)
    other = FakeEncoder(16)
    small = prepare([Unprepared(SKILLS[0])], other)
    with pytest.raises(ConfigurationError, match="another encoder"):
        index.apply(small, tenant="a", encoder=other.fingerprint)
    index.apply([], [skill.id for skill in SKILLS], tenant="a", encoder=ENCODER.fingerprint)
    assert (index.encoder, index.dim) == ("", 0)
    index.apply(small, tenant="a", encoder=other.fingerprint)
    assert (index.encoder, index.dim) == (other.fingerprint, 16)


def test_a_filter_on_an_unknown_field_is_a_mistake():
    index = MemoryIndex()
    query = IndexQuery((View(names=("a",)),), 1, ("a",), (("colour", "red"),))
    with pytest.raises(ConfigurationError, match="colour"):
        index.candidates(query)


def test_the_rarest_terms_are_looked_up_until_the_budget_is_spent():
    frequency = {"common": 100, "rare": 2, "middling": 10, "nowhere": 0}
    assert rarest(frequency, None) == ["rare", "middling", "common"]
    assert rarest(frequency, 1) == ["rare"]
    assert rarest(frequency, 2) == ["rare"]
    assert rarest(frequency, 3) == ["rare", "middling"]
    assert rarest(frequency, 12) == ["rare", "middling"]
    assert rarest(frequency, 13) == ["rare", "middling", "common"]
    assert rarest({}, 5) == []


def test_a_budget_decides_who_is_looked_at_and_all_terms_who_comes_first():
    skills = [make_skill(f"s{n}", "common") for n in range(5)]
    skills.append(make_skill("s5", "common rare"))
    skills.append(make_skill("s6", "rare rare"))
    index = MemoryIndex()
    items = prepare([Unprepared(skill) for skill in skills], ENCODER)
    index.apply(items, tenant="a", encoder=ENCODER.fingerprint)
    view = View(head={"common": 5.0, "rare": 1.0})

    def leg(postings):
        legs = index.candidates(IndexQuery((view,), 10, ("a",), (), postings))
        return [legs.candidates[n].skill.name for n in legs.lexical[0]]

    assert leg(1) == ["s5", "s6"]  # by both terms: "common" counts more
    assert leg(None) == ["s0", "s1", "s2", "s3", "s4", "s5", "s6"]  # s5 is longer
