"""Indexes with one fault each; run by test_index_suite.py, not collected by itself."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from skillcue_adapters.indexed import MemoryIndex
from skillcue_adapters.indexed.memory_arrays import SearchArrays
from skillcue_adapters.selection import FILTER_FIELDS
from skillcue_hooks import Skill
from skillcue_hooks.skill_index import IndexedSkill, IndexQuery, Legs, TermFrequency, View
from skillcue_hooks.testing import SkillIndexConformance, index_conformance

index_conformance._LISTEN_S = 0.5  # news of an index in this process are there at once

Changes = Sequence[IndexedSkill]


class Suite(SkillIndexConformance):
    index_class: type[MemoryIndex] = MemoryIndex

    @pytest.fixture
    def index_factory(self) -> Callable[[], MemoryIndex]:
        index = self.index_class()
        return lambda: index


class TestCorrect(Suite):
    pass


class TestDeleted(Suite):
    test_deletes_are_visible_at_once = None


class TestCannotListen(Suite):
    class index_class(MemoryIndex):
        listen = None  # type: ignore[assignment]


class TestAlwaysHasAnEncoder(Suite):
    class index_class(MemoryIndex):
        @property
        def encoder(self) -> str:
            return super().encoder or "made up"


class TestKeepsTheEncoder(Suite):
    class index_class(MemoryIndex):
        known = ""

        @property
        def encoder(self) -> str:
            self.known = self.known or super().encoder
            return self.known


class TestLosesMetadata(Suite):
    class index_class(MemoryIndex):
        def fetch(self, ids: Sequence[str], tenants: Sequence[str]) -> Mapping[str, Skill]:
            found = super().fetch(ids, tenants)
            return {i: replace(skill, metadata={}) for i, skill in found.items()}


class TestShortensTexts(Suite):
    class index_class(MemoryIndex):
        def read_text(self, skill_id: str, tenants: Sequence[str]) -> str:
            return super().read_text(skill_id, tenants)[:20]


class TestEmptyTextForNothing(Suite):
    class index_class(MemoryIndex):
        def read_text(self, skill_id: str, tenants: Sequence[str]) -> str:
            try:
                return super().read_text(skill_id, tenants)
            except KeyError:
                return ""


class TestNormalisesTexts(Suite):
    class index_class(MemoryIndex):
        def read_text(self, skill_id: str, tenants: Sequence[str]) -> str:
            return unicodedata.normalize("NFC", super().read_text(skill_id, tenants))


class Changed(MemoryIndex):
    """Candidates after something has been done to them."""

    def candidates(self, query: IndexQuery) -> Legs:
        return self.changed(super().candidates(query))

    def changed(self, legs: Legs) -> Legs:
        raise NotImplementedError


class TestCandidatesWithBodies(Suite):
    class index_class(Changed):
        def changed(self, legs: Legs) -> Legs:
            found = self.fetch([c.skill.id for c in legs.candidates], ["a"])
            bodies = (replace(c, skill=found.get(c.skill.id, c.skill)) for c in legs.candidates)
            return replace(legs, candidates=tuple(bodies))


class TestFarthestFirst(Suite):
    class index_class(Changed):
        def changed(self, legs: Legs) -> Legs:
            return replace(legs, dense=tuple(leg[::-1] for leg in legs.dense))


class TestHeadsOnly(Suite):
    class index_class(MemoryIndex):
        def candidates(self, query: IndexQuery) -> Legs:
            views = tuple(replace(view, body={}) for view in query.views)
            return super().candidates(replace(query, views=views))


class TestFirstComeFirst(Suite):
    """The lexical leg is the right one, in the order of ids."""

    class index_class(Changed):
        def changed(self, legs: Legs) -> Legs:
            return replace(legs, lexical=tuple(tuple(sorted(leg)) for leg in legs.lexical))


class TestNotByName(Suite):
    class index_class(MemoryIndex):
        def candidates(self, query: IndexQuery) -> Legs:
            views = tuple(replace(view, names=()) for view in query.views)
            return super().candidates(replace(query, views=views))


class TestOneViewForAll(Suite):
    class index_class(Changed):
        def changed(self, legs: Legs) -> Legs:
            count = len(legs.dense)
            return replace(legs, dense=legs.dense[:1] * count, lexical=legs.lexical[:1] * count)


class TestGivesUpEarly(Suite):
    """As a vector index does behind a filter for the tenant."""

    class index_class(Changed):
        def changed(self, legs: Legs) -> Legs:
            return replace(legs, dense=tuple(leg[:40] for leg in legs.dense))


class TestTiesByIdBackwards(Suite):
    class index_class(MemoryIndex):
        def _searchable(self, tenants: Sequence[str]) -> SearchArrays:
            found = super()._searchable(tenants)
            return SearchArrays(found.skills[::-1], found.revision)


class TestFiltersAfterTheDepth(Suite):
    class index_class(MemoryIndex):
        def candidates(self, query: IndexQuery) -> Legs:
            legs = super().candidates(replace(query, filters=()))
            kept = [
                n
                for n, candidate in enumerate(legs.candidates)
                if all(FILTER_FIELDS[name](candidate.skill, value) for name, value in query.filters)
            ]
            parts = (
                tuple(tuple(kept.index(n) for n in leg if n in kept) for leg in part)
                for part in (legs.dense, legs.lexical)
            )
            return Legs(tuple(legs.candidates[n] for n in kept), *parts, legs.revision)


class TestIgnoresUnknownFilters(Suite):
    class index_class(MemoryIndex):
        def candidates(self, query: IndexQuery) -> Legs:
            known = tuple(pair for pair in query.filters if pair[0] in FILTER_FIELDS)
            return super().candidates(replace(query, filters=known))


class TestNoBudget(Suite):
    class index_class(MemoryIndex):
        def candidates(self, query: IndexQuery) -> Legs:
            if query.postings is not None:  # the commonest terms first
                views = tuple(
                    View(v.vector, dict(list(v.head.items())[:1]), {}, v.names) for v in query.views
                )
                query = replace(query, views=views, postings=None)
            return super().candidates(query)


class TestCountsHiddenSkills(Suite):
    class index_class(MemoryIndex):
        def statistics(self, tenants: Sequence[str]) -> Any:
            found = super().statistics(tenants)
            return replace(found, skills=len(list(self.iterate(tenants))))


class TestCountsHeadsOnly(Suite):
    class index_class(MemoryIndex):
        def frequencies(
            self, terms: Sequence[str], tenants: Sequence[str]
        ) -> Mapping[str, TermFrequency]:
            found = super().frequencies(terms, tenants)
            return {term: replace(count, either=count.head) for term, count in found.items()}


class TestSamplesById(Suite):
    class index_class(MemoryIndex):
        def sample(self, count: int, tenants: Sequence[str]) -> Sequence[IndexedSkill]:
            every = super().sample(1000, tenants)
            return sorted(every, key=lambda item: item.skill.id)[:count]


class TestNamesById(Suite):
    class index_class(MemoryIndex):
        def named(self, names: Sequence[str], tenants: Sequence[str]) -> Sequence[Skill]:
            return sorted(super().named(names, tenants), key=lambda skill: skill.id)


class TestPagesByName(Suite):
    """Not by the folded one."""

    class index_class(MemoryIndex):
        def page(
            self, after: tuple[str, str] | None, limit: int, tenants: Sequence[str]
        ) -> Sequence[Skill]:
            return sorted(super().page(after, limit, tenants), key=lambda skill: skill.name)


class TestWalksAsStored(Suite):
    class index_class(MemoryIndex):
        def iterate(self, tenants: Sequence[str]) -> Iterator[Skill]:
            return (replace(one.item.skill, body="") for one in self._of(tenants))


class TestFetchesForEverybody(Suite):
    class index_class(MemoryIndex):
        def fetch(self, ids: Sequence[str], tenants: Sequence[str]) -> Mapping[str, Skill]:
            return super().fetch(ids, ["a", "b"])


class TestStripsTenants(Suite):
    class index_class(MemoryIndex):
        def apply(self, upserts: Changes, deletes: Any = (), *, tenant: str, encoder: str) -> str:
            tenant = tenant.strip('"{},') or "a"
            return super().apply(upserts, deletes, tenant=tenant, encoder=encoder)


class TestTakesOver(Suite):
    class index_class(MemoryIndex):
        def _check(self, upserts: Changes, deletes: Any, tenant: str, encoder: str) -> None:
            pass


class TestTakesAnyVector(TestTakesOver):
    pass


class TestRemembersWhatIsGone(Suite):
    class index_class(MemoryIndex):
        def read_file(self, skill_id: str, path: str, tenants: Sequence[str]) -> bytes:
            known = self.__dict__.setdefault("read", {})
            known |= {
                (one.item.skill.id, p): data
                for one in self._of(tenants)
                for p, data in one.item.files.items()
            }
            found: bytes = known[skill_id, path]
            return found

        def apply(self, upserts: Changes, deletes: Any = (), *, tenant: str, encoder: str) -> str:
            for item in upserts:
                self.__dict__.setdefault("read", {}).update(
                    {(item.skill.id, path): data for path, data in item.files.items()}
                )
            return super().apply(upserts, deletes, tenant=tenant, encoder=encoder)


class TestAddsFiles(Suite):
    """To those of the skill that was there."""

    class index_class(MemoryIndex):
        def apply(self, upserts: Changes, deletes: Any = (), *, tenant: str, encoder: str) -> str:
            merged = []
            for item in upserts:
                known = self._stored.get(item.skill.id)
                files = {} if known is None else dict(known.item.files)
                merged.append(replace(item, files=files | dict(item.files)))
            return super().apply(merged, deletes, tenant=tenant, encoder=encoder)


class TestRevisionOfCalls(Suite):
    """It counts calls, and not changes."""

    class index_class(MemoryIndex):
        calls = 0

        def apply(self, upserts: Changes, deletes: Any = (), *, tenant: str, encoder: str) -> str:
            super().apply(upserts, deletes, tenant=tenant, encoder=encoder)
            self.calls += 1
            return self.revision([tenant])

        def revision(self, tenants: Sequence[str]) -> str:
            return f"{super().revision(tenants)} {self.calls}"


class TestRevisionOfTexts(Suite):
    """Files are no part of it."""

    class index_class(MemoryIndex):
        def revision(self, tenants: Sequence[str]) -> str:
            parts = ((o.item.skill, o.item.text, [*o.item.vector]) for o in self._of(tenants))
            return str(sorted(map(str, parts)))


class TestOldRevision(Suite):
    class index_class(Changed):
        def changed(self, legs: Legs) -> Legs:
            first = self.__dict__.setdefault("first", legs.revision)
            return replace(legs, revision=first)


class TestCountsOnlyUp(Suite):
    class index_class(MemoryIndex):
        def frequencies(
            self, terms: Sequence[str], tenants: Sequence[str]
        ) -> Mapping[str, TermFrequency]:
            found = dict(super().frequencies(terms, tenants))
            return {t: replace(c, either=c.head + c.body) for t, c in found.items()}


class TestHandlesOfTheirOwn(Suite):
    @pytest.fixture
    def index_factory(self) -> Callable[[], MemoryIndex]:
        return MemoryIndex


class TestTellsOnlyWhatIsNew(Suite):
    """Nobody hears of what was deleted."""

    class index_class(MemoryIndex):
        def apply(self, upserts: Changes, deletes: Any = (), *, tenant: str, encoder: str) -> str:
            listeners = self._listeners
            if not upserts:
                self._listeners = []
            try:
                return super().apply(upserts, deletes, tenant=tenant, encoder=encoder)
            finally:
                self._listeners = listeners


class Unlocked(MemoryIndex):
    """What others store between reading and writing is lost."""

    def apply(self, upserts: Changes, deletes: Any = (), *, tenant: str, encoder: str) -> str:
        read = dict(self._stored)
        time.sleep(0.001)  # another thread has its turn
        revision = super().apply(upserts, deletes, tenant=tenant, encoder=encoder)
        own = {item.skill.id: self._stored[item.skill.id] for item in upserts}
        self._stored = read | own
        self._arrays = {}
        return revision


class TestThreadsMixUp(Suite):
    index_class = Unlocked


class TestWritersLoseSkills(Suite):
    index_class = Unlocked
