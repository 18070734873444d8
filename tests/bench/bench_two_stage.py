"""What a cross-encoder adds to a first stage, and what it costs.

Run: ``python tests/bench/bench_two_stage.py --data FOLDER --cross-encoder SPEC [--requests FILE]
[--pools 189,14K,34K] [--first skillsight] [--settings JSON] [--cache FOLDER] [--json FILE]``.

FOLDER, queries and cache are those of ``bench_modes.py``. SPEC is what mode ``two_stage`` takes,
such as ``onnx:/path/to/model``. Every set of queries is ranked by the first stage and by both; the
differences are given with their 95% intervals by paired bootstrap. The time budget is off while
quality is measured, and the times are those of whole searches without encoding the query.

Last, pairs alone: 20 heads of the first pool and a short query, with the load of the machine and
the processor time of all threads, which other processes change less than the clock's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

from bench_bm25 import percentile
from bench_modes import (
    ROOT,
    Vectors,
    build_modes,
    intervals,
    load_pool,
    load_questions,
    measure,
    print_table,
)

from skillcue_adapters.encoders import open_encoder
from skillcue_adapters.rerankers import open_pair_scorer
from skillcue_adapters.rerankers.texts import pair_text
from skillcue_adapters.stages import _built_in_encoders
from skillcue_adapters.two_stage import TwoStageRetriever, TwoStageSettings
from skillcue_hooks.contracts import Library
from skillcue_hooks.fingerprint import fingerprint

QUERY = "fill in a pdf form and flatten it"
PAIRS = 20
ROUNDS = 30


def time_pairs(scorer: Any, library: Library) -> dict[str, float]:
    """Milliseconds for `PAIRS` pairs of a short query."""
    texts = [pair_text(skill, 0, 2000) for skill in library.skills[:PAIRS]]
    scorer.score(QUERY, texts)
    times, busy = [], []
    for _ in range(ROUNDS):
        started, used = time.perf_counter(), time.process_time()
        scorer.score(QUERY, texts)
        times.append((time.perf_counter() - started) * 1000)
        busy.append((time.process_time() - used) * 1000)
    return {
        "p50_ms": statistics.median(times),
        "p95_ms": percentile(times, 0.95),
        "processor_ms": statistics.median(busy),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder in BEIR layout")
    parser.add_argument("--cross-encoder", required=True, help="a spec, such as onnx:/path")
    parser.add_argument("--requests", type=Path, help="further queries, one JSON object a line")
    parser.add_argument("--pools", default="189,14K,34K")
    parser.add_argument("--first", default="skillsight", help="mode of the first stage")
    parser.add_argument("--settings", default="{}", help="of mode two_stage, JSON")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "vectors")
    parser.add_argument("--json", type=Path, help="also write the rows there")
    options = parser.parse_args()
    encoder = open_encoder(options.encoder, _built_in_encoders())
    name = fingerprint(encoder.fingerprint)[:16]
    vectors = Vectors(options.cache / f"{name}.npz", encoder.dim)
    questions = load_questions(options.data, options.requests)
    scorer = open_pair_scorer(options.cross_encoder)
    settings = TwoStageSettings(**{"budget_ms": 600_000, **json.loads(options.settings)})
    first_options = argparse.Namespace(bodies="lexical", settings="{}", modes=options.first)
    libraries = {
        pool: Library(pool, tuple(load_pool(options.data, pool)))
        for pool in options.pools.split(",")
    }
    rows: list[dict[str, Any]] = []
    for pool, library in libraries.items():
        first, _ = build_modes(library, encoder, vectors, first_options)[options.first]
        vectors.save()
        both = TwoStageRetriever(library, first, scorer, settings)
        for queries, asked in questions.items():
            alone = {"pool": pool, "queries": queries, "mode": options.first}
            alone |= measure(first, asked)
            reranked = {"pool": pool, "queries": queries, "mode": f"{options.first}+two_stage"}
            reranked |= measure(both, asked)
            rows += [alone, reranked | intervals(reranked, alone)]
    print_table(rows)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    pairs = {"load": load, **time_pairs(scorer, next(iter(libraries.values())))}
    print(
        f"{PAIRS} pairs alone: " + ", ".join(f"{key} {value:.1f}" for key, value in pairs.items())
    )
    if options.json:
        options.json.write_text(json.dumps([*rows, pairs]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
