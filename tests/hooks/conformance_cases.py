"""A correct retriever and broken ones, each under the conformance suite.

Most of these tests fail, and must: `test_conformance.py` runs this file in a pytest of its own
and compares what failed with what had to fail.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from skillcue_hooks.contracts import Hit, Library, Query, Ranking, RetrieverContext, Skill
from skillcue_hooks.testing import RetrieverConformance

Scored = tuple[float, Skill]


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


class Overlap:
    """Correct: ranks by the number of query words a skill has."""

    def __init__(self, library: Library, context: RetrieverContext) -> None:
        self.fingerprint = f"overlap {dict(context.settings)}"
        self.generation = library.generation
        self.previous = context.previous
        self.skills = library.skills
        self.words = {s.id: words(f"{s.name} {s.description} {s.body}") for s in library.skills}

    def search(self, query: Query) -> Ranking:
        scored = [(self.score(query, s), s) for s in self.skills if self.allows(query, s)]
        matched = self.ordered([pair for pair in scored if pair[0] > 0])
        return Ranking(self.hits(query, matched), "overlap", total=len(matched))

    def score(self, query: Query, skill: Skill) -> float:
        return float(len(words(query.text) & self.words[skill.id]))

    def ordered(self, matched: list[Scored]) -> list[Scored]:
        return sorted(matched, key=lambda pair: (-pair[0], pair[1].id))

    def hits(self, query: Query, matched: list[Scored]) -> tuple[Hit, ...]:
        page = matched[query.offset : query.offset + query.k]
        return tuple(
            Hit(skill, score, rank) for rank, (score, skill) in enumerate(page, query.offset + 1)
        )

    def allows(self, query: Query, skill: Skill) -> bool:
        in_scope = query.scope is None or query.scope.allows(skill)
        return in_scope and all(self.holds(skill, *pair) for pair in query.filters)

    def holds(self, skill: Skill, field: str, value: str) -> bool:
        if field == "tag":
            return value in skill.tags
        if field == "category":
            return f"{skill.category}/".startswith(f"{value}/")
        return bool(getattr(skill, field) == value)


class Suite(RetrieverConformance):
    __test__ = False
    retriever_class: type[Overlap] = Overlap

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__test__ = True

    @pytest.fixture
    def factory(self) -> Any:
        return self.retriever_class

    @pytest.fixture
    def other_settings(self) -> Mapping[str, Any]:
        return {"stems": True}


class TestCorrect(Suite):
    pass


class TestUnordered(Suite):
    class retriever_class(Overlap):
        def ordered(self, matched: list[Scored]) -> list[Scored]:
            return super().ordered(matched)[::-1]


class TestRanksFromZero(Suite):
    class retriever_class(Overlap):
        def hits(self, query: Query, matched: list[Scored]) -> tuple[Hit, ...]:
            return tuple(replace(h, rank=h.rank - 1) for h in super().hits(query, matched))


class TestRanksRestartOnEachPage(Suite):
    class retriever_class(Overlap):
        def hits(self, query: Query, matched: list[Scored]) -> tuple[Hit, ...]:
            return tuple(
                replace(h, rank=h.rank - query.offset) for h in super().hits(query, matched)
            )


class TestSameSkillTwice(Suite):
    class retriever_class(Overlap):
        def ordered(self, matched: list[Scored]) -> list[Scored]:
            return super().ordered(matched * 2)


class TestIgnoresK(Suite):
    class retriever_class(Overlap):
        def hits(self, query: Query, matched: list[Scored]) -> tuple[Hit, ...]:
            return super().hits(replace(query, k=1000), matched)


class TestIgnoresOffset(Suite):
    class retriever_class(Overlap):
        def hits(self, query: Query, matched: list[Scored]) -> tuple[Hit, ...]:
            return super().hits(replace(query, offset=0), matched)


class TestOffsetWithinK(Suite):
    class retriever_class(Overlap):
        def hits(self, query: Query, matched: list[Scored]) -> tuple[Hit, ...]:
            return super().hits(replace(query, k=query.k - query.offset), matched)


class TestTotalOfThePage(Suite):
    class retriever_class(Overlap):
        def search(self, query: Query) -> Ranking:
            ranking = super().search(query)
            return replace(ranking, total=len(ranking.hits))


class AllowsLate(Overlap):
    """Fetches `reserve` times k hits and drops what is not allowed afterwards."""

    reserve = 1

    def search(self, query: Query) -> Ranking:
        found = super().search(Query(query.text, k=self.reserve * query.k))
        kept = [(h.score, h.skill) for h in found.hits if self.allows(query, h.skill)]
        return replace(found, hits=self.hits(query, kept))


class TestFiltersAfterTopK(Suite):
    class retriever_class(AllowsLate):
        pass


class TestFiltersAfterFetchingMore(Suite):
    class retriever_class(AllowsLate):
        reserve = 100


class TestOneFilterIsEnough(Suite):
    class retriever_class(Overlap):
        def allows(self, query: Query, skill: Skill) -> bool:
            if not query.filters:
                return super().allows(query, skill)
            return any(self.holds(skill, *pair) for pair in query.filters)


class TestCategoryByItsFirstLetters(Suite):
    class retriever_class(Overlap):
        def holds(self, skill: Skill, field: str, value: str) -> bool:
            if field == "category":
                return skill.category.startswith(value)
            return super().holds(skill, field, value)


class TestCategoryOnlyItself(Suite):
    class retriever_class(Overlap):
        def holds(self, skill: Skill, field: str, value: str) -> bool:
            if field == "category":
                return skill.category == value and skill.name != "bread"
            return super().holds(skill, field, value)


class TestScopeIgnored(Suite):
    class retriever_class(Overlap):
        def allows(self, query: Query, skill: Skill) -> bool:
            return super().allows(replace(query, scope=None), skill)


class TestRaisesOnEmptyQuery(Suite):
    class retriever_class(Overlap):
        def score(self, query: Query, skill: Skill) -> float:
            return super().score(query, skill) / len(query.text)


class TestRaisesOnContext(Suite):
    class retriever_class(Overlap):
        def search(self, query: Query) -> Ranking:
            query.context.encode("cp1252")
            return super().search(query)


class TestEverythingForABlankQuery(Suite):
    class retriever_class(Overlap):
        def score(self, query: Query, skill: Skill) -> float:
            return super().score(query, skill) if query.text.strip() else 1.0


class Fills(Overlap):
    """Fills the ranking up with skills that do not match."""

    def score(self, query: Query, skill: Skill) -> float:
        return super().score(query, skill) + 1e-9


class TestReturnsWhatDoesNotMatch(Suite):
    class retriever_class(Fills):
        pass


class TestReturnsWhatDoesNotMatchInAnyOrder(Suite):
    class retriever_class(Fills):
        def ordered(self, matched: list[Scored]) -> list[Scored]:
            random.shuffle(matched)
            return sorted(matched, key=lambda pair: -pair[0])


class TestTiesByPlaceInTheLibrary(Suite):
    class retriever_class(Overlap):
        def ordered(self, matched: list[Scored]) -> list[Scored]:
            return sorted(matched, key=lambda pair: -pair[0])


class TestTiesByIdBackwards(Suite):
    class retriever_class(Overlap):
        def ordered(self, matched: list[Scored]) -> list[Scored]:
            return sorted(matched, key=lambda pair: (pair[0], pair[1].id), reverse=True)


class TestTiesBrokenOnlyWithinThePage(Suite):
    class retriever_class(Overlap):
        def hits(self, query: Query, matched: list[Scored]) -> tuple[Hit, ...]:
            matched.reverse()
            best = sorted(matched, key=lambda pair: -pair[0])[: query.offset + query.k]
            return super().hits(query, self.ordered(best))


class TestNotThreadSafe(Suite):
    class retriever_class(Overlap):
        def search(self, query: Query) -> Ranking:
            self.query = query
            scored = [(self.score(self.query, s), s) for s in self.skills]
            matched = self.ordered([p for p in scored if p[0] > 0 and self.allows(query, p[1])])
            return Ranking(self.hits(self.query, matched), "overlap", total=len(matched))


class TestSharesItsScores(Suite):
    class retriever_class(Overlap):
        def __init__(self, library: Library, context: RetrieverContext) -> None:
            super().__init__(library, context)
            self.scores: dict[str, float] = {}

        def search(self, query: Query) -> Ranking:
            allowed = [s for s in self.skills if self.allows(query, s)]
            for skill in allowed:
                self.scores[skill.id] = self.score(query, skill)
            scored = [(self.scores[s.id], s) for s in allowed]
            matched = self.ordered([pair for pair in scored if pair[0] > 0])
            return Ranking(self.hits(query, matched), "overlap", total=len(matched))


class TestPreparesItsIndexLate(Suite):
    class retriever_class(Overlap):
        ready = False

        def search(self, query: Query) -> Ranking:
            if not self.ready:
                self.ready = True
                index = {}
                for s in self.skills:
                    index[s.id] = words(f"{s.name} {s.description} {s.body}")
                self.index = index
            self.words = self.index
            return super().search(query)


class TestDrifts(Suite):
    class retriever_class(Overlap):
        searches = 0

        def score(self, query: Query, skill: Skill) -> float:
            self.searches += 1
            return super().score(query, skill) * (1 + self.searches / 1e6)


class TestDependsOnThePlaceInTheLibrary(Suite):
    class retriever_class(Overlap):
        def score(self, query: Query, skill: Skill) -> float:
            place = self.skills.index(skill)
            return super().score(query, skill) * (1 + place / 1e3)


class TestReturnsCopies(Suite):
    class retriever_class(Overlap):
        def hits(self, query: Query, matched: list[Scored]) -> tuple[Hit, ...]:
            hits = super().hits(query, matched)
            return tuple(replace(h, skill=replace(h.skill, body="")) for h in hits)


class TestFailsOnTheEmptyLibrary(Suite):
    class retriever_class(Overlap):
        def __init__(self, library: Library, context: RetrieverContext) -> None:
            super().__init__(library, context)
            self.mean = sum(map(len, self.words.values())) / len(self.words)


class TestNoGeneration(Suite):
    class retriever_class(Overlap):
        def __init__(self, library: Library, context: RetrieverContext) -> None:
            super().__init__(library, context)
            del self.generation


class TestGenerationOfItsOwn(Suite):
    class retriever_class(Overlap):
        def __init__(self, library: Library, context: RetrieverContext) -> None:
            super().__init__(library, context)
            self.generation = f"{len(library.skills)} skills"


class TestEmptyFingerprint(Suite):
    class retriever_class(Overlap):
        def __init__(self, library: Library, context: RetrieverContext) -> None:
            super().__init__(library, context)
            self.fingerprint = ""


class TestFingerprintOfTheLibrary(Suite):
    class retriever_class(Overlap):
        def __init__(self, library: Library, context: RetrieverContext) -> None:
            super().__init__(library, context)
            self.fingerprint += library.generation


class TestFingerprintWithoutSettings(Suite):
    class retriever_class(Overlap):
        def __init__(self, library: Library, context: RetrieverContext) -> None:
            super().__init__(library, context)
            self.fingerprint = "overlap"


class TestKeepsAnEditedSkill(Suite):
    class retriever_class(Overlap):
        def __init__(self, library: Library, context: RetrieverContext) -> None:
            super().__init__(library, context)
            if self.previous is not None:
                self.words |= self.previous.words


class TestChangesItsPredecessor(Suite):
    class retriever_class(Overlap):
        def __init__(self, library: Library, context: RetrieverContext) -> None:
            super().__init__(library, context)
            if self.previous is not None:
                self.previous.skills = self.skills
                self.previous.words = self.words


class TestOverriddenQuietly(Suite):
    def test_threads_get_the_same_answer(self) -> None:
        pass


class TestDeleted(Suite):
    test_threads_get_the_same_answer = None  # type: ignore[assignment]


class TestOverriddenWithSkip(Suite):
    @pytest.mark.skip(reason="one thread is enough")
    def test_threads_get_the_same_answer(self) -> None:
        pass


class TestOverriddenWithoutReason(Suite):
    @pytest.mark.xfail
    def test_threads_get_the_same_answer(self) -> None:
        raise AssertionError


class TestOverriddenUnderACondition(Suite):
    @pytest.mark.xfail(False, reason="never on this machine")
    def test_threads_get_the_same_answer(self) -> None:
        pass


class TestOverriddenByAMixin(TestOverriddenQuietly):
    pass


class TestOverriddenWithReason(Suite):
    @pytest.mark.xfail(reason="its model is not safe to share")
    def test_threads_get_the_same_answer(self) -> None:
        raise AssertionError
