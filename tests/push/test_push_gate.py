"""The gate: features, calibration, decisions, and what is kept of a fit."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillcue import GateSettings, PushSettings, SkillCue
from skillcue.push.calibration import shipped_calibration
from skillcue.push.cues import CUES, prose, text_cues
from skillcue.push.features import SIGNAL_SETS, library_features, signal_set
from skillcue.push.gate import judge, suited
from skillcue.push.query import turn_query
from skillcue.push.stored import load_calibration, store_calibration
from skillcue.push.turn_type import WordTurnType, bundled_turns
from skillcue.push.weights import gate_weights
from skillcue_hooks import Hit, Ranking, Skill

LEXICAL = shipped_calibration("lexical")
NEEDED = dict.fromkeys(gate_weights("lexical").weights, 9.0) | {"question": 0.0, "thanks": 0.0}
NOTHING = dict.fromkeys(gate_weights("lexical").weights, 0.0) | {"wording": -1.0, "thanks": 1.0}


def ranking(*scores: float, **signals: float) -> Ranking:
    hits = tuple(
        Hit(Skill(f"s{i}@s{i}", f"s{i}", "d"), score, i + 1, {"evidence": 1.0, **signals})
        for i, score in enumerate(scores)
    )
    return Ranking(hits, "m", total=len(hits))


def verdict_on(found: Ranking, features=NEEDED, visible=(), limit=3, **settings):
    return judge(found, limit, GateSettings(**settings), visible, features, LEXICAL)


def names(verdict) -> list[str]:
    return [hit.skill.name for hit in verdict.offered]


def reasons(verdict) -> dict[str, str]:
    return {item.hit.skill.name: item.reason for item in verdict.rejected}


def test_nothing_found_is_silence():
    verdict = verdict_on(ranking())
    assert (verdict.offered, verdict.confidence) == ((), 0.0)
    assert verdict.reason == "no skill shares a word with the message"


def test_a_turn_that_needs_a_skill_gets_it_and_one_that_needs_nothing_does_not():
    told = verdict_on(ranking(9.0, 1.0))
    assert names(told) == ["s0"]
    assert told.confidence >= told.threshold == 0.95
    assert told.features["need"] > 0.9
    silent = verdict_on(ranking(9.0, 1.0), NOTHING)
    assert silent.offered == () and silent.confidence < 0.5
    assert reasons(silent) == dict.fromkeys(["s0", "s1"], "the gate stayed closed")
    assert "does not seem to need a skill" in silent.reason


def test_max_false_push_is_the_threshold():
    for allowed in (0.01, 0.1, 0.4):
        assert verdict_on(ranking(1.0), max_false_push=allowed).threshold == 1.0 - allowed
    assert names(verdict_on(ranking(1.0), NOTHING, max_false_push=1.0)) == ["s0"]
    assert verdict_on(ranking(1.0), max_false_push=0.0).offered == ()


def test_runners_up_must_be_near_and_are_limited():
    found = ranking(10.0, 9.0, 8.9, 8.8, 8.0)
    assert names(verdict_on(found)) == ["s0", "s1", "s2"]
    assert reasons(verdict_on(found)) == {"s3": "enough is offered", "s4": "clearly behind s0"}
    assert names(verdict_on(found, limit=1)) == ["s0"]
    assert names(verdict_on(found, runner_up=1.0)) == ["s0"]


def test_what_is_visible_is_not_offered_and_bars_what_lies_far_behind():
    near = verdict_on(ranking(10.0, 9.0), visible={"s0@s0"})
    assert names(near) == ["s1"]
    assert reasons(near) == {"s0": "already in the conversation"}
    far = verdict_on(ranking(10.0, 2.0), visible={"s0@s0"})
    assert far.offered == ()
    assert far.reason == "s0 fits best and is already in the conversation"
    assert verdict_on(ranking(10.0), visible={"s0@s0"}).offered == ()


def test_a_body_needs_a_higher_bar_and_a_skill_that_is_alone_ahead():
    assert verdict_on(ranking(10.0, 6.9)).sure
    assert verdict_on(ranking(10.0)).sure
    assert not verdict_on(ranking(10.0, 7.0)).sure
    assert not verdict_on(ranking(10.0, 9.0), limit=1).sure
    assert not verdict_on(ranking(0.0, -9.0)).sure
    assert not verdict_on(ranking(10.0, 6.0), NOTHING, max_false_push=1.0).sure
    assert not verdict_on(ranking(10.0, 6.0), load_false_push=0.0).sure
    assert not verdict_on(ranking(10.0, 6.0), load_false_push=0.001).sure
    assert verdict_on(ranking(10.0, 6.0), load_false_push=0.01).sure


def test_a_skill_behind_or_near_one_at_hand_is_not_sure():
    behind = verdict_on(ranking(10.0, 6.0), visible={"s0@s0"})
    assert (names(behind), behind.sure) == (["s1"], False)
    near = verdict_on(ranking(10.0, 9.0), visible={"s1@s1"})
    assert (names(near), near.sure) == (["s0"], False)


@given(
    scores=st.lists(st.floats(-10, 10), max_size=6),
    limit=st.integers(1, 10),
    allowed=st.floats(0, 1),
    visible=st.sets(st.sampled_from([f"s{i}@s{i}" for i in range(6)])),
)
def test_the_gate_splits_its_candidates(scores, limit, allowed, visible):
    found = ranking(*sorted(scores, reverse=True))
    verdict = verdict_on(found, visible=visible, limit=limit, max_false_push=allowed)
    both = [*verdict.offered, *(item.hit for item in verdict.rejected)]
    assert sorted(h.rank for h in both) == [h.rank for h in found.hits]
    assert len(verdict.offered) <= limit
    assert not visible & {h.skill.id for h in verdict.offered}
    assert verdict.confidence >= verdict.threshold or not verdict.offered
    assert verdict.reason and all(item.reason for item in verdict.rejected)


# constants and calibration


@pytest.mark.parametrize("signals", SIGNAL_SETS)
def test_shipped_constants_are_sound(signals):
    weights = gate_weights(signals)
    negative = {"question", "thanks"}
    assert all((weight < 0) == (name in negative) for name, weight in weights.weights.items())
    assert set(weights.scale) == set(weights.weights)
    assert weights.nothing < weights.foreign
    assert list(weights.levels) == sorted(weights.levels)


@given(st.lists(st.floats(-20, 20), min_size=2, max_size=2))
def test_confidence_grows_with_the_score_and_stays_below_one(pair):
    low, high = sorted(pair)
    assert 0.0 <= LEXICAL.confidence(low) <= LEXICAL.confidence(high) < 1.0


def test_signals_that_a_calibration_is_not_for_take_the_shipped_one():
    fitted = replace(LEXICAL, fitted=True)
    hits = ranking(1.0).hits
    assert suited(fitted, hits) is fitted
    assert suited(None, hits) == LEXICAL
    with_similarity = ranking(1.0, calibrated=0.3).hits
    assert suited(fitted, with_similarity).signals == "full" == signal_set(with_similarity)


def test_a_missing_signal_says_nothing():
    features = library_features(())
    assert set(features.values()) == {0.0}
    assert LEXICAL.score({}) == gate_weights("lexical").intercept


def test_stored_calibrations_come_back_and_damaged_ones_do_not(tmp_path):
    store_calibration(tmp_path, "ab", LEXICAL)
    assert load_calibration(tmp_path, "ab") == replace(LEXICAL, fitted=True)
    assert [path.name for path in tmp_path.iterdir()] == ["ab.json"]
    os.rename(tmp_path / "ab.json", tmp_path / "cd.json")
    assert load_calibration(tmp_path, "cd") is None  # of another library
    record = json.loads((tmp_path / "cd.json").read_text("utf-8")) | {"key": "cd"}
    for wrong in ({"foreign": -99.0}, {"signals": "x"}, {"scale": {"head": [0.0, 0.0]}}):
        (tmp_path / "cd.json").write_text(json.dumps(record | wrong), "utf-8")
        assert load_calibration(tmp_path, "cd") is None
    (tmp_path / "cd.json").write_bytes(b"\x80\x04.")
    assert load_calibration(tmp_path, "cd") is None


def test_a_fit_is_found_again_by_another_instance(tmp_path):
    messages = [{"role": "user", "content": "Fill in the visa form, it is a PDF"}]
    answers = []
    for _ in range(2):
        with SkillCue("examples/skills", mode="bm25", cache=tmp_path, wait=True) as cue:
            answers.append(cue.advise(messages))
    assert [path.suffix for path in (tmp_path / "gate").iterdir()] == [".json"]
    assert answers[0].confidence == answers[1].confidence > 0.9
    assert answers[0].degraded is None
    assert answers[0].features["body"] > 0.0


@pytest.mark.parametrize("text", ["Thanks, that is great!", "good morning", "who are you?"])
def test_turns_that_need_nothing_get_silence(text):
    cue = SkillCue("examples/skills", mode="bm25", push=PushSettings(), cache=False)
    advice = cue.advise([{"role": "user", "content": text}])
    assert advice.decision == "abstain"


# words and queries


def test_cues():
    assert set(text_cues("")) == set(CUES)
    assert text_cues("Thanks a lot!")["thanks"] == 1.0
    assert text_cues("what is the capital of Peru?")["question"] == 1.0
    assert text_cues("convert sales.csv to a chart")["files"] == 1.0
    assert text_cues("convert sales.csv to a chart")["imperative"] == 1.0


@given(st.text(max_size=300))
def test_cues_are_shares(text):
    assert all(0.0 <= value <= 1.0 for value in text_cues(text).values())


def test_pasted_blocks_are_no_prose():
    text = "why does this fail?\n```\n" + "x = 1\n" * 500 + "```\nit ran yesterday"
    assert prose(text) == "why does this fail?\n\n\nit ran yesterday"
    query = turn_query(text, (), 2_000, 300)
    assert "it ran yesterday" in query.text and len(query.text) < 800


def test_what_was_said_before_is_context_and_stands_in_for_words_that_are_missing():
    earlier = ["reconcile the invoices", "and then?"]
    query = turn_query("and the same for April?", earlier, 2_000, 300)
    assert (query.text, query.context) == ("and the same for April?", "\n".join(earlier))
    for text in ("do it", "ok, do it", "and the same again?"):
        assert turn_query(text, earlier, 2_000, 300).text == f"reconcile the invoices\n{text}"
        assert turn_query(text, earlier, 2_000, 0).text == text
        assert turn_query(text, ["and you?"], 2_000, 300).text == text
    for text in ("Thanks!", "ok, thank you", "yes", "好的"):
        assert turn_query(text, earlier, 2_000, 300).text == text


def test_words_tell_requests_from_thanks():
    told = WordTurnType()
    assert told("merge these spreadsheets and plot the totals") > 0 > told("thank you so much")
    first = bundled_turns("needs_nothing")[0]
    assert told(first, 0) > told(first)  # left out, it does not vouch for itself


def test_one_score_far_above_the_others_is_no_more_than_ten():
    assert (
        library_features(ranking(1000.0, *[1.0 + n / 1000 for n in range(9)]).hits)["lead"] == 10.0
    )
    assert library_features(ranking(3.0, 2.0).hits)["lead"] == 0.0
