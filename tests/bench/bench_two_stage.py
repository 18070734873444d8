"""What a cross-encoder adds to a first stage, and what it costs.

    python tests/bench/bench_two_stage.py --data FOLDER --cross-encoder SPEC [--requests FILE]
        [--pools 189,14K,34K] [--first skillsight] [--settings JSON] [--cache FOLDER]

FOLDER, queries and cache are those of ``bench_modes.py``. SPEC is what mode ``two_stage`` takes,
such as ``onnx:/path/to/model``. Every set of queries is ranked by the first stage and by both; the
differences come with their 95% intervals by paired bootstrap. The time budget is off while quality
is measured.

Last, both costs side by side on the largest pool: 20 pairs of a short query, with the processor
time of all threads, which other processes change less than the clock's; and a search of the first
stage, encoding the query included. Prints one JSON line a measurement.
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
    Question,
    build_modes,
    differences,
    load_pool,
    load_questions,
    measure,
)

from skillcue_adapters.document_vectors import open_vectors
from skillcue_adapters.encoders import open_encoder
from skillcue_adapters.rerankers import open_pair_scorer
from skillcue_adapters.rerankers.texts import pair_text
from skillcue_adapters.stages import built_in_encoders
from skillcue_adapters.two_stage import TwoStageRetriever, TwoStageSettings
from skillcue_hooks.contracts import Library, Query

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
        "pairs_p50_ms": round(statistics.median(times), 2),
        "pairs_p95_ms": round(percentile(times, 0.95), 2),
        "pairs_processor_ms": round(statistics.median(busy), 2),
    }


def time_searches(retriever: Any, encoder: Any, asked: list[Question]) -> dict[str, float]:
    """Milliseconds for a search of the first stage whose query is not encoded yet."""
    times = []
    for question in asked:
        retriever.search(Query(question.text))  # what is met for the first time costs more
        started = time.perf_counter()
        encoder.encode_queries([question.text])
        retriever.search(Query(question.text))
        times.append((time.perf_counter() - started) * 1000)
    return {"search_p50_ms": round(statistics.median(times), 2)}


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
    args = parser.parse_args()
    encoder = open_encoder(args.encoder, built_in_encoders())
    vectors = open_vectors(encoder, args.cache)
    questions = load_questions(args.data, args.requests)
    scorer = open_pair_scorer(args.cross_encoder)
    settings = TwoStageSettings(**{"budget_ms": 600_000, **json.loads(args.settings)})
    options = argparse.Namespace(bodies="lexical", settings="{}", modes=args.first)
    for pool in args.pools.split(","):
        library = Library(pool, tuple(load_pool(args.data, pool)))
        first, _ = build_modes(library, encoder, vectors, options)[args.first]
        both = TwoStageRetriever(library, first, scorer, settings)
        for queries, asked in questions.items():
            alone, reranked = measure(first, asked), measure(both, asked)
            row = {"what": "two_stage", "pool": pool, "queries": queries, "first": args.first}
            row |= {f"{name} first": round(alone[name], 4) for name in ("R@5", "hit@1")}
            row |= {name: round(reranked[name], 4) for name in ("R@5", "hit@1")}
            print(json.dumps(row | differences(reranked, alone)), flush=True)
    row = {"what": "pairs", "pool": pool, "pairs": PAIRS, "load": round(os.getloadavg()[0], 1)}
    row |= time_pairs(scorer, library) | time_searches(first, encoder, questions["short"])
    row["ratio"] = round(row["pairs_p50_ms"] / row["search_p50_ms"], 1)
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
