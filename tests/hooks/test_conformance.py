"""The conformance suite passes for a correct retriever and fails for each broken one."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.suite_cases import Outcomes, run_cases

from skillcue_hooks.testing import RetrieverConformance

CASES = Path(__file__).with_name("conformance_cases.py")

MUST_FAIL = {
    "TestUnordered": "test_hits_are_ordered_and_numbered",
    "TestRanksFromZero": "test_hits_are_ordered_and_numbered",
    "TestRanksRestartOnEachPage": "test_offset_continues_the_ranking",
    "TestSameSkillTwice": "test_hits_are_ordered_and_numbered",
    "TestIgnoresK": "test_k_is_clipped_to_the_library",
    "TestIgnoresOffset": "test_offset_continues_the_ranking",
    "TestOffsetWithinK": "test_offset_continues_the_ranking",
    "TestTotalOfThePage": "test_total_counts_what_matched_not_what_is_shown",
    "TestFiltersAfterTopK": "test_filters_apply_before_the_top_k",
    "TestFiltersAfterFetchingMore": "test_filters_and_scope_reach_down_the_whole_ranking",
    "TestOneFilterIsEnough": "test_all_filters_must_hold",
    "TestCategoryByItsFirstLetters": "test_filters_apply_before_the_top_k",
    "TestCategoryOnlyItself": "test_filters_apply_before_the_top_k",
    "TestScopeIgnored": "test_scope_hides_skills_before_the_top_k",
    "TestRaisesOnEmptyQuery": "test_odd_queries_do_not_raise",
    "TestRaisesOnContext": "test_odd_queries_do_not_raise",
    "TestEverythingForABlankQuery": "test_a_blank_query_matches_nothing",
    "TestReturnsWhatDoesNotMatch": "test_only_skills_that_match_are_returned",
    "TestReturnsWhatDoesNotMatchInAnyOrder": "test_only_skills_that_match_are_returned",
    "TestTiesByPlaceInTheLibrary": "test_identical_skills_tie_by_id",
    "TestTiesByIdBackwards": "test_identical_skills_tie_by_id",
    "TestTiesBrokenOnlyWithinThePage": "test_identical_skills_tie_by_id",
    "TestNotThreadSafe": "test_threads_get_the_same_answer",
    "TestSharesItsScores": "test_threads_get_the_same_answer",
    "TestPreparesItsIndexLate": "test_threads_get_the_same_answer",
    "TestDrifts": "test_the_same_query_gives_the_same_ranking",
    "TestDependsOnThePlaceInTheLibrary": "test_order_of_insertion_does_not_matter",
    "TestReturnsCopies": "test_hits_are_the_librarys_own_skills",
    "TestFailsOnTheEmptyLibrary": "test_small_libraries",
    "TestNoGeneration": "test_it_fills_the_retriever_role",
    "TestGenerationOfItsOwn": "test_it_fills_the_retriever_role",
    "TestEmptyFingerprint": "test_it_fills_the_retriever_role",
    "TestFingerprintOfTheLibrary": ("test_settings_are_part_of_the_fingerprint_not_the_library"),
    "TestFingerprintWithoutSettings": "test_other_settings_have_another_fingerprint",
    "TestKeepsAnEditedSkill": "test_it_can_follow_the_generation_before",
    "TestChangesItsPredecessor": "test_it_can_follow_the_generation_before",
    "TestOverriddenQuietly": "test_no_standard_test_is_overridden",
    "TestOverriddenByAMixin": "test_no_standard_test_is_overridden",
    "TestDeleted": "test_no_standard_test_is_overridden",
    "TestOverriddenWithSkip": "test_no_standard_test_is_overridden",
    "TestOverriddenWithoutReason": "test_no_standard_test_is_overridden",
    "TestOverriddenUnderACondition": "test_no_standard_test_is_overridden",
}
MUST_PASS = {"TestCorrect", "TestOverriddenWithReason"}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    return run_cases(CASES, tmp_path_factory.mktemp("conformance"))


def test_every_case_is_looked_at(outcomes: Outcomes) -> None:
    assert set(outcomes) == set(MUST_FAIL) | MUST_PASS


@pytest.mark.parametrize("suite", sorted(MUST_PASS))
def test_a_correct_retriever_passes(outcomes: Outcomes, suite: str) -> None:
    assert outcomes[suite]["failure"] == set()
    assert len(outcomes[suite]["passed"]) >= 20


@pytest.mark.parametrize(("suite", "test"), sorted(MUST_FAIL.items()))
def test_a_broken_retriever_fails(outcomes: Outcomes, suite: str, test: str) -> None:
    assert test in outcomes[suite]["failure"], dict(outcomes[suite])


def test_every_standard_test_fails_for_some_broken_retriever() -> None:
    standard = {name for name in dir(RetrieverConformance) if name.startswith("test_")}
    assert standard == set(MUST_FAIL.values())


def test_the_guard_itself_cannot_be_overridden() -> None:
    with pytest.raises(TypeError, match="guards the others"):

        class Deleted(RetrieverConformance):
            test_no_standard_test_is_overridden = None  # type: ignore[assignment]

    with pytest.raises(TypeError, match="guards the others"):

        class Replaced(RetrieverConformance):
            def test_no_standard_test_is_overridden(self) -> None:
                pass
