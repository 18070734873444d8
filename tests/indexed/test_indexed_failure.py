"""An index out of reach: pull says so, push stays silent, and both come back by themselves."""

from __future__ import annotations

import logging

import pytest
from support.conversations import PHRASES, write_garden
from support.indexes import WatchedIndex, over, put

from skillcue.indexed.live import DOWN_S, LiveIndex
from skillcue_hooks.errors import IndexUnavailableError

TOMATO = PHRASES[0]
NAME = "tomato-pruning"
SAY = [{"role": "user", "content": TOMATO}]


@pytest.fixture
def index(tmp_path):
    filled = WatchedIndex()
    put(write_garden(tmp_path / "garden"), filled)
    return filled


def test_building_asks_nothing_and_wait_does(index):
    index.down = True
    index.calls.clear()
    cue = over(index)
    assert not index.calls
    with pytest.raises(IndexUnavailableError, match=r"db\.example"):
        cue.wait_ready()


def test_pull_answers_with_the_cure(index):
    cue = over(index)
    tools = cue.tools()
    cue.lookup(TOMATO)
    index.down = True
    for answer in (
        tools.lookup("something else"),
        tools.load(NAME),
        tools.load("other"),
        tools.list(),
    ):
        assert answer.error
        assert answer.text == "Error: The index at db.example cannot be reached. Start it."
    with pytest.raises(IndexUnavailableError):
        cue.lookup("something else")


def test_push_fails_open_and_tells_once(index, caplog):
    cue = over(index)
    assert cue.advise(SAY).text
    index.down = True
    with caplog.at_level(logging.WARNING, "skillcue"):
        for number in range(5):
            advice = cue.advise([{"role": "user", "content": f"{TOMATO} {number}"}])
            assert (advice.decision, advice.text) == ("abstain", "")
            assert advice.degraded == "the index cannot be reached"
    told = [record for record in caplog.records if "db.example" in record.getMessage()]
    assert len(told) == 1
    assert told[0].exc_info is None


def test_it_comes_back_by_itself(index):
    now = [0.0]
    live = LiveIndex(index, ("",), "index", clock=lambda: now[0])
    cue = over(index)
    cue._live = live
    assert cue.lookup(TOMATO).hits
    index.down = True
    with pytest.raises(IndexUnavailableError):
        cue.lookup("other words")
    asked = index.calls.total()
    for _ in range(10):  # nobody waits for a server that was away just now
        assert cue.advise(SAY).degraded
    assert index.calls.total() == asked
    index.down = False
    now[0] += DOWN_S
    assert cue.lookup("other words") is not None
    assert cue.advise(SAY).text


def test_a_failure_in_the_middle_of_a_turn_is_no_advice(index):
    cue = over(index)
    cue.advise(SAY)
    cue.snapshot()
    kept = index.candidates

    def away(query):
        raise IndexUnavailableError("The index at db.example cannot be reached.", "Start it.")

    index.candidates = away
    advice = cue.advise([{"role": "user", "content": f"{TOMATO} now"}])
    assert (advice.decision, advice.degraded) == ("abstain", "the index cannot be reached")
    index.candidates = kept
