"""``skillcue calibrate``: from recorded turns to a threshold, and from there to a quieter push."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from skillcue import PushSettings, SkillCue
from skillcue.traces import calibrated_gate, turn_ids
from skillcue.traces.outcomes import judge_turns
from skillcue.traces.reading import join_records
from skillcue.traces.refit import wilson
from skillcue_hooks.errors import ConfigurationError

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def turn(name, confidence=0.9, offered=(), threshold=0.5, **more):
    record = {
        "schema": 1,
        "kind": "turn",
        "turn": name,
        "mode": "bm25",
        "decision": "offer" if offered else "abstain",
        "confidence": confidence,
        "threshold": threshold,
        "features": {},
        "offered": list(offered),
        "named": False,
        "candidates": 3,
        "tokens": 0,
        "shadow": False,
        "degraded": False,
        "generation": "g",
        "elapsed_ms": 1.0,
    }
    return {**record, **more}


def load(skill, name=None):
    return {"schema": 1, "kind": "load", "turn": name, "skill": skill, "generation": "g"}


def written(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def reasons(records, labels=None):
    return [(i.need, i.reason) for i in judge_turns(join_records(records), labels or {})]


def test_a_body_loaded_at_once_tells_nothing_and_was_not_unwanted():
    records = [
        turn("given", offered=["a"], decision="load"),
        turn("offered", offered=["a"]),
        turn("never", offered=["b"]),
        turn("never again", offered=["b"]),
        turn("labelled", offered=["c"], decision="load"),
    ]
    assert reasons(records, {"labelled": False}) == [
        (None, "given"),
        (None, "unclear"),
        (False, "ignored"),
        (False, "ignored"),
        (False, "label"),
    ]


def test_outcomes_say_what_was_needed():
    records = [
        turn("used", offered=["a"]),
        load("a", "used"),
        turn("not this time", offered=["a"]),
        turn("never", offered=["b"]),
        turn("never again", offered=["b"]),
        turn("once", offered=["c"]),
        turn("quiet", 0.1),
        turn("found alone", 0.2),
        load("d", "found alone"),
        turn("named", offered=["e"], named=True),
        turn("half", offered=["e"], degraded=True),
        turn("at hand", 0.8),
    ]
    assert reasons(records) == [
        (True, "loaded"),
        (None, "unclear"),
        (False, "ignored"),
        (False, "ignored"),
        (None, "unclear"),
        (False, "quiet"),
        (True, "pulled"),
        (None, "named"),
        (None, "degraded"),
        (None, "at hand"),
    ]


def test_a_label_wins_over_what_happened():
    records = [turn("used", offered=["a"]), load("a", "used"), turn("quiet", 0.1)]
    assert reasons(records, {"used": False, "quiet": True}) == [(False, "label"), (True, "label")]


def test_a_skill_that_is_loaded_later_was_not_unwanted():
    records = [turn("1", offered=["b"]), turn("2", offered=["b"]), load("b")]
    assert reasons(records) == [(None, "unclear")] * 2


def test_whoever_loads_another_skill_than_was_offered_needed_one():
    records = [turn("1", offered=["b"]), load("c", "1"), turn("2", offered=["b"])]
    assert reasons(records) == [(True, "pulled"), (False, "ignored")]


def test_what_a_shadow_offers_is_not_declined():
    records = [turn("1", offered=["b"], shadow=True), turn("2", offered=["b"]), load("b", "2")]
    assert reasons(records) == [(False, "quiet"), (True, "loaded")]


def test_offers_that_are_not_taken_bound_the_threshold(cli, tmp_path):
    """Else it would come down each time: only turns on which push speaks can be unclear."""
    ignored = [turn(f"u{n}", 0.97, ["y"]) for n in range(30)]
    path = written(tmp_path / "t.jsonl", [*hundred(), *ignored])
    document = cli("calibrate", "--from", path, "--out", tmp_path / "c.json", "--json").json
    assert document["turns"]["unclear"] == 30
    assert document["turns"]["known"] == 119
    assert document["threshold"] > 0.97
    assert document["false_before"]["n"] == 99 + 30


def hundred():
    """99 turns that need nothing with confidence .01 to .99, and 20 that need a skill at .9."""
    none = [turn(f"n{n}", n / 100, ["x"] if n >= 50 else []) for n in range(1, 100)]
    need = [record for n in range(20) for record in (turn(f"y{n}", 0.9, ["y"]), load("y", f"y{n}"))]
    return [*none, *need]


def test_the_threshold_leaves_the_share_that_is_allowed(cli, tmp_path):
    """(k + 1) / (n + 1) <= .05 with n = 99: four may be spoken on, .96 and above."""
    traces, out = written(tmp_path / "t.jsonl", hundred()), tmp_path / "c.json"
    document = cli("calibrate", "--from", traces, "--out", out, "--json").json
    assert document == json.loads(out.read_text("utf-8"))
    assert document["threshold"] == pytest.approx(0.95, abs=1e-5)
    assert document["threshold"] > 0.95
    assert document["false_before"]["hits"] == 50
    assert document["false_after"]["hits"] == 4
    assert (document["advised_before"]["hits"], document["advised_after"]["hits"]) == (20, 0)
    assert (document["silenced"], document["awakened"]) == (46 + 20, 0)
    assert document["turns"]["known"] == 119
    assert sum(share["n"] for _, _, share in document["reliability"]) == 119


@pytest.mark.parametrize("share", [0.05, 0.1, 0.3])
def test_new_turns_like_the_recorded_ones_are_spoken_on_as_seldom_as_asked(cli, tmp_path, share):
    """The promise of the quantile: over many draws, the mean false-push share is at most that."""
    seen = []
    for seed in range(60):
        draw = random.Random(seed)
        none = [turn(f"n{n}", round(draw.gauss(0, 1), 6), ["x"]) for n in range(60)]
        path = written(tmp_path / f"{seed}.jsonl", [*none, turn("z", 9.0, ["x"])])
        options = ("--max-false-push", share, "--out", tmp_path / "c.json", "--json")
        threshold = cli("calibrate", "--from", path, *options).json["threshold"]
        fresh = [draw.gauss(0, 1) for _ in range(400)]
        seen.append(sum(c >= threshold for c in fresh) / len(fresh))
    mean = sum(seen) / len(seen)
    assert mean <= share + 0.01
    assert mean >= share / 3  # and not by never speaking


def test_the_screen_says_what_changes_and_how_to_use_it(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = cli("calibrate", "--from", written(tmp_path / "t.jsonl", hundred()))
    assert (result.code, result.err) == (0, "")
    text = " ".join(result.out.split())
    for words in (
        "119 decided turns in mode bm25",
        "0.5 -> 0.95",
        "50 of 99 (50.5%",
        "-> 4 of 99 (4.0%",
        "66 turns fall silent, 0 get advice",
        'calibrated_gate("calibration.json")',
    ):
        assert words in text
    assert (tmp_path / "calibration.json").is_file()


@pytest.mark.parametrize(
    ("records", "options", "words"),
    [
        ([], (), "no decided turn"),
        ([turn("1", 0.1)], (), "Too few turns"),
        ([turn(f"{n}", 0.1) for n in range(50)], ("--max-false-push", "0.01"), "99 are needed"),
        (hundred(), ("--max-false-push", "0"), "above 0"),
        (hundred(), ("--max-false-push", "nan"), "above 0"),
        (hundred(), ("--mode", "dense"), "No turn was decided in mode 'dense'"),
    ],
)
def test_what_says_too_little_is_refused_and_nothing_is_written(
    cli, tmp_path, records, options, words
):
    out = tmp_path / "c.json"
    result = cli("calibrate", "--from", written(tmp_path / "t", records), "--out", out, *options)
    assert (result.code, result.out) == (2, "")
    assert words in result.err
    assert not out.exists()


def test_missing_files_and_wrong_labels_are_errors(cli, tmp_path):
    assert "cannot be read" in cli("calibrate", "--from", tmp_path / "none").err
    traces = written(tmp_path / "t", hundred())
    labels = written(tmp_path / "l", [{"turn": "n1", "need": "yes"}])
    result = cli("calibrate", "--from", traces, "--labels", labels, "--out", tmp_path / "c")
    assert result.code == 2 and f"{labels}:1" in result.err


def test_notes_tell_what_was_left_out(cli, tmp_path, example_skills):
    records = [*hundred(), turn("other", 0.4, mode="dense"), {"schema": 9}]
    labels = written(tmp_path / "l", [{"turn": "nobody", "need": True}])
    options = ("--labels", labels, "--out", tmp_path / "c", "--skills", example_skills)
    result = cli("calibrate", "--from", written(tmp_path / "t", records), *options)
    assert result.code == 0
    for words in (
        "1 lines of",
        "1 labels are of turns that were not recorded",
        "1 turns of other modes",
        "119 of 119 turns were decided over another state",
    ):
        assert words in " ".join(result.err.split())


def recorded(path, skills):
    """The example conversations, played to an agent that loads what it is labelled to need."""
    with SkillCue(skills, mode="bm25", traces=path) as cue:
        for round_number in range(2):
            for talk in sorted((EXAMPLES / "conversations").glob("*.json")):
                messages = []
                for message in json.loads(talk.read_text("utf-8"))["messages"]:
                    text = f"{message['content']} {'now' * round_number}".strip()
                    messages.append({"role": message["role"], "content": text})
                    if message["role"] == "user":
                        cue.advise(messages)
                        for name in message["expect"]:
                            cue.tools().load(name, messages=messages)
    return path


def test_from_recording_to_a_push_that_keeps_to_it(cli, tmp_path, example_skills):
    traces, out = recorded(tmp_path / "t.jsonl", example_skills), tmp_path / "c.json"
    options = ("--max-false-push", 0.2, "--out", out, "--skills", example_skills, "--json")
    result = cli("calibrate", "--from", traces, *options)
    document = result.json
    assert result.err == ""  # the library is the one that was recorded
    assert document["turns"]["loaded"] > 10
    assert document["false_after"]["hits"] <= 0.2 * document["false_after"]["n"]
    gate = calibrated_gate(out)
    spoken = []
    messages = [{"role": "user", "content": "Fill in the visa form, it is a PDF"}]
    for push in (PushSettings(), PushSettings(gate=gate)):
        with SkillCue(example_skills, mode="bm25", push=push) as cue:
            spoken.append(cue.advise(messages).threshold)
    assert spoken[1] == pytest.approx(document["threshold"])
    assert spoken[0] != spoken[1]


def test_labels_name_turns_by_their_ids(cli, tmp_path, example_skills):
    traces = recorded(tmp_path / "t.jsonl", example_skills)
    talk = json.loads((EXAMPLES / "conversations" / "office-odds.json").read_text("utf-8"))
    messages = [{"role": m["role"], "content": m["content"]} for m in talk["messages"]]
    ids = turn_ids(messages)
    labels = written(tmp_path / "l", [{"turn": name, "need": True} for name in ids])
    options = ("--max-false-push", 0.2, "--labels", labels, "--out", tmp_path / "c", "--json")
    result = cli("calibrate", "--from", traces, *options)
    assert "not recorded" not in result.err
    assert result.json["turns"]["label"] + result.json["turns"]["named"] >= len(ids) - 2


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": "skillcue-calibration", "version": 99, "gate": {}}']
)
def test_a_file_that_is_no_calibration_is_an_error(tmp_path, text):
    path = tmp_path / "c.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigurationError, match="is no calibration"):
        calibrated_gate(path)
    with pytest.raises(ConfigurationError, match="is no calibration"):
        calibrated_gate(tmp_path / "none.json")


def test_intervals_are_wilsons():
    """From Wilson's formula, worked out by hand for 1 of 10."""
    share = wilson(1, 10)
    assert (share.low, share.high) == (
        pytest.approx(0.0179, abs=1e-4),
        pytest.approx(0.4042, abs=1e-4),
    )
    assert (wilson(0, 0).low, wilson(0, 0).high) == (0.0, 1.0)
