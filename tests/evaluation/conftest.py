"""Datasets on disk, and one real evaluation that several tests look at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.evaluations import CORPUS, QRELS, QUERIES, evaluate, load, write_lines, write_qrels


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three skills, three queries."""
    write_lines(tmp_path / "data" / "corpus.jsonl", CORPUS)
    write_lines(tmp_path / "data" / "queries.jsonl", QUERIES)
    write_qrels(tmp_path / "data" / "qrels.tsv", QRELS)
    return tmp_path / "data"


@pytest.fixture
def distracted(folder: Path) -> Callable[[str, int], Path]:
    """Adds a file of distractors."""

    def add(name: str, count: int) -> Path:
        records = ({"_id": f"d{n}", "title": f"d{n}", "text": f"Thing {n}."} for n in range(count))
        return write_lines(folder / name, records)

    return add


@pytest.fixture(scope="session")
def example_document() -> dict[str, Any]:
    """The example dataset in the two modes of its README."""
    examples = Path(__file__).resolve().parents[2] / "examples" / "evaluation"
    return evaluate(load(examples), ["bm25", "skillsight"])
