"""Datasets on disk, and evaluations of them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from skillcue.evaluation.datasets import Dataset, Reading, load_dataset
from skillcue.evaluation.document import Evaluated, make_document
from skillcue.evaluation.layout import FileChoice, find_files
from skillcue.evaluation.runner import RunSettings, run_modes

__all__ = [
    "CORPUS",
    "HOSTILE",
    "QRELS",
    "QUERIES",
    "evaluate",
    "hostile_document",
    "load",
    "write_lines",
    "write_qrels",
]

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>\u2028&amp;"
CORPUS = [
    {"_id": "g/bread", "title": "bread", "text": "Bake bread with yeast.", "body": "Knead dough."},
    {
        "_id": "g/tyres",
        "title": "tyres",
        "text": "Change the tyres of a car.",
        "body": "Jack it up.",
    },
    {
        "_id": "g/taxes",
        "title": "taxes",
        "text": "Fill in a tax return.",
        "body": "Collect receipts.",
    },
]
QUERIES = [
    {"_id": "q1", "text": "bake a loaf of bread", "short": "bread"},
    {"_id": "q2", "text": "tax return and receipts", "short": "tax"},
    {"_id": "q3", "text": "winter tyres", "short": "tyres"},
]
QRELS = [("q1", "g/bread", 1), ("q2", "g/taxes", 2), ("q3", "g/tyres", 1)]


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> Path:
    """One JSON object a line; compressed when the name ends in .gz."""
    text = "".join(json.dumps(record) + "\n" for record in records)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, "utf-8")
    return path


def write_qrels(path: Path, rows: Iterable[tuple[str, str, int]]) -> Path:
    """A table with the heading of BEIR."""
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in rows)]
    text = "\n".join(lines) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, "utf-8")
    return path


def load(folder: Path, reading: Reading | None = None, **choice: Any) -> Dataset:
    """The dataset in a folder."""
    return load_dataset(find_files(folder, FileChoice(**choice)), reading or Reading())


def evaluate(
    dataset: Dataset, modes: list[str], k: int = 5, llm: Any = None, **more: Any
) -> dict[str, Any]:
    """The document of a real evaluation."""
    settings = RunSettings(k=k, llm=llm)
    runs, snapshot = run_modes(dataset, modes, settings, lambda *_: None)
    return make_document(Evaluated(dataset, Reading(), settings, runs, modes[0], snapshot, **more))


def hostile_document(folder: Path) -> dict[str, Any]:
    """An evaluation in which every text tries to be markup; its dataset is written below `folder`."""
    name = folder / f"x{HOSTILE}".replace("/", "\u2215")
    skill = {"_id": f"id{HOSTILE}", "title": f"name{HOSTILE}", "text": f"bread {HOSTILE}"}
    write_lines(name / "corpus.jsonl", [skill])
    write_lines(name / "queries.jsonl", [{"_id": f"q{HOSTILE}", "text": f"bread {HOSTILE}"}])
    write_qrels(name / "qrels.tsv", [(f"q{HOSTILE}", f"id{HOSTILE}", 1)])
    return evaluate(load(name), ["bm25"])
