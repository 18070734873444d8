"""The example that fine-tunes an encoder, from pairs that the command writes to a search with it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sentence_transformers")

from support.torch_models import save_bi_encoder

from skillcue import SkillCue
from skillcue.cli import main

pytestmark = [
    pytest.mark.neural,
    pytest.mark.filterwarnings("default"),  # of PyTorch and transformers, while they load
]

SCRIPT = Path(__file__).parents[2] / "examples" / "fine_tune" / "fine_tune.py"


@pytest.fixture
def pairs(tmp_path, example_skills):
    path = tmp_path / "pairs.jsonl"
    options = ["--skills", str(example_skills), "--mode", "bm25", "--negatives", "2"]
    assert main(["export-pairs", *options, "--out", str(path)]) == 0
    return path


def fine_tune(pairs, model, out, *options):
    return subprocess.run(
        [
            sys.executable,
            str(SCRIPT),
            str(pairs),
            "--model",
            str(model),
            "--out",
            str(out),
            *options,
        ],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_a_tiny_model_learns_and_searches(tmp_path, pairs, example_skills):
    model = save_bi_encoder(tmp_path / "tiny")
    out = tmp_path / "tuned"
    options = ("--epochs", "3", "--rate", "0.003", "--held-out", "0.1")
    done = fine_tune(pairs, model, out, *options)
    assert done.returncode == 0, done.stderr
    first, last = map(float, re.findall(r"loss ([\d.]+) to ([\d.]+)", done.stdout)[0])
    assert last < first
    assert re.search(
        r"R@5 of \d+ requests of skills held out: [\d.]+ before, [\d.]+ after", done.stdout
    )
    with SkillCue(example_skills, mode="dense", encoder=f"st:{out}", wait=True) as cue:
        ranking = cue.lookup("merge pdf files", k=5)
    assert ranking.degraded is None
    assert len(ranking.hits) == 5


def test_too_few_skills_are_said(tmp_path, pairs):
    few = tmp_path / "few.jsonl"
    row = json.loads(pairs.read_text("utf-8").splitlines()[0])
    few.write_text(json.dumps(row) + "\n", "utf-8")
    done = fine_tune(few, save_bi_encoder(tmp_path / "tiny"), tmp_path / "tuned")
    assert done.returncode == 1
    assert "too few skills" in done.stderr
    assert not (tmp_path / "tuned").exists()
