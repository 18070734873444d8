"""Weights from recorded turns: how far they move, when they are used, and what bounds them."""

from __future__ import annotations

import math
import random

import pytest

from skillcue.push.calibration import shipped_calibration
from skillcue.push.refitted import gate_in_use
from skillcue.push.weights import AGAINST, gate_weights
from skillcue.traces.outcomes import JudgedTurn, of_gate
from skillcue.traces.reading import TracedGate, TracedTurn
from skillcue.traces.weights import FEWEST_OF_EACH, refit_weights

SHIPPED = gate_weights("lexical")
GATE = TracedGate(1, "lexical", "", False, SHIPPED.nothing, SHIPPED.foreign, SHIPPED.scale)
FLAGS = ("question", "thanks", "imperative")


def traffic(count, truth, seed=0, gate=GATE):
    """Turns whose need is drawn from `truth`: log-odds of standardised features."""
    draw = random.Random(seed)
    return [drawn(f"{n}", truth, draw, gate) for n in range(count)]


def drawn(name, truth, draw, gate=GATE):
    spread = {key: 1.0 for key in SHIPPED.weights}
    values = {key: draw.gauss(0, 1) for key in spread}
    values |= {key: float(draw.random() < 0.4) for key in FLAGS}
    odds = truth(values)
    need = draw.random() < 1 / (1 + math.exp(-odds))
    features = {
        key: SHIPPED.scale[key][0] + value * SHIPPED.scale[key][1] for key, value in values.items()
    }
    turn = TracedTurn(
        id=name,
        mode="bm25",
        decision="abstain",
        confidence=0.5,
        threshold=0.95,
        features={**features, "score": 0.0},
        offered=(),
        named=False,
        candidates=5,
        degraded=False,
        generation="g",
        gate=gate,
    )
    return JudgedTurn(turn, need, "label")


def by_words(values):
    """Only two features matter, one of them much more than the shipped weights say."""
    return 1.5 * values["wording"] + 0.3 * values["lead"] - 0.5


def as_shipped(values):
    return sum(SHIPPED.weights[key] * value for key, value in values.items()) - 0.5


def backwards(values):
    """What the meaning of the features forbids: thanks and questions that need a skill."""
    return 2.0 * values["thanks"] + 2.0 * values["question"] - 1.5 * values["head"]


def moved(found):
    """By how many log-odds all the new weights together differ, a standard deviation off."""
    return math.hypot(*found.effects.values())


def alike(found):
    """Cosine of the fitted and the shipped weights: 1 where they rank all turns alike."""
    pairs = [(item.weight, found.shipped[item.name]) for item in found.gate.weights]
    new, old = zip(*pairs, strict=True)
    return sum(a * b for a, b in pairs) / math.hypot(*new) / math.hypot(*old)


def test_more_turns_move_the_weights_further():
    few, some, many = (refit_weights(traffic(n, by_words), "bm25") for n in (60, 400, 2000))
    assert moved(few) < moved(some) < moved(many)
    assert many.better
    assert many.auc[1] > many.auc[0] + 0.02
    weights = {item.name: item.weight for item in many.gate.weights}
    assert weights["wording"] > 0.9
    assert weights["head"] < 0.3


def test_forty_turns_move_them_little():
    """Twenty of either kind is the least; which turns come first hardly changes."""
    turns = traffic(400, as_shipped)
    half = FEWEST_OF_EACH
    needed = [item for item in turns if item.need][:half]
    others = [item for item in turns if not item.need][:half]
    mixed = [item for pair in zip(needed, others, strict=True) for item in pair]
    found = refit_weights(mixed, "bm25")
    assert found.turns == 40
    assert moved(found) < 0.25
    assert alike(found) > 0.95
    assert refit_weights(mixed[:-1], "bm25") is None


@pytest.mark.parametrize("seed", range(3))
def test_no_weight_gets_a_sign_that_its_meaning_forbids(seed):
    found = refit_weights(traffic(1500, backwards, seed), "bm25")
    weights = {item.name: item.weight for item in found.gate.weights}
    assert weights["thanks"] == weights["question"] == weights["head"] == 0
    assert all(weight <= 0 if name in AGAINST else weight >= 0 for name, weight in weights.items())


def test_noise_keeps_the_shipped_weights():
    """Chance favours a refit in one of twenty files; of twenty, five would be a broken rule."""
    better = 0
    for seed in range(20):
        better += refit_weights(traffic(300, lambda _: -0.6, seed), "bm25").better
    assert better <= 3


def test_traffic_like_that_of_the_shipped_weights_gains_nothing():
    assert not any(
        refit_weights(traffic(300, as_shipped, seed), "bm25").better for seed in range(4)
    )


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_new_turns_are_spoken_on_as_seldom_as_asked(share):
    spoken = []
    for seed in range(12):
        found = refit_weights(traffic(150, by_words, seed), "bm25")
        draw = random.Random(1000 + seed)
        fresh = [drawn(f"f{n}", by_words, draw) for n in range(600)]
        gate = found.gate
        told = [
            gate.confidence(gate.score(i.turn.features)) >= 1 - share for i in fresh if not i.need
        ]
        spoken.append(sum(told) / len(told))
    mean = sum(spoken) / len(spoken)
    assert share / 2 < mean <= share + 0.02


def test_equal_turns_give_equal_gates():
    first, second = (refit_weights(traffic(200, by_words), "bm25") for _ in range(2))
    assert first == second
    assert hash(first.gate) == hash(second.gate)


def test_a_feature_that_never_varies_keeps_its_weight():
    turns = traffic(300, by_words)
    for item in turns:
        item.turn.features["files"] = 0.0
    found = refit_weights(turns, "bm25")
    weights = {item.name: item.weight for item in found.gate.weights}
    assert weights["files"] == found.shipped["files"]
    assert found.effects["files"] == 0


def test_many_levels_are_thinned_and_none_comes_out_more_confident():
    found = refit_weights(traffic(6000, lambda _: -2.0), "bm25")
    scores = sorted(found.confidence.values())
    assert len(found.gate.levels) == 2000
    need_nothing = 6000 - found.needed
    exact = need_nothing / (need_nothing + 1)
    assert exact - 0.001 < scores[-1] <= exact


def test_turns_of_another_gate_are_left_out():
    """The newest gate of this version counts: other encoders and versions are other numbers."""
    import dataclasses

    older = dataclasses.replace(GATE, encoder="another")
    future = dataclasses.replace(GATE, version=99)
    turns = [
        *traffic(2, by_words, gate=older),
        *traffic(2, by_words),
        *traffic(1, by_words, gate=future),
        *traffic(1, by_words, gate=None),
    ]
    assert [item.reason for item in of_gate(turns)] == [
        "other gate",
        "other gate",
        "label",
        "label",
        "other gate",
        "label",
    ]


def test_while_the_encoder_is_not_known_the_shipped_weights_decide_quietly(caplog):
    """The gate is being fitted, features are missing, and nothing is wrong with the file."""
    refit = refit_weights(traffic(100, by_words), "bm25").gate
    shipped = shipped_calibration("lexical")
    assert gate_in_use(refit, shipped, "bm25", None) is shipped
    assert gate_in_use(refit, shipped, "bm25", "") is refit
    assert caplog.text == ""
