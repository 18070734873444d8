"""``skillcue eval``: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.evaluations import CORPUS, QRELS, QUERIES, write_lines, write_qrels

pytest.importorskip("ir_measures")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "evaluation"


@pytest.fixture
def data(tmp_path):
    """Three skills, three queries, and distractors."""
    folder = tmp_path / "data"
    write_lines(folder / "corpus.jsonl", CORPUS)
    write_lines(folder / "queries-dev.jsonl", QUERIES)
    write_qrels(folder / "qrels-dev.tsv", QRELS)
    write_lines(
        folder / "market.jsonl.gz", ({"_id": f"d{n}", "text": f"Thing {n}."} for n in range(9))
    )
    return folder


def test_the_command_of_the_readme(cli, tmp_path):
    report = tmp_path / "report.html"
    result = cli("eval", EXAMPLES, "--modes", "bm25,skillsight", "--html", report)
    assert (result.code, result.err) == (0, "")
    for words in ("48 skills; 54 queries", "echo rate: ", "skillsight against bm25", "n = 54"):
        assert words in result.out
    for heading in ("R@5", "hit@1", "hit@5", "nDCG@10", "MRR", "p50", "p95", "McNemar", "verdict"):
        assert heading in result.out
    assert "all descriptions and bodies" in result.out
    assert report.read_text("utf-8").startswith("<!doctype html>")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_json_to_stdout_and_to_a_file_are_the_same(cli, data, tmp_path):
    options = ("eval", data, "--split", "dev", "--modes", "bm25")
    printed = cli(*options, "--json", "-")
    assert cli(*options, "--json", tmp_path / "out.json").code == 0
    documents = [printed.json, json.loads((tmp_path / "out.json").read_text("utf-8"))]
    for document in documents:
        document.pop("measured")
        document["modes"][0].pop("times")
    assert documents[0] == documents[1]
    assert documents[0]["modes"][0]["means"]["R@5"]["mean"] == 1.0


def test_pool_field_and_bodies(cli, data):
    options = ("eval", data, "--split", "dev", "--modes", "bm25", "--json", "-")
    whole = cli(*options, "--pool", "9", "--field", "short")
    assert whole.json["dataset"]["skills"] == 9
    assert whole.json["dataset"]["distractors"] == 6
    assert whole.json["queries"][0]["text"] == "bread"
    assert "note: The judged skills have bodies and the distractors have none" in whole.err
    heads = cli(*options, "--pool", "9", "--bodies", "none")
    assert heads.err == ""
    assert heads.json["dataset"]["with_bodies"] == 0
    assert heads.json["settings"]["bodies"] == "none"


def test_the_baseline_is_the_first_mode_or_the_one_that_is_named(cli, data):
    options = ("eval", data, "--split", "dev", "--modes", "bm25,dense", "--encoder", "static")
    for more, pair in ((), ("dense", "bm25")), (("--baseline", "dense"), ("bm25", "dense")):
        (found,) = cli(*options, *more, "--json", "-").json["comparisons"]
        assert (found["mode"], found["baseline"]) == pair
        assert found["measures"]["R@5"]["verdict"] == "too few queries"


def test_settings_of_a_mode(cli, data):
    options = ("eval", data, "--split", "dev", "--modes", "bm25", "--json", "-")
    fingerprints = set()
    for weight in ("0", "0.9"):
        document = cli(*options, "--setting", f"bm25.body_weight={weight}").json
        assert document["settings"]["mode_settings"] == {"bm25": {"body_weight": float(weight)}}
        fingerprints.add(document["modes"][0]["fingerprint"])
    assert len(fingerprints) == 2


def test_what_a_reader_should_know_is_said(cli, data):
    lines = [*QUERIES[:2], {"_id": "q3", "text": "xyzzy"}, {"_id": "q4", "text": "bread"}]
    write_lines(data / "queries-dev.jsonl", lines)
    result = cli("eval", data, "--split", "dev", "--modes", "bm25")
    assert result.code == 0
    assert "note: 1 query without a judgment, in no mean: q4" in result.err
    assert "note: bm25 found nothing for 1 query, which count as 0: q3" in result.err
    assert "3 queries" in result.out


def test_outcomes_add_the_helpfulness_gap(cli, data, tmp_path):
    write_qrels(data / "qrels-dev.tsv", [*QRELS[:2], ("q3", "g/bread", 1)])
    runs = write_lines(
        tmp_path / "runs.jsonl",
        [{"query": q, "reward": reward} for q, reward in (("q1", 1), ("q2", 0.5), ("q3", 0))],
    )
    options = ("eval", data, "--split", "dev", "--modes", "bm25", "--outcomes", runs)
    result = cli(*options, "--k", "1")
    assert "helpfulness gap" in result.out
    assert "+.750" in result.out
    assert "2/1" in result.out
    assert "too few queries to say" in " ".join(result.out.split())
    (gap,) = cli(*options, "--k", "1", "--json", "-").json["gaps"]
    assert (gap["found"], gap["missed"], gap["interval"]["mean"]) == (2, 1, 0.75)


def test_skills_of_a_folder(cli, tmp_path, example_skills):
    write_lines(tmp_path / "queries.jsonl", [{"_id": "q", "text": "fill in a pdf form"}])
    write_qrels(tmp_path / "qrels.tsv", [("q", "pdf-form-filling", 1)])
    options = ("eval", tmp_path, "--modes", "bm25", "--json", "-")
    result = cli(*options, "--skills", example_skills)
    assert result.json["dataset"]["files"]["corpus"] == "skills"
    assert result.json["queries"][0]["modes"]["bm25"]["gold_ranks"] == {
        result.json["queries"][0]["gold"][0]["id"]: 1
    }
    assert str(tmp_path) not in result.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--modes", "bm52"], "Unknown skill mode 'bm52'."),
        (["--modes", ","], "--modes names no mode."),
        (["--modes", "bm25,bm25"], "names a mode twice"),
        (["--baseline", "hybrid"], "--baseline hybrid is not among the modes bm25, skillsight."),
        (["--k", "0"], "--k is 0."),
        (["--setting", "bm25.k1"], "--setting 'bm25.k1' is no MODE.NAME=VALUE."),
        (["--setting", "bm25.k2=1"], "Unknown setting 'k2'."),
        (["--setting", "bm25.k1=high"], "Setting 'k1' of mode 'bm25' cannot be 'high'."),
        (["--setting", "bm52.k1=1"], "Unknown skill mode 'bm52'."),
        (["--encoder", "minlim"], "Unknown encoder 'minlim'."),
        (["--html", "nowhere/report.html"], "there is no such folder"),
        (["--split", "test"], "There are no queries in"),
        (["--field", "shrot"], "queries-dev.jsonl:1: there is no 'shrot'."),
        (["--pool", "13"], "The pool should have 13 skills"),
        (["--skills", "nowhere"], "nowhere"),
        (["--outcomes", "nowhere.jsonl"], "cannot be read"),
        (["--cache", "market"], "is a file"),
    ],
)
def test_wrong_usage_is_explained(cli, data, monkeypatch, options, said):
    monkeypatch.chdir(data)
    (data / "market").write_text("")
    result = cli("eval", data, "--split", "dev", *options)
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert len(result.err.splitlines()) >= 2  # the cure


def test_a_dataset_that_is_none(cli, tmp_path):
    assert "is no folder" in cli("eval", tmp_path / "nowhere").err
    result = cli("eval", tmp_path)
    assert (result.code, result.out) == (2, "")
    assert "There is no corpus.jsonl" in result.err


WITHOUT = """
import sys
sys.modules["ir_measures"] = None
from skillcue.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_without_the_extra_the_install_line_comes_before_the_work(process, data):
    for dataset in (data, data / "nowhere"):  # not even looked for
        result = process("eval", dataset, "--split", "dev", code=WITHOUT)
        assert (result.code, result.out) == (2, "")
        assert "ir_measures is not installed." in result.err
        assert 'pip install "skillcue[eval]"' in result.err


def test_asking_for_help_loads_no_measure_library(process):
    code = (
        "import sys; from skillcue.cli import main; main(['eval', '--help'])\n"
        "assert not {'ir_measures', 'numpy', 'rich', 'scipy'} & set(sys.modules)"
    )
    assert process(code=code).code == 0


def test_a_bar_on_a_terminal_and_none_elsewhere(terminal, cli, data):
    options = ("eval", data, "--split", "dev", "--modes", "bm25")
    assert "asking bm25" in terminal(*options).out
    assert "asking bm25" not in terminal(*options, "--no-progress").out
    assert "asking" not in cli(*options).err


def test_an_existing_report_is_replaced_and_may_be_read_by_others(cli, data, tmp_path):
    report = tmp_path / "report.html"
    report.write_text("old")
    before = os.umask(0o022)
    try:
        cli("eval", data, "--split", "dev", "--modes", "bm25", "--html", report)
    finally:
        os.umask(before)
    assert report.read_text("utf-8").startswith("<!doctype html>")
    assert report.stat().st_mode & 0o777 == 0o644


def test_half_characters_in_the_data_reach_all_outputs(cli, data, tmp_path):
    write_lines(data / "queries-dev.jsonl", [{"_id": "q1", "text": "bread \ud800"}])
    write_qrels(data / "qrels-dev.tsv", [("q1", "g/bread", 1)])
    where = ("--json", tmp_path / "out.json", "--html", tmp_path / "out.html")
    assert cli("eval", data, "--split", "dev", "--modes", "bm25", *where).code == 0
    document = json.loads((tmp_path / "out.json").read_text("ascii"))
    assert document["queries"][0]["text"] == "bread \ud800"
    assert "bread \\ud800" in (tmp_path / "out.html").read_text("utf-8")


def test_narrow_terminals(cli, data, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    result = cli("eval", data, "--split", "dev", "--modes", "bm25,skillsight")
    assert result.code == 0
    assert max(map(len, result.out.splitlines())) <= 40
