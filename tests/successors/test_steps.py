"""From stored events to steps: what counts as having come next, and what does not."""

from __future__ import annotations

import pytest
from support.next_histories import Writer

from skillcue.successors import NextSettings
from skillcue.successors.history import read_history
from skillcue.successors.steps import find_steps


@pytest.fixture
def writer():
    return Writer()


@pytest.fixture
def steps(writer, tmp_path):
    """The steps of what was written, as (after, then, found) by name."""

    def read(settings=None, known=lambda _id: True, history=50_000):
        writer.write(tmp_path / "events.db")
        found = find_steps(
            read_history(tmp_path / "events.db", history), settings or NextSettings(), known
        )
        return [(name(step.after), name(step.then), step.found) for step in found]

    return read


def name(skill_id):
    return skill_id and skill_id.partition("@")[0]


def test_loads_of_a_conversation_follow_each_other_and_those_of_two_do_not(writer, steps):
    writer.load("x", "a")
    writer.load("y", "k")
    writer.load("x", "b")
    writer.load("y", "l")
    writer.load("x", "c")
    assert steps() == [("a", "b", None), ("k", "l", None), ("b", "c", None)]


def test_a_skill_counts_once_in_a_run(writer, steps):
    for skill in "aabab":
        writer.load("x", skill)
    writer.load("x", "c")
    assert steps() == [("a", "b", None), ("b", "c", None)]


def test_further_pages_and_files_are_no_loads(writer, steps):
    writer.load("x", "a")
    writer.load("x", "b", page=2, pages=2)
    writer.load("x", "b", file="notes.md")
    writer.load("x", "c")
    assert steps() == [("a", "c", None)]


def test_after_a_long_pause_a_run_has_ended(writer, steps):
    writer.load("x", "a")
    writer.pause(1_800)
    writer.load("x", "b")
    writer.load("x", "a")
    assert steps() == [("a", None, None), ("b", "a", None)]


def test_a_run_that_may_go_on_has_not_ended(writer, steps):
    writer.load("x", "a")
    writer.load("y", "b")
    assert steps() == []
    writer.pause(1_800)
    writer.load("z", "c")
    assert steps() == [("a", None, None), ("b", None, None)]


def test_after_many_turns_a_run_has_ended(writer, steps):
    writer.load("x", "a")
    for number in range(5):
        writer.turn("x", f"t{number}")
    writer.load("x", "b")
    assert steps(NextSettings(gap_turns=5)) == [("a", "b", None)]
    assert steps(NextSettings(gap_turns=4)) == [("a", None, None)]


def test_the_first_search_after_a_load_is_the_one_that_counts(writer, steps):
    writer.load("x", "a")
    writer.lookup("x", "n", "m")
    writer.lookup("x", "b")
    writer.load("x", "b")
    writer.lookup("x", "n", "c")
    writer.load("x", "c")
    assert steps() == [("a", "b", False), ("b", "c", True)]


def test_search_succeeds_among_the_first_k(writer, steps):
    writer.load("x", "a")
    writer.lookup("x", "n", "m", "b")
    writer.load("x", "b")
    assert steps(NextSettings(k=3)) == [("a", "b", True)]
    assert steps(NextSettings(k=2)) == [("a", "b", False)]


def test_two_loads_of_one_search_were_both_found_and_a_third_was_not_searched(writer, steps):
    writer.lookup("x", "a", "b")
    writer.load("x", "a")
    writer.load("x", "b")
    writer.load("x", "c")
    assert steps() == [("a", "b", True), ("b", "c", None)]


def test_advice_is_a_search_and_silence_is_none(writer, steps):
    writer.load("x", "a")
    writer.turn("x", "t1", "n", "b")
    writer.load("x", "b")
    writer.turn("x", "t2")
    writer.load("x", "c")
    assert steps() == [("a", "b", True), ("b", "c", None)]


def test_a_body_that_push_gave_at_once_was_read_and_in_shadow_it_was_not(writer, steps):
    writer.load("x", "a")
    writer.turn("x", "t1", "b", decision="load")
    writer.turn("x", "t2", "c", decision="load", **{"skillcue.shadow": True})
    writer.load("x", "d")
    assert steps() == [("a", "b", True), ("b", "d", False)]


def test_a_call_that_names_no_conversation_belongs_to_the_one_of_its_turn(writer, steps):
    writer.turn("x", "t1", "n")
    writer.load("x", "a")
    writer.rows[-1]["session"], writer.rows[-1]["turn"] = None, "t1"
    writer.load("x", "b")
    writer.load("y", "c")
    writer.rows[-1]["session"] = None
    assert steps() == [("a", "b", None)]


def test_what_the_library_has_no_more_is_not_bridged(writer, steps):
    for skill in "abcd":
        writer.load("x", skill)
    assert steps(known=lambda skill_id: skill_id != "b@b") == [("c", "d", None)]


def test_history_is_bounded_by_its_newest_loads(writer, steps):
    for skill in "abcd":
        writer.load("x", skill)
    assert steps(history=2) == [("c", "d", None)]


def test_what_was_suggested_stands_with_the_step(writer, tmp_path):
    writer.load("x", "a")
    writer.shown("x", "a", "b", "c")
    writer.load("x", "b")
    writer.load("x", "d")
    writer.write(tmp_path / "events.db")
    history = read_history(tmp_path / "events.db", 100)
    first, second = find_steps(history, NextSettings(), lambda _id: True)
    assert first.shown == (("a@a", "b@b"), ("a@a", "c@c"))
    assert second.shown == ()
