"""Retrieval modes side by side: what they find, and how long they take.

Run: ``python tests/bench/bench_modes.py --data FOLDER [--requests FILE] [--modes bm25,skillsight]
[--pools 189,14K,34K] [--encoder minilm] [--bodies lexical] [--cache FOLDER] [--json FILE]``.

FOLDER is laid out as for ``bench_bm25.py``. Queries are the short ones, the whole tasks, the short
ones with their task as context (``both``), and the requests of FILE, one JSON object a line
(``text``, ``gold``, ``also_ok``), for which any of ``gold`` and ``also_ok`` will do. Vectors of
documents are kept in the cache folder, ``build/vectors`` unless said otherwise.

A search is timed when the vectors of the query are known: encoding it takes the same time in all
modes. ``--vs FILE`` compares with the ``--json`` of another run, query by query: the difference
and its 95% interval by paired bootstrap.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from bench_bm25 import percentile, read_lines, skills_of

from skillcue_adapters import bm25, dense, hybrid, skillsight
from skillcue_adapters.document_vectors import DocumentVectors, open_vectors
from skillcue_adapters.encoders import open_encoder
from skillcue_adapters.semantic_retriever import SemanticSettings
from skillcue_adapters.stages import built_in_encoders
from skillcue_hooks.contracts import Library, Query, Skill

ROOT = Path(__file__).resolve().parents[2]
POOLS = ("189", "14K", "34K", "92K")
MODES = ("bm25", "dense", "hybrid", "skillsight")
ROUNDS = 2000


@dataclass(frozen=True)
class Question:
    """A query and what answers it; with `any_of`, one answer is as good as all."""

    text: str
    context: str
    gold: frozenset[str]
    any_of: bool


def load_pool(folder: Path, name: str) -> list[Skill]:
    """Skills of a pool; where further skills have no bodies, those asked for lose theirs too."""
    corpus = read_lines(folder / "corpus.jsonl.gz")
    if name == "14K":
        return skills_of([*corpus, *read_lines(folder / "bodies.jsonl.gz")], bodies=True)
    if name in ("34K", "92K"):
        market = read_lines(folder / "market.jsonl.gz")
        most = 34_000 - len(corpus) if name == "34K" else len(market)
        return skills_of([*corpus, *market[:most]], bodies=False)
    return skills_of(corpus, bodies=True)


def load_questions(folder: Path, requests: Path | None) -> dict[str, list[Question]]:
    gold: dict[str, set[str]] = {}
    for line in (folder / "qrels-dev.tsv").read_text("utf-8").splitlines()[1:]:
        query, skill, grade = line.split("\t")
        if int(grade) > 0:
            gold.setdefault(query, set()).add(skill)
    tasks = [q for q in read_lines(folder / "queries-dev.jsonl") if q["_id"] in gold]
    answers = {q["_id"]: frozenset(gold[q["_id"]]) for q in tasks}
    sets = {
        "short": [Question(q["short"], "", answers[q["_id"]], False) for q in tasks],
        "task": [Question(q["text"], "", answers[q["_id"]], False) for q in tasks],
        "both": [Question(q["short"], q["text"], answers[q["_id"]], False) for q in tasks],
    }
    if requests is not None:
        sets["requests"] = [
            Question(r["text"], "", frozenset([*r["gold"], *r.get("also_ok", [])]), True)
            for r in read_lines(requests)
        ]
    return sets


def build_modes(
    library: Library, encoder: Any, vectors: DocumentVectors, options: argparse.Namespace
) -> dict[str, tuple[Any, float]]:
    """Retriever and seconds it took, by mode."""
    common = {"bodies": options.bodies, "inline_texts": 10_000_000, "batch_texts": 1000}
    common["inline_ms"] = 3_600_000
    own = json.loads(options.settings)
    lexical = bm25.Bm25Retriever(library, bm25.Bm25Settings())
    built: dict[str, tuple[Any, float]] = {}
    for mode in options.modes.split(","):
        started = time.perf_counter()
        if mode == "bm25":
            retriever: Any = bm25.Bm25Retriever(library, bm25.Bm25Settings())
        elif mode == "skillsight":
            settings = skillsight.SkillSightSettings(**{**common, **own})
            retriever = skillsight.SkillSightRetriever(
                library, encoder, settings, None, vectors, lexical
            )
        else:
            retriever = dense.DenseRetriever(
                library, encoder, SemanticSettings(**common), None, vectors, lambda: lexical
            )
            if mode == "hybrid":
                retriever = hybrid.HybridRetriever(
                    library, lexical, retriever, hybrid.HybridSettings()
                )
        built[mode] = (retriever, time.perf_counter() - started)
    return built


def measure(retriever: Any, questions: list[Question]) -> dict[str, Any]:
    recall, first, five, times = [], [], [], []
    for question in questions:
        query = Query(question.text, question.context)
        found = [hit.skill.id for hit in retriever.search(query).hits]
        started = time.perf_counter()
        retriever.search(query)
        times.append((time.perf_counter() - started) * 1000)
        hits = question.gold & set(found)
        five.append(float(bool(hits)))
        recall.append(five[-1] if question.any_of else len(hits) / len(question.gold))
        first.append(float(bool(question.gold & set(found[:1]))))
    return {
        "R@5": statistics.fmean(recall),
        "hit@1": statistics.fmean(first),
        "p50_ms": statistics.median(times),
        "p95_ms": percentile(times, 0.95),
        "each": {"R@5": recall, "hit@1": first},
    }


def difference(mine: list[float], other: list[float]) -> tuple[float, float, float]:
    """Mean difference of paired numbers and its 95% interval by bootstrap."""
    differences = np.array(mine) - np.array(other)
    generator = np.random.default_rng(0)
    picks = generator.integers(0, len(differences), (ROUNDS, len(differences)))
    low, high = np.quantile(differences[picks].mean(axis=1), [0.025, 0.975])
    return float(differences.mean()), float(low), float(high)


def differences(row: dict[str, Any], other: dict[str, Any]) -> dict[str, list[float]]:
    """`difference` of each measure, rounded."""
    each = ((name, difference(mine, other["each"][name])) for name, mine in row["each"].items())
    return {f"{name} diff": [round(number, 4) for number in three] for name, three in each}


def intervals(row: dict[str, Any], other: dict[str, Any]) -> dict[str, str]:
    """`differences` as text."""
    found = differences(row, other)
    return {name: "{:+.3f} [{:+.3f}, {:+.3f}]".format(*three) for name, three in found.items()}


def print_table(rows: list[dict[str, Any]]) -> None:
    columns = [c for c in dict.fromkeys(c for row in rows for c in row) if c != "each"]
    print(" | ".join(columns))
    print(" | ".join("---" for _ in columns))
    for row in rows:
        cells = (row.get(column, "") for column in columns)
        print(" | ".join(f"{c:.3f}" if isinstance(c, float) else str(c) for c in cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder in BEIR layout")
    parser.add_argument("--requests", type=Path, help="further queries, one JSON object a line")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--pools", default="189,14K,34K", help=f"of {', '.join(POOLS)}")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--bodies", default="lexical", choices=["lexical", "all"])
    parser.add_argument("--settings", default="{}", help="of mode skillsight, JSON")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "vectors")
    parser.add_argument("--json", type=Path, help="also write the rows there")
    parser.add_argument("--vs", type=Path, help="rows of another run to compare with")
    options = parser.parse_args()
    encoder = open_encoder(options.encoder, built_in_encoders())
    vectors = open_vectors(encoder, options.cache)
    questions = load_questions(options.data, options.requests)
    rows: list[dict[str, Any]] = []
    for pool in options.pools.split(","):
        library = Library(pool, tuple(load_pool(options.data, pool)))
        built = build_modes(library, encoder, vectors, options)
        for mode, (retriever, seconds) in built.items():
            for queries, asked in questions.items():
                row = {"pool": pool, "queries": queries, "mode": mode, "build_s": seconds}
                rows.append({**row, **measure(retriever, asked)})
    if options.vs:
        keys = ("pool", "queries", "mode")
        others = {tuple(row[k] for k in keys): row for row in json.loads(options.vs.read_text())}
        for row in rows:
            other = others.get(tuple(row[k] for k in keys))
            if other is not None:
                row.update(intervals(row, other))
    print_table(rows)
    if options.json:
        options.json.write_text(json.dumps(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
