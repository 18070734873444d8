"""`SkillIndexConformance` passes for a correct index and fails for each broken one."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.suite_cases import Outcomes, run_cases

from skillcue_hooks.testing import SkillIndexConformance

CASES = Path(__file__).with_name("index_cases.py")

MUST_FAIL = {
    "TestDeleted": "test_no_standard_test_is_overridden",
    "TestCannotListen": "test_it_fills_the_role",
    "TestAlwaysHasAnEncoder": "test_an_empty_index_has_nothing",
    "TestKeepsTheEncoder": "test_it_knows_the_encoder_as_long_as_it_holds_skills",
    "TestLosesMetadata": "test_skills_come_back_as_they_were_stored",
    "TestShortensTexts": "test_texts_and_files_come_back_as_they_were_stored",
    "TestEmptyTextForNothing": "test_what_does_not_exist_is_a_key_error",
    "TestNormalisesTexts": "test_no_text_is_changed",
    "TestCandidatesWithBodies": "test_a_candidate_has_the_facts",
    "TestFarthestFirst": "test_the_dense_leg_is_the_nearest",
    "TestHeadsOnly": "test_the_lexical_leg_is_the_best_sums",
    "TestFirstComeFirst": "test_a_term_that_repeats_counts_more_and_a_long_text_less",
    "TestNotByName": "test_skills_are_candidates_by_name",
    "TestOneViewForAll": "test_each_view_has_its_legs",
    "TestGivesUpEarly": "test_it_returns_as_many_as_it_was_asked_for",
    "TestTiesByIdBackwards": "test_equal_scores_are_in_order_of_id",
    "TestFiltersAfterTheDepth": "test_filters_apply_before_the_depth",
    "TestIgnoresUnknownFilters": "test_an_unknown_filter_is_a_mistake",
    "TestNoBudget": "test_a_budget_of_postings_begins_with_the_rarest",
    "TestCountsHiddenSkills": "test_statistics_count_what_can_be_searched",
    "TestCountsHeadsOnly": "test_frequencies_count_skills",
    "TestSamplesById": "test_a_sample_is_the_smallest_keys",
    "TestNamesById": "test_names_find_skills_in_precedence_order",
    "TestPagesByName": "test_pages_are_by_folded_name_and_id",
    "TestWalksAsStored": "test_all_skills_are_walked_in_order_of_id",
    "TestFetchesForEverybody": "test_tenants_see_only_their_own",
    "TestStripsTenants": "test_any_name_can_be_a_tenants",
    "TestTakesOver": "test_a_tenant_cannot_touch_anothers_skill",
    "TestTakesAnyVector": "test_vectors_of_another_encoder_are_a_mistake",
    "TestRemembersWhatIsGone": "test_deletes_are_visible_at_once",
    "TestAddsFiles": "test_what_is_stored_again_replaces_what_was",
    "TestRevisionOfCalls": "test_storing_again_changes_nothing",
    "TestRevisionOfTexts": "test_the_revision_moves_with_every_change",
    "TestOldRevision": "test_answers_say_of_which_revision_they_are",
    "TestCountsOnlyUp": "test_counts_are_right_after_any_history",
    "TestHandlesOfTheirOwn": "test_handles_see_what_others_store",
    "TestTellsOnlyWhatIsNew": "test_listeners_are_told_of_every_change",
    "TestThreadsMixUp": "test_threads_may_share_it",
    "TestWritersLoseSkills": "test_writers_of_one_tenant_lose_nothing",
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    tests = ["TestCorrect", *("::".join(pair) for pair in MUST_FAIL.items())]
    return run_cases(CASES, tmp_path_factory.mktemp("index"), tests)


def test_a_correct_index_passes(outcomes: Outcomes) -> None:
    assert set(outcomes) == {*MUST_FAIL, "TestCorrect"}
    assert outcomes["TestCorrect"]["failure"] == set()
    assert len(outcomes["TestCorrect"]["passed"]) >= 35


@pytest.mark.parametrize(("suite", "test"), sorted(MUST_FAIL.items()))
def test_a_broken_index_fails(outcomes: Outcomes, suite: str, test: str) -> None:
    assert test in outcomes[suite]["failure"], dict(outcomes[suite])


def test_every_standard_test_fails_for_some_broken_index() -> None:
    standard = {name for name in dir(SkillIndexConformance) if name.startswith("test_")}
    assert standard == set(MUST_FAIL.values())
