"""``skillcue eval`` with modes that ask a language model: what they took is measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.asking_mode import openai_server
from support.evaluations import CORPUS, QRELS, QUERIES, write_lines, write_qrels
from support.refining import command

pytest.importorskip("ir_measures")

USAGE = {"prompt_tokens": 1000, "completion_tokens": 100}
BASE = ("--setting", 'expand.base="bm25"', "--setting", 'refine.base="bm25"')


def said(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": USAGE}


def variants(*texts: str) -> dict[str, Any]:
    return said(json.dumps({"variants": texts}))


REWORDED = variants("knead a dough", "collect what I paid")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    write_lines(folder / "corpus.jsonl", CORPUS)
    write_lines(folder / "queries.jsonl", QUERIES)
    write_qrels(folder / "qrels.tsv", QRELS)
    return folder


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    """One conversation: a turn that needs a skill and one that needs none."""
    kinds = {"new_task": ["g/bread"], "ack": []}
    texts = ("Please bake bread with yeast and knead dough", "thanks a lot")
    turns = [
        {
            "role": "user", "text": text,
            "label": {
                "need": bool(gold), "already_given": False, "gold": gold, "also_ok": [],
                "kind": kind,
            },
        }
        for text, (kind, gold) in zip(texts, kinds.items(), strict=True)
    ]  # fmt: skip
    write_lines(tmp_path / "talks" / "corpus.jsonl", CORPUS)
    return write_lines(tmp_path / "talks" / "talks.jsonl", [{"_id": "t", "turns": turns}]).parent


def test_each_mode_says_what_its_model_took(process, data, tmp_path):
    report = tmp_path / "report.html"
    with openai_server(REWORDED) as server:
        options = ("--llm", f"openai:tiny@{server.url}", "--price", "1,10", *BASE)
        result = process("eval", data, "--modes", "bm25,expand", *options, "--html", report)
        assert (result.code, result.err) == (0, "")
        assert len(server.requests) == len(QUERIES)  # a warm-up would be paid for
        found = process("eval", data, "--modes", "bm25,expand", *options, "--json", "-").json
    assert "what the language model tiny took for 3 queries" in result.out
    [row] = [line.split() for line in result.out.splitlines() if line.split()[-1:] == ["0.0060"]]
    assert row == ["expand", "3", "3,000", "300", "0.0060"]
    assert "the first 5 of expand" in result.out and "all descriptions" in result.out
    assert found["settings"]["llm"] == "tiny"
    plain, expand = found["modes"]
    assert plain["cost"]["calls"] == 0 and plain["cost"]["money"] == 0
    assert (expand["cost"]["calls"], expand["cost"]["input_tokens"]) == (3, 3000)
    assert expand["cost"]["money"] == pytest.approx(0.006)
    assert expand["tokens"]["mean"] > 0 and expand["degraded"] == {}
    assert '"llm":"tiny"' in report.read_text("utf-8").replace(" ", "")


def test_without_a_price_money_is_unknown(cli, data):
    with openai_server(REWORDED) as server:
        options = ("--llm", f"openai:tiny@{server.url}", *BASE)
        result = cli("eval", data, "--modes", "expand", *options)
    [row] = [line.split() for line in result.out.splitlines() if "unknown" in line]
    assert row == ["expand", "3", "3,000", "300", "unknown"]


def test_a_model_that_fails_is_named_as_the_cheaper_path(cli, data):
    with openai_server(said("no")) as server:
        options = ("--llm", f"openai:tiny@{server.url}", *BASE)
        result = cli("eval", data, "--modes", "expand", *options, "--setting", "expand.retries=0")
    assert "expand answered 3 queries by a cheaper path (not expanded: " in result.err
    assert "3,000" in result.out  # answers that are of no use are paid for


def test_without_a_model_nothing_is_said_of_it(cli, data):
    found = cli("eval", data, "--modes", "bm25", "--json", "-").json
    assert "llm" not in found["settings"] and "cost" not in found["modes"][0]
    assert "language model" not in cli("eval", data, "--modes", "bm25").out


@pytest.mark.parametrize("mode", ["expand", "refine"])
def test_a_mode_that_needs_a_model_names_the_option(cli, data, mode):
    result = cli("eval", data, "--modes", f"bm25,{mode}")
    assert result.code == 2
    assert "Name one: --llm openai:MODEL@URL" in result.err


def composed(parent: str) -> list[dict[str, Any]]:
    skill = {
        "name": "made-up", "description": "Bakes.", "body": "Bake.", "derived_from": [parent],
    }  # fmt: skip
    steps = (
        command("keyword", query="bread"),
        command("detail", skill=parent),
        command("finish", skills=[skill]),
    )
    return [said(step) for step in steps]


def test_a_composed_skill_counts_as_those_it_is_made_of(cli, data):
    write_lines(data / "queries.jsonl", QUERIES[:1])
    write_qrels(data / "qrels.tsv", QRELS[:1])
    with openai_server(*composed("g/bread")) as server:
        options = ("--llm", f"openai:tiny@{server.url}", *BASE)
        result = cli("eval", data, "--modes", "refine", *options, "--json", "-")
    [mode] = result.json["modes"]
    assert mode["degraded"] == {}, mode["degraded"]
    assert mode["cost"]["calls"] == 3
    [query] = result.json["queries"]
    assert query["modes"]["refine"]["top"][0]["name"] == "made-up"
    assert query["modes"]["refine"]["gold_ranks"] == {"g/bread": 1}
    assert mode["means"]["hit@1"]["mean"] == 1.0


def test_push_says_what_its_model_took(process, talks):
    with openai_server(REWORDED) as server:
        options = ("--llm", f"openai:tiny@{server.url}", *BASE)
        result = process("eval", talks, "--modes", "bm25,expand", *options)
        asked = len(server.requests)
        found = process("eval", talks, "--modes", "bm25,expand", *options, "--json", "-").json
    assert (result.code, result.err) == (0, "")
    assert "what the language model tiny took for 2 user turns" in result.out
    assert [mode["cost"]["calls"] for mode in found["modes"]] == [0, asked]
    assert 1 <= asked <= 2  # no turn is asked about twice


def test_push_of_composed_skills_counts_as_that_of_their_parents(cli, talks):
    with openai_server(*composed("g/bread"), said("no")) as server:
        options = ("--llm", f"openai:tiny@{server.url}", *BASE, "--max-false-push", "1")
        result = cli("eval", talks, "--modes", "refine", *options, "--json", "-")
    assert result.code == 0, result.err
    answer = result.json["turns"][0]["modes"]["refine"]
    assert (answer["first"], answer["offered"], answer["right_first"]) == ("bread", ["bread"], True)
