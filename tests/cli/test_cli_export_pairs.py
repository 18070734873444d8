"""``skillcue export-pairs``: lines of training data from a real library."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.augmenting import write_skill


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    return tmp_path / "pairs.jsonl"


def test_each_line_has_a_query_its_skill_and_others(cli, example_skills, pairs):
    common = ("export-pairs", "--skills", example_skills, "--mode", "bm25", "--out", pairs)
    found = cli(*common, "--negatives", 3, "--json")
    assert found.code == 0
    written = rows(pairs)
    assert found.json["pairs"] == len(written) > 300
    assert found.json["skills"] == len({row["skill"] for row in written}) > 30
    for row in written:
        assert list(row) == ["query", "positive", "negatives", "skill", "negative_skills"]
        assert len(row["negatives"]) == len(row["negative_skills"]) <= 3
        assert row["skill"] not in row["negative_skills"]
        assert row["positive"] not in row["negatives"]
    assert not pairs.with_name("pairs.jsonl.partial").exists()
    before = pairs.read_bytes()
    cli(*common, "--negatives", 3)
    assert pairs.read_bytes() == before


def test_what_was_augmented_is_used(cli, tmp_path, pairs):
    skills, cache = tmp_path / "skills", tmp_path / "cache"
    write_skill(skills, "bread", "Bake bread: plan, shape and proof the dough.", "## Bake it\n")
    cli("augment", "--skills", skills, "--cache", cache)
    stored = next((cache / "augment").glob("*.jsonl"))
    assert "bake it" in stored.read_text()
    options = ("--skills", skills, "--cache", cache, "--mode", "bm25", "--augment", "--out", pairs)
    found = cli("export-pairs", *options, "--json")
    assert found.code == 0
    assert found.json["without_negatives"] == found.json["pairs"] > 0
    assert rows(pairs)[0]["negatives"] == []
    assert "bake it" not in str(rows(pairs)[0]["positive"]).casefold()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--negatives", "-1", "--out", "pairs.jsonl"], "--negatives"),
        (["--out", "/no/such/folder/pairs.jsonl"], "cannot be written"),
        (["--out", "."], ". cannot be written"),
        ([], "--out"),
    ],
)
def test_wrong_options_are_errors_with_a_cure(
    cli, example_skills, monkeypatch, tmp_path, arguments, message
):
    monkeypatch.chdir(tmp_path)
    found = cli("export-pairs", "--skills", example_skills, "--mode", "bm25", *arguments)
    assert found.code == 2
    assert message in found.err
    assert not [*tmp_path.iterdir(), *tmp_path.parent.glob("*.partial")]
