"""How the gate is fitted to a library, and what is kept of a fit."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from support.conversations import PHRASES, write_garden

from skillcue import SkillCue
from skillcue.push import fitting
from skillcue.push.calibration import (
    FOREIGN_TURNS,
    calibrated,
    null_features,
    null_turns,
    shipped_calibration,
)
from skillcue.push.cues import CUES
from skillcue.push.fitting import GateFits
from skillcue.push.turn_type import TurnRegression, TurnTypes, VectorTurnType, bundled_turns
from skillcue.push.weights import gate_weights
from skillcue_hooks import Hit, Library, Ranking, hookimpl
from skillcue_hooks.testing import make_library, make_skill

SKILLS = [make_skill(f"s{n}", f"Do thing number {n}.") for n in range(100)]
LIBRARY = make_library(SKILLS)


def hit(skill, rank=1, evidence=0.0, score=1.0) -> Hit:
    signals = {"evidence": evidence, "evidence_body": 0.0}
    return Hit(skill, score, rank, signals)


class Searcher:
    """Finds two skills, the one whose description is asked for first; counts."""

    def __init__(self, fingerprint: str = "searcher") -> None:
        self.fingerprint = fingerprint
        self.searches = 0

    def search(self, query):
        self.searches += 1
        named = [s for s in SKILLS if s.description == query.text] or SKILLS[:1]
        hits = (hit(named[0], 1, 50.0, 9.0), hit(SKILLS[-1], 2, 1.0))
        return Ranking(hits, "m", total=2)


def test_every_bundled_turn_is_asked_half_of_them_after_a_request_whose_skill_is_at_hand():
    turns = [turn for turn in null_turns(SKILLS) if turn.number is not None]
    assert [turn.text for turn in turns] == list(bundled_turns("needs_nothing"))
    given = [turn for turn in turns if turn.earlier]
    assert len(given) == len(turns) // 2
    by_id = {skill.id: skill for skill in SKILLS}
    assert all(turn.earlier == (by_id[turn.hidden].description,) for turn in given)
    assert len({turn.hidden for turn in given}) > 50


def test_foreign_turns_are_descriptions_without_their_skill_spread_over_the_library():
    foreign = [turn for turn in null_turns(SKILLS) if turn.number is None]
    assert len(foreign) == FOREIGN_TURNS < len(SKILLS)
    by_id = {skill.id: skill for skill in SKILLS}
    assert all(turn.text == by_id[turn.hidden].description for turn in foreign)
    assert {foreign[0].hidden, foreign[-1].hidden} >= {"s0@s0", "s98@s98"}
    assert len(list(null_turns(SKILLS[:3]))) == len(bundled_turns("needs_nothing")) + 3
    assert not any(turn.earlier or turn.hidden for turn in null_turns(()))


def test_the_skill_that_is_taken_away_is_not_looked_at():
    searcher = Searcher()
    _, rows = null_features(
        SKILLS, lambda text, earlier: searcher.search(SimpleNamespace(text=text)).hits, TurnTypes()
    )
    foreign = [features for is_foreign, features in rows if is_foreign]
    assert len(foreign) == FOREIGN_TURNS
    # The other hit has an evidence of 1; that of the skill itself would be 50.
    assert {round(f["head"], 3) for f in foreign} == {0.693}


def rows_of(foreign_head: float) -> list:
    names = gate_weights("lexical").weights
    bundled = [(False, {**dict.fromkeys(names, 0.0), "head": n % 3 / 3}) for n in range(30)]
    return [*bundled, (True, {**dict.fromkeys(names, 0.0), "head": foreign_head})]


def test_a_library_raises_the_bar_and_never_lowers_it():
    weights, shipped = gate_weights("lexical"), shipped_calibration("lexical")
    low, high = (calibrated("lexical", rows_of(head), weights) for head in (0.0, 60.0))
    assert low.foreign - low.nothing == pytest.approx(shipped.foreign - shipped.nothing)
    assert high.foreign - high.nothing > 2 * (shipped.foreign - shipped.nothing)
    score = shipped.foreign
    assert high.confidence(score) < low.confidence(score)


def test_plain_cues_keep_their_units_and_the_others_take_those_of_the_library():
    weights = gate_weights("lexical")
    found = calibrated("lexical", rows_of(1.0), weights)
    for name in weights.weights:
        assert (found.scale[name] == weights.scale[name]) == (name in CUES), name
    assert found.scale["head"][0] == pytest.approx(1 / 3)


def test_a_bundled_turn_is_told_from_the_others():
    """Else the ones that were learnt from would look more clear-cut than any turn to come."""
    random = np.random.default_rng(0)
    vectors = random.normal(size=(40, 8))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    known = TurnRegression(vectors[:20], vectors[20:])
    without = TurnRegression(vectors[:20], vectors[21:])
    assert known.value(vectors[20]) < known.left_out(0)
    assert known.left_out(0) == pytest.approx(without.value(vectors[20]), abs=0.1)
    told = VectorTurnType(lambda text: vectors[20], known)
    assert (told("hello"), told("hello", 0)) == (known.value(vectors[20]), known.left_out(0))


# what is kept


def fit(folder, searcher, library: Library = LIBRARY, mode: str = "m"):
    fitting._known.clear()  # as in another process
    return GateFits(folder).fitted(mode, library, searcher, None)


def test_a_fit_is_kept_and_another_library_retriever_or_weights_make_a_new_one(
    tmp_path, monkeypatch
):
    first = Searcher()
    made = fit(tmp_path, first)
    assert made.calibration.fitted and first.searches > 300
    again = Searcher()
    assert fit(tmp_path, again).calibration == made.calibration
    assert again.searches == 0
    edited = replace(LIBRARY, generation="another")
    for searcher, library in ((Searcher("other"), LIBRARY), (Searcher(), edited)):
        fit(tmp_path, searcher, library)
        assert searcher.searches == first.searches
    weights = gate_weights("lexical")
    monkeypatch.setattr(fitting, "gate_weights", lambda s: replace(weights, intercept=-9.0))
    changed = Searcher()
    fit(tmp_path, changed)
    assert changed.searches == first.searches
    assert len(os.listdir(tmp_path / "gate")) == 4


def test_two_of_one_process_share_a_fit():
    first, second = Searcher("shared"), Searcher("shared")
    GateFits(None).fitted("m", LIBRARY, first, None)
    GateFits(None).fitted("m", LIBRARY, second, None)
    assert first.searches > 300 and second.searches == 0


def test_a_library_without_anything_to_find_is_not_calibrated():
    nothing = SimpleNamespace(fingerprint="n", search=lambda query: Ranking((), "m"))
    found = fit(None, nothing, make_library([]))
    assert found.calibration is None and not found.pending


def test_a_retriever_that_fails_leaves_the_shipped_calibration(caplog):
    broken = SimpleNamespace(fingerprint="broken", search=lambda query: 1 / 0)
    found = fit(None, broken)
    assert found.calibration is None and found.pending
    assert "the shipped calibration is used" in caplog.text


# while it is not there yet


class Waits:
    """Mode bm25 that lets the fit of the gate wait."""

    def __init__(self, event) -> None:
        self.event = event

    @hookimpl
    def skillcue_register_retrievers(self, register):
        register("waits", self.build)

    def build(self, library, context):
        inner, event = context.retriever("bm25"), self.event

        def search(query):
            if threading.current_thread().name == "skillcue-gate":
                assert event.wait(30)
            return inner.search(query)

        return SimpleNamespace(fingerprint="w", generation=library.generation, search=search)


def test_a_turn_does_not_wait_for_ever_and_says_so(tmp_path, monkeypatch):
    event = threading.Event()
    monkeypatch.setattr("skillcue.facade.FIT_WAIT_S", 0.05)
    garden = write_garden(tmp_path)
    with SkillCue(garden, mode="waits", plugins=[Waits(event)]) as cue:
        early = cue.advise([{"role": "user", "content": PHRASES[0]}])
        assert early.degraded == "the gate is being fitted to the library"
        assert "not calibrated" in early.reason
        event.set()
        assert cue.wait_ready()
        late = cue.advise([{"role": "user", "content": PHRASES[1]}])
        assert late.degraded is None and "not calibrated" not in late.reason


def test_features_are_of_skills_that_are_not_at_hand(tmp_path):
    both = {"role": "user", "content": f"{PHRASES[0]} {PHRASES[0]} and my compost"}
    with SkillCue(write_garden(tmp_path), mode="bm25") as cue:
        page = cue.tools().load("tomato-pruning").text
        at_hand = [
            {"role": "user", "content": "yes"},
            {"role": "tool", "name": "skill_load", "content": page},
            {"role": "assistant", "content": "done"},
        ]
        fresh, later = cue.advise([both]), cue.advise([*at_hand, both])
    assert later.turn.visible_skills == {"tomato-pruning@tomato-pruning"}
    assert later.features["head"] < fresh.features["head"] / 1.5
