"""The suite of dense legs passes for a correct one and fails for each broken one."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.suite_cases import Outcomes, run_cases

from skillcue_hooks.testing import DenseLegConformance

CASES = Path(__file__).with_name("dense_leg_cases.py")

MUST_FAIL = {
    "TestWithoutRevision": "test_it_fills_the_role",
    "TestWorstFirst": "test_the_most_similar_comes_first",
    "TestGivesDistances": "test_scores_fall",
    "TestIgnoresK": "test_it_returns_k",
    "TestAllOrNothing": "test_it_returns_all_where_there_are_fewer",
    "TestAlwaysFindsSomething": "test_a_leg_without_texts_finds_nothing",
    "TestOneForAll": "test_tenants_do_not_see_each_other",
    "TestFiltersWhatWasFound": "test_a_tenant_in_a_crowd_gets_k",
    "TestDeletesLater": "test_deletes_are_visible",
    "TestDeletesOnlyWhatItHas": "test_deleting_what_is_unknown_changes_nothing",
    "TestAppends": "test_upserts_are_idempotent",
    "TestRevisionStands": "test_the_revision_moves_with_changes_alone",
    "TestRevisionMovesWithEveryCall": "test_the_revision_moves_with_changes_alone",
    "TestSaysYesToAll": "test_what_is_stored_is_told_or_nothing_is",
    "TestKeepsToItself": "test_another_leg_of_the_tenant_finds_the_same",
    "TestTwoAtOnceMixUp": "test_threads_get_the_same_answer",
    "TestDeleted": "test_no_standard_test_is_overridden",
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    return run_cases(CASES, tmp_path_factory.mktemp("dense_leg"))


def test_a_correct_leg_passes(outcomes: Outcomes) -> None:
    assert set(outcomes) == {*MUST_FAIL, "TestCorrect"}
    assert outcomes["TestCorrect"]["failure"] == set()
    assert len(outcomes["TestCorrect"]["passed"]) >= 15


@pytest.mark.parametrize(("suite", "test"), sorted(MUST_FAIL.items()))
def test_a_broken_leg_fails(outcomes: Outcomes, suite: str, test: str) -> None:
    assert test in outcomes[suite]["failure"], dict(outcomes[suite])


def test_every_standard_test_fails_for_some_broken_leg() -> None:
    standard = {name for name in dir(DenseLegConformance) if name.startswith("test_")}
    assert standard == set(MUST_FAIL.values())
