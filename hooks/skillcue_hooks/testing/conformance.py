"""`RetrieverConformance`: what every retriever must do, as a suite to subclass.

::

    class TestMyRetriever(RetrieverConformance):
        @pytest.fixture
        def factory(self):
            return my_package.my_factory

Override the fixtures `settings`, `other_settings`, `query_text` and `unmatched_query` where the
defaults do not suit the retriever. A standard test may only be replaced under
``@pytest.mark.xfail(reason=...)``, without a condition; deleting one or overriding it quietly
fails `test_no_standard_test_is_overridden`, which itself cannot be overridden.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from skillcue_hooks.contracts import Library, Query, RetrieverContext, Scope
from skillcue_hooks.protocols import Retriever, RetrieverFactory
from skillcue_hooks.testing.fakes import make_library, make_skill
from skillcue_hooks.testing.racing import search_together
from skillcue_hooks.testing.standard_suite import StandardSuite

__all__ = ["RetrieverConformance"]

_SKILLS = (
    make_skill("pdf-forms", "Fill in PDF forms and flatten them.", "# Steps\n\nUse a field map."),
    make_skill("invoice-check", "Check invoices against purchase orders.", "Match the totals."),
    make_skill("git-bisect", "Find the commit that broke a test with git bisect."),
    make_skill("bread", "Bake sourdough bread.", "Feed the starter, then bake.", category="food"),
    make_skill("soup", "Cook a vegetable soup.", tags=("vegan",), category="food/quick"),
    make_skill(
        "csv-clean",
        "Clean up CSV tables.",
        trust="untrusted",
        source="market",
        category="foodstuff",  # begins like "food" and is not below it
    ),
)

_TWIN = make_skill("twin", "Fold paper cranes.", "Fold it.")
_TWINS = tuple(
    replace(_TWIN, id=f"twin@{number:03}", source="last" if number == 199 else "")
    for number in reversed(range(200))
)
"""More than a retriever would fetch to be on the safe side, and not in the order of their ids."""

_ROUNDS = 3
"""How often the threads meet in a new retriever."""


class RetrieverConformance(StandardSuite):
    """Subclass it and provide the `factory` fixture; see the module's example."""

    @pytest.fixture
    def factory(self) -> RetrieverFactory:
        """The factory under test; must be overridden."""
        raise NotImplementedError("override the `factory` fixture")

    @pytest.fixture
    def settings(self) -> Mapping[str, Any]:
        """Settings to build the retriever with."""
        return {}

    @pytest.fixture
    def other_settings(self) -> Mapping[str, Any] | None:
        """Settings that rank differently; None for a retriever without settings."""
        return None

    @pytest.fixture
    def unmatched_query(self) -> str | None:
        """A query that no skill matches; None for a retriever to which everything is similar."""
        return "zxqvj kwpfh"

    @pytest.fixture
    def query_text(self) -> str:
        """A query that at least two of the suite's skills match, food ones among them."""
        return "cook vegetable soup and bake bread"

    def first_stage(self, library: Library, mode: str) -> Retriever:
        """The retriever of another mode; override it for a factory that asks for one."""
        raise LookupError(f"this suite has no first stage {mode!r}: override first_stage()")

    def build(
        self,
        factory: RetrieverFactory,
        settings: Mapping[str, Any],
        library: Library,
        previous: Retriever | None = None,
    ) -> Retriever:
        """A retriever over `library`, as skillcue would build it after `previous`."""
        context = RetrieverContext(
            "under_test", settings, previous, lambda mode: self.first_stage(library, mode)
        )
        return factory(library, context)

    @pytest.fixture
    def library(self) -> Library:
        """Six skills over several fields."""
        return make_library(_SKILLS)

    @pytest.fixture
    def retriever(
        self, factory: RetrieverFactory, settings: Mapping[str, Any], library: Library
    ) -> Retriever:
        """The retriever under test over `library`."""
        return self.build(factory, settings, library)

    def test_it_fills_the_retriever_role(self, retriever: Retriever, library: Library) -> None:
        assert isinstance(retriever, Retriever)
        assert retriever.fingerprint
        assert retriever.generation == library.generation

    def test_hits_are_ordered_and_numbered(self, retriever: Retriever, query_text: str) -> None:
        ranking = retriever.search(Query(query_text, k=6))
        assert len(ranking.hits) >= 2
        keys = [(-hit.score, hit.skill.id) for hit in ranking.hits]
        assert keys == sorted(keys)
        assert [hit.rank for hit in ranking.hits] == list(range(1, len(ranking.hits) + 1))
        assert len({hit.skill.id for hit in ranking.hits}) == len(ranking.hits)

    def test_the_same_query_gives_the_same_ranking(
        self, retriever: Retriever, query_text: str
    ) -> None:
        first, second = (retriever.search(Query(query_text, k=6)) for _ in range(2))
        assert first.hits == second.hits

    def test_order_of_insertion_does_not_matter(
        self,
        factory: RetrieverFactory,
        settings: Mapping[str, Any],
        library: Library,
        query_text: str,
    ) -> None:
        turned = Library(library.generation, library.skills[::-1])
        query = Query(query_text, k=6)
        hits = [
            [
                (hit.skill.id, hit.score)
                for hit in self.build(factory, settings, lib).search(query).hits
            ]
            for lib in (library, turned)
        ]
        assert [h[0] for h in hits[0]] == [h[0] for h in hits[1]]
        assert [h[1] for h in hits[0]] == pytest.approx([h[1] for h in hits[1]])

    def test_k_is_clipped_to_the_library(self, retriever: Retriever, query_text: str) -> None:
        assert len(retriever.search(Query(query_text, k=1)).hits) == 1
        assert 2 <= len(retriever.search(Query(query_text, k=1000)).hits) <= len(_SKILLS)

    def test_total_counts_what_matched_not_what_is_shown(
        self, retriever: Retriever, query_text: str
    ) -> None:
        whole = retriever.search(Query(query_text, k=1000))
        assert whole.total == len(whole.hits)
        assert retriever.search(Query(query_text, k=1)).total == whole.total

    def test_offset_continues_the_ranking(self, retriever: Retriever, query_text: str) -> None:
        whole = retriever.search(Query(query_text, k=6)).hits
        rest = retriever.search(Query(query_text, k=5, offset=1)).hits
        assert rest == whole[1:]
        pages = [retriever.search(Query(query_text, k=1, offset=n)).hits for n in range(len(whole))]
        assert pages == [(hit,) for hit in whole]
        assert retriever.search(Query(query_text, k=5, offset=1000)).hits == ()

    @pytest.mark.parametrize("size", [0, 1, 2, 3])
    def test_small_libraries(
        self, factory: RetrieverFactory, settings: Mapping[str, Any], size: int
    ) -> None:
        retriever = self.build(factory, settings, make_library(_SKILLS[:size]))
        hits = retriever.search(Query("fill in a pdf form", k=3)).hits
        assert len(hits) <= size
        if size:
            assert hits[0].skill.name == "pdf-forms"

    @pytest.mark.parametrize("text", ["", "   ", "\x00\x01", "?!", "🙂", "x" * 100_000])
    def test_odd_queries_do_not_raise(self, retriever: Retriever, text: str) -> None:
        assert len(retriever.search(Query(text, k=3)).hits) <= 3
        assert len(retriever.search(Query("soup", context=text, k=3)).hits) <= 3

    @pytest.mark.parametrize("text", ["", " \t\n "])
    def test_a_blank_query_matches_nothing(self, retriever: Retriever, text: str) -> None:
        assert retriever.search(Query(text, k=6)).hits == ()

    def test_only_skills_that_match_are_returned(
        self, retriever: Retriever, unmatched_query: str | None
    ) -> None:
        if unmatched_query is None:
            pytest.skip("every skill is similar to every query")
        assert retriever.search(Query(unmatched_query, k=6)).hits == ()

    @pytest.mark.parametrize(
        ("wanted", "names"),
        [
            (("category", "food"), {"bread", "soup"}),
            (("category", "food/quick"), {"soup"}),
            (("tag", "vegan"), {"soup"}),
            (("source", "market"), {"csv-clean"}),
            (("trust", "trusted"), {s.name for s in _SKILLS if s.trust == "trusted"}),
        ],
    )
    def test_filters_apply_before_the_top_k(
        self, retriever: Retriever, query_text: str, wanted: tuple[str, str], names: set[str]
    ) -> None:
        text = f"{query_text} clean csv tables"
        hits = retriever.search(Query(text, k=1, filters=(wanted,))).hits
        assert len(hits) == 1
        assert hits[0].skill.name in names
        every = retriever.search(Query(text, k=6, filters=(wanted,))).hits
        assert {hit.skill.name for hit in every} <= names

    def test_all_filters_must_hold(self, retriever: Retriever, query_text: str) -> None:
        both = (("category", "food"), ("tag", "vegan"))
        hits = retriever.search(Query(query_text, k=6, filters=both)).hits
        assert [hit.skill.name for hit in hits] == ["soup"]
        neither = (("source", "market"), ("tag", "vegan"))
        assert retriever.search(Query(query_text, k=6, filters=neither)).hits == ()

    def test_filters_and_scope_reach_down_the_whole_ranking(
        self, factory: RetrieverFactory, settings: Mapping[str, Any]
    ) -> None:
        retriever = self.build(factory, settings, make_library(_TWINS))
        text = "fold paper cranes"
        filtered = retriever.search(Query(text, k=1, filters=(("source", "last"),)))
        assert [hit.skill.id for hit in filtered.hits] == ["twin@199"]
        scope = Scope("last", lambda skill: skill.source == "last")
        scoped = retriever.search(Query(text, k=1, scope=scope))
        assert [hit.skill.id for hit in scoped.hits] == ["twin@199"]

    def test_scope_hides_skills_before_the_top_k(
        self, retriever: Retriever, query_text: str
    ) -> None:
        best = retriever.search(Query(query_text, k=1)).hits[0].skill
        hidden = Scope("not-the-best", lambda skill: skill.id != best.id)
        hits = retriever.search(Query(query_text, k=1, scope=hidden)).hits
        assert hits
        assert hits[0].skill.id != best.id
        nothing = Scope("nothing", lambda skill: False)
        assert retriever.search(Query(query_text, scope=nothing)).hits == ()

    def test_hits_are_the_librarys_own_skills(
        self, retriever: Retriever, library: Library, query_text: str
    ) -> None:
        for hit in retriever.search(Query(query_text, k=6)).hits:
            assert hit.skill in library.skills

    @pytest.mark.parametrize("k", [1, 3, 200])
    def test_identical_skills_tie_by_id(
        self, factory: RetrieverFactory, settings: Mapping[str, Any], k: int
    ) -> None:
        library = Library("twins", (*_TWINS, *_SKILLS))
        hits = self.build(factory, settings, library).search(Query("fold paper cranes", k=k)).hits
        assert [hit.skill.id for hit in hits] == [f"twin@{number:03}" for number in range(k)]

    def test_it_can_follow_the_generation_before(
        self,
        factory: RetrieverFactory,
        settings: Mapping[str, Any],
        library: Library,
        query_text: str,
    ) -> None:
        """Built on `previous` or from nothing, it ranks alike, and `previous` stays as it was."""
        edited = replace(_SKILLS[3], description="Repair bicycles.", body="", content_hash="new")
        before = self.build(factory, settings, make_library([edited, *_SKILLS[:3]]))
        query = Query(f"{query_text} repair bicycles", k=6)
        hits_before = before.search(query).hits
        after = self.build(factory, settings, library, before)
        assert after.generation == library.generation
        assert _ids(after, query) == _ids(self.build(factory, settings, library), query)
        assert before.search(query).hits == hits_before

    def test_settings_are_part_of_the_fingerprint_not_the_library(
        self, factory: RetrieverFactory, settings: Mapping[str, Any], library: Library
    ) -> None:
        one = self.build(factory, settings, library)
        other = self.build(factory, settings, make_library(_SKILLS[:2]))
        assert one.fingerprint == other.fingerprint
        assert one.generation != other.generation

    def test_other_settings_have_another_fingerprint(
        self,
        factory: RetrieverFactory,
        settings: Mapping[str, Any],
        other_settings: Mapping[str, Any] | None,
        library: Library,
    ) -> None:
        if other_settings is None:
            pytest.skip("this retriever has no settings: override `other_settings` if it has")
        one = self.build(factory, settings, library)
        assert one.fingerprint != self.build(factory, other_settings, library).fingerprint

    def test_threads_get_the_same_answer(
        self,
        factory: RetrieverFactory,
        settings: Mapping[str, Any],
        library: Library,
        query_text: str,
    ) -> None:
        """Threads meet in a retriever that has neither searched nor cached anything yet."""
        queries = [
            Query(query_text, k=6),
            Query(query_text, k=1, offset=1),
            Query(query_text, k=6, filters=(("tag", "vegan"),)),
            Query("clean csv tables", k=3),
            Query("fill in pdf forms", k=1),
            Query("find a commit with git bisect", k=3),
        ]
        expected = [self.build(factory, settings, library).search(query).hits for query in queries]
        for _ in range(_ROUNDS):
            retriever = self.build(factory, settings, library)
            assert search_together(retriever, queries) == expected


def _ids(retriever: Retriever, query: Query) -> list[str]:
    return [hit.skill.id for hit in retriever.search(query).hits]
