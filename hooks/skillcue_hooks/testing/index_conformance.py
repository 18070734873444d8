"""`SkillIndexConformance`: what every `SkillIndex` must do, as a suite to subclass.

::

    class TestMyIndex(SkillIndexConformance):
        @pytest.fixture
        def index_factory(self):
            return lambda: my_package.MyIndex(...)

The factory gives a handle to one empty store, and each further call another handle to the same one
(the same object where there is only one). As in `RetrieverConformance` a standard test may only be
replaced under ``@pytest.mark.xfail(reason=...)``.
"""

from __future__ import annotations

import random
import threading
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from skillcue_hooks.contracts import Skill
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.skill_index import (
    IndexedSkill,
    IndexQuery,
    Legs,
    SkillIndex,
    TermFrequency,
    View,
)
from skillcue_hooks.testing.fakes import FakeEncoder
from skillcue_hooks.testing.indexed import make_indexed
from skillcue_hooks.testing.standard_suite import StandardSuite

__all__ = ["SkillIndexConformance"]

_IndexFactory = Callable[[], SkillIndex]

_ENCODER = FakeEncoder()
_LISTEN_S = 30.0
"""Longest wait for news, seconds: far more than they take."""

_PDF = make_indexed(
    "pdf-forms",
    "Fill in pdf forms and flatten them.",
    "Use a field map for each form.",
    text="Use a field map for each form. The rest is read only.",
    files={"scripts/fill.py": b"print(1)\n", "data/\u00fcber.bin": bytes(range(256))},
    tags=("office", "forms"),
    metadata={"author": "Ann", "version": "1.2"},
    allowed_tools=("Read", "Bash"),
    aliases=("forms",),
    search_terms=("acroform",),
    source="company",
)
_INVOICE = make_indexed("invoice-check", "Check invoices against orders.", "Match pdf totals.")
_BREAD = make_indexed("bread", "Bake sourdough bread.", "Feed the starter.", category="food")
_SOUP = make_indexed("soup", "Cook a vegetable soup.", tags=("vegan",), category="food/quick")
_CSV = make_indexed(
    "csv-clean", "Clean up csv tables.", trust="untrusted", source="market", category="foodstuff"
)
_HIDDEN = make_indexed(
    "hidden", "Fill in secret forms.", "A pdf that is not found.", searchable=False
)
_SKILLS = (_PDF, _INVOICE, _BREAD, _SOUP, _CSV, _HIDDEN)
_SEARCHABLE = tuple(item for item in _SKILLS if item.skill.searchable)

_HOSTILE = (
    "nul \x00 inside",
    "quotes ' \" ` $$ \\ %s {0}",
    "lone \ud83d surrogate",
    "\u202eright to left\u200b",
    "tabs\tand\nlines\r\n\x1b[31m",
    "\U0001f35e emoji \u00e9 e\u0301",
    "'; drop table skill; --",
    "x" * 5000,
)
"""Texts that a store may choke on or change."""

_VOCABULARY = ("kiln", "fire", "clay", "glaze", "wheel", "oven")

_NOTHING: frozenset[str] = frozenset({"skills 0", "bodies 0", "head terms 0", "body terms 0"})
"""What is seen of an empty index."""


class SkillIndexConformance(StandardSuite):
    """Subclass it and provide the `index_factory` fixture; see the module's example."""

    @pytest.fixture
    def index_factory(self) -> _IndexFactory:
        """Gives handles to one store, empty at first; must be overridden."""
        raise NotImplementedError("override the `index_factory` fixture")

    @pytest.fixture
    def index(self, index_factory: _IndexFactory) -> Iterator[SkillIndex]:
        """A handle to the empty store."""
        index = index_factory()
        yield index
        index.close()

    @pytest.fixture
    def filled(self, index: SkillIndex) -> SkillIndex:
        """The store with six skills of tenant ``a``, one of them hidden from search."""
        _store(index, _SKILLS)
        return index

    def test_it_fills_the_role(self, index: SkillIndex) -> None:
        assert isinstance(index, SkillIndex)

    def test_an_empty_index_has_nothing(self, index: SkillIndex) -> None:
        assert (index.encoder, index.dim) == ("", 0)
        assert _seen(index, ["a"]) == _NOTHING
        assert index.revision(["a"]) == index.revision(["a"])

    def test_it_knows_the_encoder_as_long_as_it_holds_skills(self, index: SkillIndex) -> None:
        _store(index, [_PDF])
        assert (index.encoder, index.dim) == (_ENCODER.fingerprint, _ENCODER.dim)
        _store(index, [], [_PDF.skill.id])
        assert (index.encoder, index.dim) == ("", 0)
        other = FakeEncoder(8)
        small = make_indexed("pdf-forms", encoder=other)
        index.apply([small], tenant="a", encoder=other.fingerprint)
        assert (index.encoder, index.dim) == (other.fingerprint, 8)
        assert _found(index, View(vector=small.vector)) == [small.skill.id]

    def test_skills_come_back_as_they_were_stored(self, filled: SkillIndex) -> None:
        stored = {item.skill.id: item.skill for item in _SKILLS}
        ids = sorted(stored)
        assert filled.fetch([*ids, "unknown@unknown"], ["a"]) == stored
        assert [filled.fetch([i], ["a"])[i].metadata for i in ids] == [
            stored[i].metadata for i in ids
        ]
        walked = [replace(skill, body="") for skill in filled.iterate(["a"])]
        assert walked == [replace(stored[i], body="") for i in ids]

    def test_texts_and_files_come_back_as_they_were_stored(self, filled: SkillIndex) -> None:
        for item in _SKILLS:
            assert filled.read_text(item.skill.id, ["a"]) == item.text
            sizes = {path: len(data) for path, data in item.files.items()}
            assert filled.files(item.skill.id, ["a"]) == sizes
            for path, data in item.files.items():
                assert filled.read_file(item.skill.id, path, ["a"]) == data

    def test_what_does_not_exist_is_a_key_error(self, filled: SkillIndex) -> None:
        with pytest.raises(KeyError):
            filled.read_text("unknown@unknown", ["a"])
        with pytest.raises(KeyError):
            filled.read_file("unknown@unknown", "scripts/fill.py", ["a"])
        with pytest.raises(KeyError):
            filled.read_file(_PDF.skill.id, "scripts", ["a"])
        assert filled.files("unknown@unknown", ["a"]) == {}

    @pytest.mark.parametrize("text", _HOSTILE, ids=range(len(_HOSTILE)))
    def test_no_text_is_changed(self, index: SkillIndex, text: str) -> None:
        odd = make_indexed(
            f"odd{text}",
            text,
            text,
            text=f"{text}.",
            id="odd@odd",
            tags=(text,),
            metadata={text: text},
            category=text,
            source=text,
            aliases=(text,),
            files={"a.txt": text.encode("utf-8", "surrogatepass")},
        )
        _store(index, [odd, _PDF])
        assert index.fetch(["odd@odd"], ["a"])["odd@odd"] == odd.skill
        assert index.fetch(["odd@odd"], ["a"])["odd@odd"].metadata == {text: text}
        assert index.read_text("odd@odd", ["a"]) == f"{text}."
        assert [s.id for s in index.named([odd.names[0]], ["a"])] == ["odd@odd"]
        assert {s.id for s in index.page(None, 9, ["a"])} == {"odd@odd", _PDF.skill.id}
        view = View(head=dict.fromkeys(odd.head, 1.0))
        assert "odd@odd" in _found(index, view)
        assert _found(index, view, filters=(("tag", text),)) == ["odd@odd"]
        assert set(index.frequencies([*odd.head], ["a"])) == set(odd.head)

    def test_a_candidate_has_the_facts(self, filled: SkillIndex) -> None:
        asked = {"pdf": 1.0, "forms": 1.0, "map": 1.0, "nowhere": 1.0}
        view = View(vector=_PDF.vector, head=asked, body=asked)
        legs = filled.candidates(IndexQuery((view,), 10, ("a",)))
        first = next(c for c in legs.candidates if c.skill.id == _PDF.skill.id)
        assert first.skill == replace(_PDF.skill, body="")
        assert list(first.vector) == list(_PDF.vector)
        assert first.head == {"pdf": 1, "forms": 1}
        assert first.body == {"map": 1}
        assert first.head_length == sum(_PDF.head.values())
        assert first.body_length == sum(_PDF.body.values())
        assert first.name == _PDF.name
        ids = [candidate.skill.id for candidate in legs.candidates]
        assert len(set(ids)) == len(ids)

    def test_the_dense_leg_is_the_nearest(self, filled: SkillIndex) -> None:
        vector = _ENCODER.encode_queries(["cook soup and bake sourdough bread"])[0]
        nearest = sorted(
            _SEARCHABLE, key=lambda item: (-_product(item.vector, vector), item.skill.id)
        )
        for depth in (1, 2, 3):
            legs = filled.candidates(IndexQuery((View(array("f", vector)),), depth, ("a",)))
            ids = [legs.candidates[position].skill.id for position in legs.dense[0]]
            assert ids == [item.skill.id for item in nearest[:depth]]
            assert legs.lexical == ((),)

    def test_the_lexical_leg_is_the_best_sums(self, filled: SkillIndex) -> None:
        # Skills whose sum is 0 may be behind the others: they are no better than none.
        assert _leg(filled, View(head={"pdf": 1.0}))[0] == _PDF.skill.id
        assert _leg(filled, View(body={"pdf": 1.0}))[0] == _INVOICE.skill.id
        both = View(head={"pdf": 1.0}, body={"pdf": 2.0})
        assert _leg(filled, both) == [_INVOICE.skill.id, _PDF.skill.id]
        heavy = View(head={"pdf": 2.0}, body={"pdf": 1.0})
        assert _leg(filled, heavy) == [_PDF.skill.id, _INVOICE.skill.id]
        assert _leg(filled, heavy, depth=1) == [_PDF.skill.id]
        assert _leg(filled, View(head={"nowhere": 1.0})) == []

    def test_a_term_that_repeats_counts_more_and_a_long_text_less(self, index: SkillIndex) -> None:
        short = make_indexed("short", "kiln")
        twice = make_indexed("twice", "kiln kiln")
        long = make_indexed("long", f"kiln {' '.join(f'filler{n}' for n in range(40))}")
        _store(index, [short, twice, long])
        assert _leg(index, View(head={"kiln": 1.0})) == [
            twice.skill.id,
            short.skill.id,
            long.skill.id,
        ]

    def test_skills_are_candidates_by_name(self, filled: SkillIndex) -> None:
        called = View(names=(_PDF.name, _HIDDEN.name, "no such"))
        legs = filled.candidates(IndexQuery((called,), 1, ("a",)))
        assert [candidate.skill.id for candidate in legs.candidates] == [_PDF.skill.id]
        assert (legs.dense, legs.lexical) == (((),), ((),))

    def test_each_view_has_its_legs(self, filled: SkillIndex) -> None:
        one = View(vector=_SOUP.vector, head={"soup": 1.0})
        other = View(head={"bread": 1.0})
        legs = filled.candidates(IndexQuery((one, other), 1, ("a",)))
        ids = [candidate.skill.id for candidate in legs.candidates]
        assert [[ids[n] for n in part] for part in legs.dense] == [[_SOUP.skill.id], []]
        assert [[ids[n] for n in part] for part in legs.lexical] == [
            [_SOUP.skill.id],
            [_BREAD.skill.id],
        ]
        assert sorted(ids) == sorted([_SOUP.skill.id, _BREAD.skill.id])

    def test_it_returns_as_many_as_it_was_asked_for(self, index: SkillIndex) -> None:
        many = [make_indexed(f"kiln{n:03}", f"fire kiln {n}") for n in range(150)]
        _store(index, many)
        others = [make_indexed(f"b{n:03}", f"fire kiln {n}", tenant="b") for n in range(50)]
        _store(index, others, tenant="b")
        view = View(vector=many[0].vector, head={"kiln": 1.0})
        for tenants, held in ((("a",), 150), (("b",), 50), (("a", "b"), 200)):
            for depth in (20, 100, 300):
                legs = index.candidates(IndexQuery((view,), depth, tenants))
                assert len(legs.dense[0]) == min(depth, held)
                assert len(legs.lexical[0]) == min(depth, held)

    def test_equal_scores_are_in_order_of_id(self, index: SkillIndex) -> None:
        twins = [make_indexed("twin", "Fold paper.", id=f"twin@{n:03}") for n in range(120)]
        _store(index, twins[::-1])
        view = View(vector=twins[0].vector, head={"fold": 1.0})
        legs = index.candidates(IndexQuery((view,), 7, ("a",)))
        expected = [f"twin@{n:03}" for n in range(7)]
        for part in (legs.dense[0], legs.lexical[0]):
            assert [legs.candidates[n].skill.id for n in part] == expected

    @pytest.mark.parametrize(
        ("filters", "expected"),
        [
            ((("category", "food"),), [_BREAD, _SOUP]),
            ((("category", "/food/quick/"),), [_SOUP]),
            ((("tag", "vegan"),), [_SOUP]),
            ((("source", "market"),), [_CSV]),
            ((("trust", "trusted"),), [_PDF, _INVOICE, _BREAD, _SOUP]),
            ((("category", "food"), ("tag", "vegan")), [_SOUP]),
            ((("tag", "office"), ("tag", "forms")), [_PDF]),
            ((("source", "market"), ("tag", "vegan")), []),
            ((("category", "%"),), []),
        ],
        ids=str,
    )
    def test_filters_apply_before_the_depth(
        self, filled: SkillIndex, filters: Any, expected: list[IndexedSkill]
    ) -> None:
        vector = array("f", _ENCODER.encode_queries(["fill in pdf forms"])[0])
        every = View(vector, head=dict.fromkeys(("fill", "check", "bake", "cook", "clean"), 1.0))
        ids = {item.skill.id for item in expected}
        named = View(names=tuple(item.name for item in _SKILLS))
        for depth in (1, 10):
            legs = filled.candidates(IndexQuery((every,), depth, ("a",), filters))
            assert {c.skill.id for c in legs.candidates} <= ids
            assert len(legs.dense[0]) == len(legs.lexical[0]) == min(depth, len(ids))
        called = filled.candidates(IndexQuery((named,), 10, ("a",), filters))
        assert {c.skill.id for c in called.candidates} == ids

    def test_an_unknown_filter_is_a_mistake(self, filled: SkillIndex) -> None:
        query = IndexQuery((View(head={"pdf": 1.0}),), 5, ("a",), (("colour", "red"),))
        with pytest.raises(ConfigurationError, match="colour"):
            filled.candidates(query)

    def test_a_budget_of_postings_begins_with_the_rarest(self, index: SkillIndex) -> None:
        common = [make_indexed(f"c{n:03}", "shared words") for n in range(60)]
        rare = make_indexed("rare", "shared kiln")
        _store(index, [*common, rare])
        view = View(head={"shared": 1.0, "kiln": 1.0})
        assert len(_leg(index, view, depth=100)) == 61
        assert _leg(index, view, depth=1, postings=1) == [rare.skill.id]
        assert len(_leg(index, view, depth=100, postings=1000)) == 61
        assert _leg(index, View(head={"shared": 1.0}), depth=100, postings=1)

    def test_statistics_count_what_can_be_searched(self, filled: SkillIndex) -> None:
        statistics = filled.statistics(["a"])
        heads = Counter(term for item in _SEARCHABLE for term in item.head)
        bodies = Counter(term for item in _SEARCHABLE for term in item.body)
        assert statistics.skills == len(_SEARCHABLE)
        assert statistics.bodies == sum(1 for item in _SEARCHABLE if item.skill.body)
        assert statistics.head_terms == sum(sum(i.head.values()) for i in _SEARCHABLE)
        assert statistics.body_terms == sum(sum(i.body.values()) for i in _SEARCHABLE)
        assert statistics.head_frequencies == Counter(heads.values())
        assert statistics.body_frequencies == Counter(bodies.values())
        assert statistics.revision == filled.revision(["a"])

    def test_frequencies_count_skills(self, filled: SkillIndex) -> None:
        terms = ["pdf", "the", "soup", "secret", "nowhere"]
        assert filled.frequencies(terms, ["a"]) == {
            "pdf": TermFrequency(1, 1, 2),
            "the": TermFrequency(0, 1, 1),
            "soup": TermFrequency(1, 0, 1),
        }
        assert filled.frequencies([], ["a"]) == {}

    def test_a_sample_is_the_smallest_keys(self, filled: SkillIndex) -> None:
        ordered = sorted(_SEARCHABLE, key=lambda item: (item.key, item.skill.id))
        for count in (0, 1, 3, 100):
            sample = filled.sample(count, ["a"])
            assert [_plain(item) for item in sample] == [_plain(item) for item in ordered[:count]]

    def test_names_find_skills_in_precedence_order(self, index: SkillIndex) -> None:
        mine = make_indexed("deploy", "One.", tenant="b", id="deploy@b/z")
        later = make_indexed("deploy", "Two.", tenant="b", id="deploy@b/a", searchable=False)
        theirs = make_indexed("Deploy", "Three.", tenant="a", aliases=("ship",))
        _store(index, [mine], tenant="b")
        _store(index, [later], tenant="b")
        _store(index, [theirs])
        assert _ids_of(index.named(["deploy"], ["b", "a"])) == [
            mine.skill.id,
            later.skill.id,
            theirs.skill.id,
        ]
        assert index.named(["deploy"], ["a", "b"])[0] == theirs.skill
        assert _ids_of(index.named(["ship", "nothing"], ["a"])) == [theirs.skill.id]
        assert _ids_of(index.named(["DEPLOY"], ["a", "b"])) == []
        _store(index, [replace(mine, text="edited")], tenant="b")
        assert index.named(["deploy"], ["b"])[0] == mine.skill, "an edit keeps its place"

    def test_pages_are_by_folded_name_and_id(self, index: SkillIndex) -> None:
        names = ["Bread", "bread", "apple", "\u00c4pfel", "Zebra", "zoo", "b", "\U0001f35e"]
        items = [make_indexed(n, "x", id=f"{n}@{k}") for k, n in enumerate(names)]
        half = len(items) // 2
        _store(index, items[:half])
        _store(index, items[half:], tenant="b")
        _store(index, [_HIDDEN])
        every = sorted((item.skill.name.casefold(), item.skill.id) for item in items)
        for limit in (1, 3, 100):
            walked: list[tuple[str, str]] = []
            after = None
            while page := index.page(after, limit, ["a", "b"]):
                assert len(page) <= limit
                walked += [(skill.name.casefold(), skill.id) for skill in page]
                after = walked[-1]
            assert walked == every

    def test_all_skills_are_walked_in_order_of_id(self, index: SkillIndex) -> None:
        items = [make_indexed(f"skill{n:04}", "x") for n in range(1203)]
        _store(index, items[::-1])
        assert _ids_of(list(index.iterate(["a"]))) == [item.skill.id for item in items]

    def test_tenants_see_only_their_own(self, filled: SkillIndex) -> None:
        before = _seen(filled, ["a"])
        revision = filled.revision(["a"])
        twin = make_indexed("pdf-forms", "Fill in pdf forms.", "pdf", tenant="b", files={"x": b"1"})
        _store(filled, [twin], tenant="b")
        assert _seen(filled, ["a"]) == before
        assert filled.revision(["a"]) == revision
        assert set(_ids_of(list(filled.iterate(["b"])))) == {twin.skill.id}
        other = _seen(filled, ["b"])
        assert not {told for told in other & before if not _counted(told)}
        both = {told for told in before | other if not _counted(told)}
        assert _seen(filled, ["a", "b"]) >= both
        for tenants in ([], ["c"], [""], ["a,b"], ['{"a"}'], ["A"], ["a' or 'a'='a"]):
            assert _seen(filled, tenants) == _NOTHING
        for tenants in (["b"], []):
            with pytest.raises(KeyError):
                filled.read_text(_PDF.skill.id, tenants)
            with pytest.raises(KeyError):
                filled.read_file(_PDF.skill.id, "scripts/fill.py", tenants)
            assert filled.files(_PDF.skill.id, tenants) == {}

    @pytest.mark.parametrize("tenant", ["", "a,b", 'quo"te', "bl ank", "{x}", "null", "\u00fc'"])
    def test_any_name_can_be_a_tenants(self, index: SkillIndex, tenant: str) -> None:
        _store(index, [_PDF], tenant=tenant)
        assert _ids_of(list(index.iterate([tenant]))) == [_PDF.skill.id]
        assert _found(index, View(vector=_PDF.vector), tenants=(tenant,)) == [_PDF.skill.id]
        assert _seen(index, ["a"]) == _NOTHING

    def test_a_tenant_cannot_touch_anothers_skill(self, filled: SkillIndex) -> None:
        before, revisions = _seen(filled, ["a"]), filled.revision(["a", "b"])
        own = make_indexed("own", "x", tenant="b")
        with pytest.raises(ConfigurationError, match="pdf-forms@pdf-forms"):
            _store(filled, [own, replace(_PDF, text="taken over")], tenant="b")
        assert _seen(filled, ["b"]) == _NOTHING
        with suppress(ConfigurationError):  # unknown, or a mistake: both will do
            _store(filled, [], [_PDF.skill.id], tenant="b")
        assert _seen(filled, ["a"]) == before
        assert filled.revision(["a", "b"]) == revisions

    def test_vectors_of_another_encoder_are_a_mistake(self, filled: SkillIndex) -> None:
        before = _seen(filled, ["a"])
        own = make_indexed("own", "x", tenant="b")
        with pytest.raises(ConfigurationError):
            filled.apply([own], tenant="b", encoder="another")
        small = make_indexed("own", "x", tenant="b", encoder=FakeEncoder(8))
        with pytest.raises(ConfigurationError):
            filled.apply([own, small], tenant="a", encoder=_ENCODER.fingerprint)
        assert _seen(filled, ["a"]) == before
        assert _seen(filled, ["b"]) == _NOTHING

    def test_deletes_are_visible_at_once(self, index: SkillIndex) -> None:
        _store(index, [_BREAD, _SOUP])
        without = _seen(index, ["a"])
        _store(index, [_PDF])
        assert _seen(index, ["a"]) != without
        _store(index, [], [_PDF.skill.id, "unknown@unknown"])
        assert _seen(index, ["a"]) == without
        with pytest.raises(KeyError):
            index.read_text(_PDF.skill.id, ["a"])
        with pytest.raises(KeyError):
            index.read_file(_PDF.skill.id, "scripts/fill.py", ["a"])

    def test_what_is_stored_again_replaces_what_was(self, index: SkillIndex) -> None:
        old = make_indexed("pdf-forms", "Old kiln.", "stale", aliases=("gone",), files={"x": b"1"})
        _store(index, [old, _BREAD])
        _store(index, [_PDF])
        assert index.named(["gone"], ["a"]) == []
        assert index.frequencies(["kiln", "stale"], ["a"]) == {}
        assert index.files(_PDF.skill.id, ["a"]).keys() == _PDF.files.keys()
        replaced = _seen(index, ["a"])
        _store(index, [], [_PDF.skill.id])
        _store(index, [_PDF])
        assert _seen(index, ["a"]) == replaced

    def test_storing_again_changes_nothing(self, filled: SkillIndex) -> None:
        before, revision = _seen(filled, ["a"]), filled.revision(["a"])
        assert _store(filled, _SKILLS) == revision
        assert _store(filled, [], ["unknown@unknown"]) == revision
        assert _store(filled, []) == revision
        assert filled.revision(["a"]) == revision
        assert _seen(filled, ["a"]) == before

    @pytest.mark.parametrize(
        "changes",
        [
            {"skill": replace(_PDF.skill, description="Other.")},
            {"skill": replace(_PDF.skill, metadata={"author": "Bob"})},
            {"skill": replace(_PDF.skill, trust="untrusted")},
            {"skill": replace(_PDF.skill, searchable=False)},
            {"text": "other"},
            {"head": {"other": 1}},
            {"body": {**_PDF.body, "use": 2}},
            {"names": ("other",)},
            {"name": "other"},
            {"key": bytes(32)},
            {"vector": _SOUP.vector},
            {"files": {**_PDF.files, "scripts/fill.py": b"print(2)\n"}},
            {"files": {}},
        ],
        ids=lambda changes: next(iter(changes)),
    )
    def test_the_revision_moves_with_every_change(self, filled: SkillIndex, changes: Any) -> None:
        before = filled.revision(["a"])
        both = filled.revision(["a", "b"])
        after = _store(filled, [replace(_PDF, **changes)])
        assert after == filled.revision(["a"]) != before
        assert filled.revision(["a", "b"]) != both
        last = _store(filled, [], [_PDF.skill.id])
        assert last == filled.revision(["a"]) != after

    def test_answers_say_of_which_revision_they_are(self, filled: SkillIndex) -> None:
        query = IndexQuery((View(head={"nowhere": 1.0}),), 5, ("a",))
        assert filled.candidates(query).revision == filled.revision(["a"])
        _store(filled, [make_indexed("new", "x")])
        assert filled.candidates(query).revision == filled.revision(["a"])
        assert filled.statistics(["a"]).revision == filled.revision(["a"])

    def test_counts_are_right_after_any_history(self, index: SkillIndex) -> None:
        dice = random.Random(7)
        held: dict[str, IndexedSkill] = {}
        for _ in range(12):
            items = [_random_skill(dice) for _ in range(dice.randint(0, 6))]
            gone = dice.sample(sorted(held), min(len(held), dice.randint(0, 3)))
            gone = [i for i in gone if all(item.skill.id != i for item in items)]
            _store(index, items, gone)
            held |= {item.skill.id: item for item in items}
            held = {i: item for i, item in held.items() if i not in gone}
            self._counts_are_of(index, [i for i in held.values() if i.skill.searchable])

    @staticmethod
    def _counts_are_of(index: SkillIndex, searchable: Sequence[IndexedSkill]) -> None:
        heads = Counter(term for item in searchable for term in item.head)
        bodies = Counter(term for item in searchable for term in item.body)
        either = Counter(term for item in searchable for term in {*item.head, *item.body})
        statistics = index.statistics(["a"])
        assert statistics.skills == len(searchable)
        assert statistics.head_terms == sum(sum(item.head.values()) for item in searchable)
        assert statistics.body_terms == sum(sum(item.body.values()) for item in searchable)
        assert statistics.head_frequencies == Counter(heads.values())
        assert statistics.body_frequencies == Counter(bodies.values())
        assert index.frequencies(_VOCABULARY, ["a"]) == {
            term: TermFrequency(heads[term], bodies[term], either[term])
            for term in _VOCABULARY
            if either[term]
        }
        words = View(head=dict.fromkeys(_VOCABULARY, 1.0))
        matching = {item.skill.id for item in searchable if set(item.head) & set(_VOCABULARY)}
        assert matching <= set(_found(index, words)) <= {item.skill.id for item in searchable}

    def test_handles_see_what_others_store(
        self, filled: SkillIndex, index_factory: _IndexFactory
    ) -> None:
        other = index_factory()
        try:
            assert _seen(other, ["a"]) == _seen(filled, ["a"])
            assert (other.encoder, other.dim) == (filled.encoder, filled.dim)
            _store(other, [make_indexed("new", "kiln")])
            assert _leg(filled, View(head={"kiln": 1.0})) == ["new@new"]
            assert filled.revision(["a"]) == other.revision(["a"])
        finally:
            if other is not filled:
                other.close()

    def test_listeners_are_told_of_every_change(
        self, index: SkillIndex, index_factory: _IndexFactory
    ) -> None:
        other = index_factory()
        news = _News()
        end = index.listen(news)
        try:
            news.expect(lambda: _store(other, [_PDF]), "a")
            news.expect(lambda: _store(other, [_BREAD], tenant="b'\n"), "b'\n")
            news.expect(lambda: _store(other, [], [_PDF.skill.id]), "a")
            news.expect(lambda: _store(index, [_SOUP]), "a")
        finally:
            end()
            if other is not index:
                other.close()
        end()  # a second time does no harm
        count = len(news.tenants)
        _store(index, [_CSV])
        assert len(news.tenants) == count

    def test_threads_may_share_it(self, index: SkillIndex) -> None:
        items = {t: [make_indexed(f"{t}{n}", "kiln", tenant=t) for n in range(12)] for t in "abc"}

        def write(tenant: str) -> None:
            for item in items[tenant]:
                _store(index, [item], tenant=tenant)
                legs = _leg(index, View(head={"kiln": 1.0}), tenants=(tenant,))
                assert item.skill.id in legs

        with ThreadPoolExecutor() as pool:
            list(pool.map(write, items))
        assert index.statistics([*items]).skills == 36
        assert index.frequencies(["kiln"], [*items]) == {"kiln": TermFrequency(36, 0, 36)}

    def test_writers_of_one_tenant_lose_nothing(
        self, index: SkillIndex, index_factory: _IndexFactory
    ) -> None:
        handles = [index, index_factory()]

        def write(number: int) -> None:
            for n in range(10):
                own = make_indexed(f"w{number}-{n}", "kiln")
                shared = make_indexed("shared", "kiln", f"By {number}, {n} times.")
                _store(handles[number], [own, shared])

        with ThreadPoolExecutor() as pool:
            list(pool.map(write, range(2)))
        if handles[1] is not index:
            handles[1].close()
        assert index.statistics(["a"]).skills == 21
        assert index.frequencies(["kiln"], ["a"]) == {"kiln": TermFrequency(21, 0, 21)}


class _News:
    """Keeps what a listener is told."""

    def __init__(self) -> None:
        self.tenants: list[str] = []
        self._arrived = threading.Condition()

    def __call__(self, tenant: str) -> None:
        with self._arrived:
            self.tenants.append(tenant)
            self._arrived.notify_all()

    def expect(self, act: Callable[[], Any], tenant: str) -> None:
        """Do it, and wait until news of that tenant, or of all, arrive."""
        known = len(self.tenants)
        act()
        with self._arrived:
            told = self._arrived.wait_for(
                lambda: {tenant, ""} & set(self.tenants[known:]), _LISTEN_S
            )
        assert told, f"no news of {tenant!r} within {_LISTEN_S:g} s, only {self.tenants[known:]}"


def _store(
    index: SkillIndex,
    upserts: Sequence[IndexedSkill],
    deletes: Sequence[str] = (),
    *,
    tenant: str = "a",
) -> str:
    """Apply with the suite's encoder."""
    return index.apply(upserts, deletes, tenant=tenant, encoder=_ENCODER.fingerprint)


def _found(
    index: SkillIndex, view: View, tenants: tuple[str, ...] = ("a",), filters: Any = ()
) -> list[str]:
    """Ids of all candidates of one view, sorted."""
    legs = index.candidates(IndexQuery((view,), 100, tenants, filters))
    return sorted(candidate.skill.id for candidate in legs.candidates)


def _leg(
    index: SkillIndex,
    view: View,
    depth: int = 50,
    postings: int | None = None,
    tenants: tuple[str, ...] = ("a",),
) -> list[str]:
    """Ids of the lexical leg of one view, best first."""
    legs: Legs = index.candidates(IndexQuery((view,), depth, tenants, postings=postings))
    return [legs.candidates[position].skill.id for position in legs.lexical[0]]


def _seen(index: SkillIndex, tenants: Sequence[str]) -> frozenset[str]:
    """Everything that can be learnt about some tenants, as texts that can be compared."""
    words = sorted({*(w for item in _SKILLS for w in (*item.head, *item.body)), *_VOCABULARY})
    ids = [item.skill.id for item in _SKILLS]
    names = [name for item in _SKILLS for name in item.names]
    statistics = index.statistics(tenants)
    told = {
        f"skills {statistics.skills}",
        f"bodies {statistics.bodies}",
        f"head terms {statistics.head_terms}",
        f"body terms {statistics.body_terms}",
        *(f"heads {pair}" for pair in statistics.head_frequencies.items()),
        *(f"texts {pair}" for pair in statistics.body_frequencies.items()),
        *(f"term {pair}" for pair in index.frequencies(words, tenants).items()),
        *(f"sample {_plain(item)}" for item in index.sample(100, tenants)),
        *(f"fetch {skill}" for skill in index.fetch(ids, tenants).values()),
        *(f"named {skill}" for skill in index.named(names, tenants)),
        *(f"page {skill}" for skill in index.page(None, 100, tenants)),
        *(f"iterate {skill}" for skill in index.iterate(tenants)),
    }
    view = View(
        vector=_PDF.vector,
        head=dict.fromkeys(words, 1.0),
        body=dict.fromkeys(words, 1.0),
        names=tuple(item.name for item in _SKILLS),
    )
    legs = index.candidates(IndexQuery((view,), 100, tuple(tenants)))
    for candidate in legs.candidates:
        facts = (candidate.skill, [*candidate.vector], sorted(candidate.head.items()))
        more = (sorted(candidate.body.items()), candidate.head_length, candidate.body_length)
        told.add(f"candidate {facts} {more} {candidate.name}")
    return frozenset(told)


def _counted(text: str) -> bool:
    """It is a number that is another one when a tenant joins."""
    return (
        text.split()[0] in {"skills", "bodies", "heads", "texts", "term"} or " terms " in text[:12]
    )


def _plain(item: IndexedSkill) -> Any:
    """A skill of a sample, without what a sample leaves out."""
    terms = (sorted(item.head.items()), sorted(item.body.items()))
    return item.skill, *terms, item.name, item.names, item.key, [*item.vector]


def _ids_of(skills: Sequence[Skill]) -> list[str]:
    return [skill.id for skill in skills]


def _product(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _random_skill(dice: random.Random) -> IndexedSkill:
    """One of ten skills, each time with other words."""
    words = [" ".join(dice.choices(_VOCABULARY, k=dice.randint(0, 6))) for _ in range(2)]
    name = f"skill{dice.randint(0, 9)}"
    return make_indexed(name, *words, searchable=dice.random() > 0.2)
