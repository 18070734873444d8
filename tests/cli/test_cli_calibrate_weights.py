"""From real traces to fitted weights, and from the file to a push that decides by them."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from skillcue import PushSettings, SkillCue
from skillcue.push.weights import AGAINST
from skillcue.traces import calibrated_gate
from skillcue.traces.outcomes import judge_turns
from skillcue.traces.reading import read_traces
from skillcue.traces.refit import by_shipped
from skillcue_hooks.errors import ConfigurationError

LABELLED = Path(__file__).resolve().parents[2] / "examples/conversations/labelled"


def talks(parts=("software", "office", "home_science", "near_misses", "beside_the_library")):
    for part in parts:
        for line in (LABELLED / f"{part}.jsonl").read_text("utf-8").splitlines():
            yield json.loads(line)


def play(cue, chosen):
    """An agent that loads what the labels say it needs; its messages show what it has loaded."""
    tools = cue.tools()
    names = {skill.id: skill.name for skill in cue.list()}
    for talk in chosen:
        messages = []
        for turn in talk["turns"]:
            messages.append({"role": turn["role"], "content": turn["text"]})
            if turn["role"] != "user":
                continue
            cue.advise(messages)
            if turn["label"]["need"]:
                name = names[turn["label"]["gold"][0]]
                text = tools.load(name, messages=messages)
                call = f"call-{len(messages)}"
                function = {"name": "skill_load", "arguments": json.dumps({"name": name})}
                calls = [{"id": call, "type": "function", "function": function}]
                messages.append({"role": "assistant", "content": "", "tool_calls": calls})
                messages.append({"role": "tool", "tool_call_id": call, "content": text})


@pytest.fixture(scope="module")
def traces(example_skills, tmp_path_factory):
    path = tmp_path_factory.mktemp("traces") / "t.jsonl"
    with SkillCue(example_skills, mode="bm25", recheck="manual", shadow=True, traces=path) as cue:
        play(cue, talks())
    return path


@pytest.fixture(scope="module")
def slanted(traces):
    """The same turns with outcomes that two features decide: there is something to be learnt."""
    labels = traces.with_name("outcomes.jsonl")
    lines = [
        json.dumps(
            {"turn": turn.id, "need": turn.features["wording"] + turn.features["head"] > 0.3}
        )
        for turn in read_traces(traces).turns
        if turn.features
    ]
    labels.write_text("\n".join(lines) + "\n", "utf-8")
    return labels


def seen(turn):
    """What the gate saw, without what it made of it."""
    return {name: v for name, v in turn.features.items() if name not in ("score", "need")}


def calibrated(cli, traces, out, *options):
    return cli("calibrate", "--from", traces, "--out", out, "--json", *options).json


def test_real_traces_give_a_comparison_of_the_weights(cli, traces, tmp_path):
    document = calibrated(cli, traces, tmp_path / "c.json")
    weights = document["weights"]
    assert weights["turns"] > 200
    assert 0.6 < weights["auc"]["shipped"] < 1
    assert weights["used"] is (weights["gain"] > 1.645 * weights["gain_error"])
    assert (document["fitted"] is not None) is weights["used"]
    for by in ("shipped", "refitted"):
        assert weights["false"][by]["hits"] <= 0.05 * (weights["false"][by]["n"] + 1)
    for row in weights["moved"]:
        assert row["refitted"] * (-1 if row["feature"] in AGAINST else 1) >= 0
    assert not {"text", "user_text"} & set(document)


def test_what_the_turns_bear_out_is_used_and_decides(
    cli, traces, slanted, tmp_path, example_skills, caplog
):
    out = tmp_path / "c.json"
    document = calibrated(cli, traces, out, "--labels", slanted)
    assert document["weights"]["used"]
    assert document["weights"]["auc"]["refitted"] > document["weights"]["auc"]["shipped"]
    assert {row["feature"] for row in document["weights"]["moved"][:2]} == {"wording", "head"}
    assert document["threshold"] == 0.95
    gate = calibrated_gate(out)
    assert gate == calibrated_gate(out) and hash(gate) == hash(calibrated_gate(out))
    messages = [{"role": "user", "content": "Fill in the visa form, it is a PDF"}]
    with SkillCue(example_skills, mode="bm25", push=PushSettings(gate=gate)) as cue:
        advice = cue.advise(messages)
    score = gate.fitted.score(advice.features)
    assert advice.features["score"] == pytest.approx(score)
    assert advice.confidence == gate.fitted.confidence(score)
    assert advice.gate["refitted"] is True
    assert "shipped weights decide" not in caplog.text


def test_elsewhere_the_shipped_weights_decide_and_it_is_said_once(
    cli, traces, slanted, tmp_path, example_skills, caplog
):
    out = tmp_path / "c.json"
    calibrated(cli, traces, out, "--labels", slanted)
    push = PushSettings(gate=calibrated_gate(out))
    advices = []
    with caplog.at_level(logging.WARNING, logger="skillcue.push"):
        for settings in (push, PushSettings()):
            with SkillCue(
                example_skills, mode="dense", encoder="static", push=settings, wait=True
            ) as cue:
                for text in ("Fill in the visa form, it is a PDF", "merge these two files"):
                    advices.append(cue.advise([{"role": "user", "content": text}]))
    assert [a.confidence for a in advices[:2]] == [a.confidence for a in advices[2:]]
    assert not advices[0].gate["refitted"]
    told = [r.getMessage() for r in caplog.records if "shipped weights decide" in r.getMessage()]
    assert len(told) == 1
    assert "mode bm25 and not dense" in told[0]
    assert "encoder none and not " in told[0]


def test_traces_of_a_refitted_gate_can_be_calibrated_again(
    cli, traces, slanted, tmp_path, example_skills
):
    """The shipped weights are the starting point again, whatever decided the recorded turns."""
    out, again = tmp_path / "c.json", tmp_path / "again.jsonl"
    calibrated(cli, traces, out, "--labels", slanted)
    push = PushSettings(gate=calibrated_gate(out))
    with SkillCue(
        example_skills, mode="bm25", push=push, recheck="manual", shadow=True, traces=again
    ) as cue:
        play(cue, talks())
    assert calibrated(cli, again, tmp_path / "2.json")["weights"]["turns"] > 200
    shipped = {turn.id: turn for turn in read_traces(traces).turns}
    read = judge_turns(read_traces(again), {})
    same = 0
    for was, now in zip(read, by_shipped(read), strict=True):
        first = shipped[was.turn.id]
        if first.gate and was.turn.gate and seen(first) == seen(was.turn):
            assert now.turn.confidence == pytest.approx(first.confidence, abs=0.003)
            assert was.turn.features["score"] != first.features["score"]
            same += 1
    assert same > 100


def test_equal_traces_give_equal_bytes(cli, process, traces, tmp_path):
    cli("calibrate", "--from", traces, "--out", tmp_path / "1.json")
    assert process("calibrate", "--from", traces, "--out", tmp_path / "2.json").code == 0
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()


def test_the_screen_shows_both_and_what_moved(cli, traces, slanted, tmp_path):
    result = cli("calibrate", "--from", traces, "--labels", slanted, "--out", tmp_path / "c.json")
    text = " ".join(result.out.split())
    for words in ("log loss", "AUC", "the refitted weights are used", "wording", "-> 0.95"):
        assert words in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.update(gate_version=99), "version 99 of the gate"),
        (lambda d: d.pop("gate_version"), "is no calibration"),
        (lambda d: d["fitted"]["weights"]["thanks"].update(weight=0.4), "the sign"),
        (lambda d: d["fitted"]["weights"]["head"].update(weight=-0.4), "the sign"),
        (lambda d: d["fitted"]["weights"]["head"].update(spread=0), "spread"),
        (lambda d: d["fitted"].update(intercept=float("nan")), "finite"),
        (lambda d: d["fitted"]["levels"].reverse(), "not in order"),
        (lambda d: d["fitted"].update(signals="magic"), "magic"),
        (lambda d: d["fitted"].update(weights=[1]), "is no calibration"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(cli, traces, slanted, tmp_path, change, words):
    out = tmp_path / "c.json"
    document = calibrated(cli, traces, out, "--labels", slanted)
    change(document)
    out.write_text(json.dumps(document), "utf-8")
    with pytest.raises(ConfigurationError, match=words):
        calibrated_gate(out)


def test_turns_without_features_set_a_threshold_only(cli, traces, tmp_path):
    lines = [json.loads(line) for line in traces.read_text("utf-8").splitlines()]
    bare = tmp_path / "bare.jsonl"
    for line in lines:
        line.pop("gate", None)
    bare.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    document = calibrated(cli, bare, tmp_path / "c.json")
    assert (document["fitted"], document["weights"]) == (None, None)
    assert calibrated_gate(tmp_path / "c.json").fitted is None
