"""Push on labelled conversations: what is read, what is counted, and what is refused."""

from __future__ import annotations

import json
import random
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.browser import Browser, find_chromium
from support.evaluations import CORPUS, HOSTILE, write_lines

from skillcue.cli import main
from skillcue.evaluation.conversations import Label
from skillcue.evaluation.conversations_measures import PushScores
from skillcue.evaluation.conversations_report import PARTS
from skillcue.evaluation.conversations_run import TurnOutcome
from skillcue.pages.render import page_script

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CHROMIUM = find_chromium()
READY = "document.documentElement.dataset.ready === 'yes'"
BREAD = "Please bake bread with yeast and knead dough"
TAXES = "fill in a tax return and collect receipts"


def label(group, *gold, kind="new_task", also_ok=()):
    return {
        "need": group == "need",
        "already_given": group == "given",
        "gold": list(gold),
        "also_ok": list(also_ok),
        "kind": kind,
    }


def user(text, group="none", *gold, **more):
    return {"role": "user", "text": text, "label": label(group, *gold, **more)}


def answer(text="Done."):
    return {"role": "assistant", "text": text}


TALKS = [
    {
        "_id": "baking",
        "turns": [
            user(BREAD, "need", "g/bread"),
            answer(),
            user("thanks a lot", kind="ack"),
            answer(),
            user("bake bread with yeast once more", "given", "g/bread", kind="follow_up"),
        ],
    },
    {
        "_id": "taxes",
        "turns": [
            user("who wrote Faust?", kind="general_knowledge"),
            answer(),
            user(TAXES, "need", "g/taxes"),
            {"role": "tool", "name": "bash", "text": "ok"},
            answer(),
            user("tyres of a car changed", kind="off_topic"),  # a false push, by its label
        ],
    },
]


@dataclass(frozen=True)
class Result:
    """What the command said."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def cli(capsys, monkeypatch):
    """Run a command in this process."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        return Result(code, *capsys.readouterr())

    return run


@pytest.fixture
def talks(tmp_path):
    """A folder with three skills and two conversations."""
    write_lines(tmp_path / "talks" / "corpus.jsonl", CORPUS)
    write_lines(tmp_path / "talks" / "talks.jsonl", TALKS)
    return tmp_path / "talks"


SPEAK = ("--max-false-push", 1)
"""Speaks whenever anything is found, whatever the constants of the gate are."""


def evaluated(cli, folder, *options):
    return cli("eval", folder, "--modes", "bm25", "--json", "-", *options).json


def outcome(
    conversation,
    group,
    score,
    *,
    first="",
    offered=(),
    at_hand=(),
    repeated=(),
    always=False,
    confidence=None,
):
    lb = Label(
        group == "need",
        frozenset({"gold"}) if group != "none" else frozenset(),
        group == "given",
        "k",
    )
    return TurnOutcome(
        conversation,
        1,
        "text",
        lb,
        score if confidence is None else confidence,
        score,
        first,
        always,
        tuple(offered),
        frozenset(at_hand),
        frozenset(repeated),
        0.5,
        None,
    )


def test_groups_are_counted_apart(cli, talks):
    document = evaluated(cli, talks, *SPEAK)
    data, [mode] = document["dataset"], document["modes"]
    assert (data["turns"], data["need"], data["given"], data["none"]) == (6, 2, 1, 3)
    by_text = {turn["text"]: turn["modes"]["bm25"] for turn in document["turns"]}
    assert by_text[BREAD]["right_first"] and by_text[TAXES]["right_first"]
    assert by_text["thanks a lot"]["offered"] == []
    assert by_text["thanks a lot"]["score"] is None  # nothing was found that the gate could judge
    assert by_text[BREAD]["score"] > by_text["tyres of a car changed"]["score"]
    at = mode["at_setting"]
    assert (at["advised"]["mean"], at["advised"]["n"]) == (1.0, 2)
    assert (at["false_pushes"]["mean"], at["false_pushes"]["n"]) == (pytest.approx(1 / 3), 3)
    assert at["given_repeats"] == {"mean": 0.0, "low": 0.0, "high": 0.0, "n": 1}
    kinds = {
        (k["kind"], k["group"]): (k["n"], k["advised"], k["right_first"]) for k in mode["kinds"]
    }
    assert kinds["new_task", "need"] == (2, 2, 2)
    assert kinds["off_topic", "none"] == (1, 1, 0)


def test_table_json_and_page_say_the_same(cli, talks, tmp_path):
    page = tmp_path / "push.html"
    result = cli("eval", talks, "--modes", "bm25,skillsight", "--html", page)
    assert (result.code, result.err) == (0, "")
    assert "2 conversations, 6 user turns: 2 need a skill" in " ".join(result.out.split())
    for words in ("AUC", "at 5%", "at 10%", "right first", "general_knowledge", "skillsight"):
        assert words in result.out
    assert page.read_text("utf-8").startswith("<!doctype html>")


def test_equal_input_gives_an_equal_document(cli, talks):
    documents = [evaluated(cli, talks) for _ in range(2)]
    for document in documents:
        document.pop("measured")
        document["modes"][0].pop("times")
    assert documents[0] == documents[1]


def test_the_curve_counts_a_skill_as_supplied_whatever_push_said(cli, tmp_path):
    """A turn whose skill the labels call supplied finds it at hand, even if push was silent."""
    turns = [
        user("yeast", "need", "g/bread"),
        answer(),
        user(BREAD, "given", "g/bread", kind="follow_up"),
    ]
    write_lines(tmp_path / "t" / "corpus.jsonl", CORPUS)
    write_lines(tmp_path / "t" / "talks.jsonl", [{"_id": "c", "turns": turns}])
    document = evaluated(cli, tmp_path / "t")
    second = document["turns"][1]["modes"]["bm25"]
    assert second["first"] != "bread"


def test_requests_are_conversations_of_one_turn(cli, tmp_path):
    write_lines(tmp_path / "r" / "corpus.jsonl", CORPUS)
    requests = [
        {"_id": "1", "text": BREAD, "gold": ["g/bread"], "also_ok": [], "style": "goal"},
        {"_id": "2", "text": TAXES, "gold": ["g/tyres"], "also_ok": ["g/taxes"]},
    ]
    path = write_lines(tmp_path / "r" / "requests.jsonl.gz", requests)
    document = evaluated(cli, path, *SPEAK)
    [mode] = document["modes"]
    assert mode["auc"]["mean"] is None and mode["curve"] == []
    assert mode["at_setting"]["false_pushes"] == {"mean": None, "low": None, "high": None, "n": 0}
    assert mode["at_setting"]["right_first"]["mean"] == 1.0
    assert [k["kind"] for k in mode["kinds"]] == ["goal", "request"]


def test_skills_may_stand_in_folders_and_corpora_elsewhere(cli, talks, tmp_path, example_skills):
    alone = write_lines(tmp_path / "alone" / "talks.jsonl", TALKS)
    assert evaluated(cli, alone, "--corpus", talks / "corpus.jsonl")["dataset"]["skills"] == 3
    named = [{"_id": "c", "turns": [user("fill in a pdf form", "need", "pdf-form-filling")]}]
    path = write_lines(tmp_path / "named" / "talks.jsonl", named)
    document = evaluated(cli, path, "--skills", example_skills)
    assert document["turns"][0]["right"] == ["pdf-form-filling"]


def test_the_examples_name_their_library(cli, tmp_path):
    """A file put beside the labelled conversations needs no --skills."""
    folder = EXAMPLES / "conversations" / "labelled"
    named = [{"_id": "c", "turns": [user("fill in a pdf form", "need", "pdf-form-filling")]}]
    write_lines(tmp_path / "conversations" / "labelled" / "talks.jsonl", named)
    shutil.copy(folder / "dataset.json", tmp_path / "conversations" / "labelled")
    (tmp_path / "skills").symlink_to(EXAMPLES / "skills")
    document = evaluated(cli, tmp_path / "conversations" / "labelled")
    assert document["dataset"]["skills"] >= 48


@pytest.mark.parametrize(
    ("turns", "words"),
    [
        ([], "list of messages"),
        ([{"role": "user", "text": "x"}], "has no label"),
        ([{"role": "boss", "text": "x"}], "no role"),
        ([{"role": "user"}], "has no text"),
        ([user("x", "need", "g/braed")], "g/bread"),
        ([user("x", "need")], "given already, or none"),
        ([answer()], "no labelled user turn"),
    ],
)
def test_wrong_conversations_are_errors(cli, tmp_path, turns, words):
    write_lines(tmp_path / "t" / "corpus.jsonl", CORPUS)
    write_lines(tmp_path / "t" / "talks.jsonl", [{"_id": "c", "turns": turns}])
    result = cli("eval", tmp_path / "t", "--modes", "bm25")
    assert (result.code, result.out) == (2, "")
    assert words in result.err
    assert "Traceback" not in result.err


def test_an_id_that_comes_twice_is_an_error(cli, tmp_path):
    write_lines(tmp_path / "t" / "corpus.jsonl", CORPUS)
    write_lines(tmp_path / "t" / "talks.jsonl", [TALKS[0], TALKS[0]])
    result = cli("eval", tmp_path / "t", "--modes", "bm25")
    assert result.code == 2 and "comes twice" in result.err


def test_the_area_is_the_share_of_pairs_in_order():
    """Against the definition, on draws with ties."""
    draw = random.Random(3)
    outcomes = [
        outcome(f"c{n % 7}", draw.choice(["need", "none", "given"]), draw.randrange(6) / 5)
        for n in range(60)
    ]
    need = [o.score for o in outcomes if o.label.group == "need"]
    none = [o.score for o in outcomes if o.label.group == "none"]
    pairs = [(a > b) + (a == b) / 2 for a in need for b in none]
    scores = PushScores(outcomes)
    area = scores.auc()
    assert area["mean"] == pytest.approx(sum(pairs) / len(pairs))
    assert area["low"] < area["mean"] < area["high"]
    for point in scores.at_false_shares():
        best = 0.0
        for threshold in {*need, *none}:
            if sum(c >= threshold for c in none) / len(none) <= point["false"]:
                best = max(best, sum(c >= threshold for c in need) / len(need))
        assert point["advised"]["mean"] == pytest.approx(best)


def test_the_curve_ends_at_everything_and_named_skills_stand_at_its_start():
    outcomes = [
        outcome("a", "need", 0.1, first="gold", always=True),
        outcome("a", "none", 0.9),
        outcome("b", "need", 0.5, first="other"),
        outcome("b", "none", 0.2),
    ]
    curve = PushScores(outcomes).curve()
    assert (curve[0]["false"], curve[0]["advised"], curve[0]["right_first"]) == (0.0, 0.5, 1.0)
    assert (curve[-1]["false"], curve[-1]["advised"], curve[-1]["right_first"]) == (1.0, 1.0, 0.5)


def test_turns_of_equal_confidence_are_told_apart_by_their_scores():
    """Confidence ends at the highest calibration turn; what lies above it is still ordered."""
    outcomes = [
        outcome("a", "need", 9.0, confidence=0.9975),
        outcome("a", "none", 5.0, confidence=0.9975),
        outcome("b", "need", 1.0, confidence=0.5),
        outcome("b", "none", None, confidence=0.0),  # the gate was not asked
    ]
    scores = PushScores(outcomes)
    assert scores.auc()["mean"] == 0.75
    points = [(p["threshold"], p["false"], p["advised"]) for p in scores.curve()]
    assert points == [(0.9975, 0, 0.5), (0.9975, 0.5, 0.5), (0.5, 0.5, 1), (0, 1, 1)]


def test_needed_turns_at_hand_are_counted_apart():
    outcomes = [
        outcome("a", "need", 3, first="gold", offered=["gold"]),
        outcome("a", "need", 1, at_hand=["gold"]),
        outcome("b", "need", 2, offered=["other"], at_hand=["gold"]),
        outcome("b", "need", 1),
        outcome("c", "given", 1, at_hand=["gold"]),
        outcome("c", "none", 0),
    ]
    scores = PushScores(outcomes)
    at = scores.at_setting()
    assert (at["advised"]["mean"], at["advised"]["n"]) == (0.5, 2)
    assert (at["right_first"]["mean"], at["right_first"]["n"]) == (1.0, 1)
    assert (at["right_offered"]["mean"], at["right_offered"]["n"]) == (1.0, 1)
    assert (at["at_hand"]["mean"], at["at_hand"]["n"]) == (0.5, 4)
    assert (at["at_hand_others"]["mean"], at["at_hand_others"]["n"]) == (0.5, 2)
    assert [(k["group"], k["n"], k["advised"], k["at_hand"]) for k in scores.kinds()] == [
        ("given", 1, 0, 0),
        ("need", 4, 1, 2),
        ("none", 1, 0, 0),
    ]
    assert scores.curve()[-1]["advised"] == 1.0  # which counts skills as the labels do


RIVALS = [
    {"_id": "g/loaf", "title": "loaf", "text": "Bake bread with yeast and knead dough"},
    {"_id": "g/dough", "title": "dough", "text": "Bake bread with yeast and knead dough daily"},
    *CORPUS[1:],
]


@pytest.fixture
def rivals(tmp_path):
    """A conversation that needs a skill after push has named it as a runner-up."""
    turns = [
        user(BREAD, "need", "g/loaf"),
        answer(),
        user("once more, knead dough daily", "need", "g/dough", kind="follow_up"),
    ]
    write_lines(tmp_path / "rivals" / "corpus.jsonl", RIVALS)
    write_lines(tmp_path / "rivals" / "talks.jsonl", [{"_id": "c", "turns": turns}])
    return tmp_path / "rivals"


def test_a_runner_up_that_is_needed_later_is_at_hand(cli, rivals, tmp_path):
    document = evaluated(cli, rivals, *SPEAK)
    first, second = (turn["modes"]["bm25"] for turn in document["turns"])
    assert set(first["offered"]) == {"loaf", "dough"} and first["at_hand"] == []
    assert second["at_hand"] == ["dough"]
    at = document["modes"][0]["at_setting"]
    assert (at["advised"]["n"], at["at_hand"]["mean"]) == (1, 0.5)
    words = " ".join(cli("eval", rivals, "--modes", "bm25", *SPEAK).out.split())
    assert "1 of 2" in words and "0 (0 right, 1 at hand)" in words


def test_max_false_push_is_the_setting_of_the_gate(cli, talks):
    for share, spoken in ((0, 0), (1, 3)):
        document = evaluated(cli, talks, "--max-false-push", share)
        assert document["settings"]["gate"]["max_false_push"] == share
        [mode] = document["modes"]
        assert mode["threshold"] == 1 - share
        assert sum(kind["advised"] for kind in mode["kinds"]) == spoken
    shown = cli("eval", talks, "--modes", "bm25", "--max-false-push", 0.1)
    assert "max_false_push 0.1" in " ".join(shown.out.split())


@pytest.mark.parametrize("share", ["1.5", "-0.1", "nan"])
def test_a_share_out_of_range_is_an_error(cli, talks, share):
    result = cli("eval", talks, f"--max-false-push={share}")
    assert (result.code, result.out) == (2, "")
    assert "Use a share from 0 to 1." in result.err


def test_max_false_push_means_nothing_for_queries(cli):
    result = cli("eval", EXAMPLES / "evaluation", "--max-false-push", "0.1")
    assert (result.code, result.out) == (2, "")
    assert "is for labelled conversations" in result.err
    assert "Leave it out" in result.err


def test_repeats_late_hits_and_other_skills_on_given_turns():
    outcomes = [
        outcome("a", "given", 1, offered=["gold"], repeated=["gold"]),
        outcome("b", "given", 1, offered=["gold"]),
        outcome("c", "given", 1, offered=["other"]),
        outcome("d", "given", 1),
    ]
    at = PushScores(outcomes).at_setting()
    shares = [at[name]["mean"] for name in ("given_repeats", "given_late", "given_others")]
    assert shares == [0.25, 0.25, 0.25]
    assert at["false_pushes"]["n"] == 0


def test_intervals_are_wider_when_turns_of_a_conversation_agree():
    """Twenty turns in two conversations are two draws, not twenty."""
    few = [outcome(f"c{n // 10}", "none", n // 10, offered=["x"] * (n // 10)) for n in range(20)]
    many = [outcome(f"c{n}", "none", n // 10, offered=["x"] * (n // 10)) for n in range(20)]
    spans = []
    for outcomes in (few, many):
        share = PushScores(outcomes).at_setting()["false_pushes"]
        assert share["mean"] == 0.5
        spans.append(share["high"] - share["low"])
    assert spans[0] == 1.0 > spans[1]


needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium: apt-get install chromium, or set CHROMIUM=/path"
)


@needs_browser
def test_the_page_is_drawn_and_single_turns_can_be_read(cli, talks, tmp_path):
    path = tmp_path / "push.html"
    cli("eval", talks, "--modes", "bm25,skillsight", "--html", path)
    with Browser(CHROMIUM) as browser:
        page = browser.open(path)
        page.wait_for(READY)
        page.wait_for("document.querySelector('[data-plot=curve] svg') !== null")
        assert page.evaluate("document.querySelectorAll('svg .curve').length") == 2
        assert page.evaluate("document.querySelectorAll('svg .setting').length") == 2
        page.hover(*page.middle("[data-plot=curve] svg"))
        assert "false pushes" in page.evaluate("document.getElementById('tip').innerText")
        page.evaluate(
            "(() => { const s = document.querySelector('select[aria-label=what]');"
            " s.value = 'false push'; s.dispatchEvent(new Event('change')); })()"
        )
        assert page.evaluate("document.querySelectorAll('#turns details').length") == 1
        page.click(*page.middle("#turns summary"))
        page.wait_for("document.querySelector('#turns blockquote') !== null")
        assert "tyres of a car" in page.evaluate("document.querySelector('#turns').innerText")
        page.resize(360, 740)
        page.wait_for("document.querySelector('[data-plot=curve] svg').clientWidth <= 340")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.errors == []
        assert page.requests == [path.resolve().as_uri()]


@needs_browser
def test_the_page_shows_turns_at_hand_apart(cli, rivals, tmp_path):
    path = tmp_path / "rivals.html"
    cli("eval", rivals, "--modes", "bm25", "--html", path, *SPEAK)
    with Browser(CHROMIUM) as browser:
        page = browser.open(path)
        page.wait_for(READY)
        text = page.evaluate("document.querySelector('main').innerText")
        assert "1 needed turn at hand, named by push earlier" in text
        found = {}
        for what in ("missed", "at hand"):
            page.evaluate(
                "(() => { const s = document.querySelector('select[aria-label=what]');"
                f" s.value = '{what}'; s.dispatchEvent(new Event('change')); }})()"
            )
            found[what] = page.evaluate("document.querySelectorAll('#turns details').length")
        assert found == {"missed": 0, "at hand": 1}
        page.click(*page.middle("#turns summary"))
        page.wait_for("document.querySelector('#turns blockquote') !== null")
        assert "at hand dough" in page.evaluate("document.querySelector('#turns').innerText")
        assert page.errors == []


@needs_browser
def test_hostile_texts_in_the_page_do_nothing(cli, tmp_path):
    skill = {"_id": f"id{HOSTILE}", "title": f"name{HOSTILE}", "text": f"bread yeast {HOSTILE}"}
    write_lines(tmp_path / "h" / "corpus.jsonl", [skill])
    turns = [
        user(f"bread yeast {HOSTILE}", "need", f"id{HOSTILE}", kind=HOSTILE),
        user(HOSTILE, kind=HOSTILE),
    ]
    write_lines(tmp_path / "h" / "talks.jsonl", [{"_id": HOSTILE, "turns": turns}])
    path = tmp_path / "h.html"
    assert cli("eval", tmp_path / "h", "--modes", "bm25", "--html", path).code == 0
    with Browser(CHROMIUM) as browser:
        page = browser.open(path)
        page.wait_for(READY)
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        assert page.evaluate("typeof window.hacked") == "undefined"
        assert page.evaluate("document.querySelectorAll('img').length") == 0
        assert page.errors == []


def test_the_page_makes_no_markup_of_text():
    script = page_script(PARTS)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", script)
    assert not re.search(r"\bfetch\(|XMLHttpRequest|import\(|WebSocket|sendBeacon", script)


def test_the_page_holds_no_more_turns_than_it_says(monkeypatch, cli, talks, tmp_path):
    from skillcue.evaluation import conversations_report

    monkeypatch.setattr(conversations_report, "TURNS_SHOWN", 2)
    document = evaluated(cli, talks)
    page = conversations_report.render_push_report(document)
    shown = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    assert len(shown["turns"]) == 2
    assert "first 2 of 6" in shown["report_notes"][0]
