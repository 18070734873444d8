"""Mode bm25 by the clock, beside rank_bm25's own scoring loop in the same run.

Run: ``python tests/bench/bench_bm25.py [--data FOLDER] [--requests FILE] [--json FILE]``.

FOLDER is in BEIR layout: ``corpus.jsonl.gz`` (skills that are asked for), ``market.jsonl.gz``
(further heads), ``bodies.jsonl.gz`` (further skills with bodies), ``queries-dev.jsonl`` (``_id``,
``text``, ``short``) and ``qrels-dev.tsv``. FILE holds one request a line (``text``, ``gold``).
Without data a synthetic corpus of the same sizes is measured and quality is left out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from skillcue_adapters.analyzer import ANALYZER
from skillcue_adapters.bm25 import Bm25Retriever, build, head_text
from skillcue_adapters.caching import CachedRetriever, MemoryStore
from skillcue_adapters.term_index import SmoothedBM25
from skillcue_hooks.contracts import Library, Query, RetrieverContext, Skill

Questions = list[tuple[str, frozenset[str]]]
"""Text and the ids that answer it; no ids where nobody knows."""

RANK_BM25_QUERIES = 5
"""Its loop takes seconds for a task text in a large pool."""


def read_lines(path: Path) -> list[dict[str, Any]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def skills_of(records: Iterable[dict[str, Any]], bodies: bool) -> list[Skill]:
    return [
        Skill(
            id=record["_id"],
            name=record["title"],
            description=record["text"],
            body=record.get("body", "") if bodies else "",
        )
        for record in records
    ]


def load_pools(folder: Path) -> dict[str, list[Skill]]:
    """Pools by name. Where further skills have no bodies, those asked for lose theirs too."""
    corpus = read_lines(folder / "corpus.jsonl.gz")
    market = read_lines(folder / "market.jsonl.gz")
    real = read_lines(folder / "bodies.jsonl.gz")
    return {
        f"{len(corpus)}": skills_of(corpus, bodies=True),
        "14K": skills_of([*corpus, *real], bodies=True),
        "34K heads": skills_of([*corpus, *market[: 34_000 - len(corpus)]], bodies=False),
        "92K heads": skills_of([*corpus, *market], bodies=False),
    }


def load_questions(folder: Path, requests: Path | None) -> dict[str, Questions]:
    gold: dict[str, set[str]] = {}
    for line in (folder / "qrels-dev.tsv").read_text("utf-8").splitlines()[1:]:
        query, skill, grade = line.split("\t")
        if int(grade) > 0:
            gold.setdefault(query, set()).add(skill)
    queries = [q for q in read_lines(folder / "queries-dev.jsonl") if q["_id"] in gold]
    sets = {
        name: [(query[field], frozenset(gold[query["_id"]])) for query in queries]
        for name, field in (("short", "short"), ("task", "text"))
    }
    if requests is not None:
        sets["requests"] = [(r["text"], frozenset(r["gold"])) for r in read_lines(requests)]
    return sets


def synthetic() -> tuple[dict[str, list[Skill]], dict[str, Questions]]:
    """Texts whose words are as unevenly frequent as real ones (Zipf)."""
    rng = random.Random(11)
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    words = ["".join(rng.choices(syllables, k=rng.randint(2, 4))) for _ in range(20_000)]
    odds = [1 / rank for rank in range(1, len(words) + 1)]

    def text(length: int) -> str:
        return " ".join(rng.choices(words, odds, k=length))

    def skills(count: int, body: int) -> list[Skill]:
        return [Skill(f"s{n:06d}", text(2), text(25), text(body)) for n in range(count)]

    pools = {
        "189": skills(189, 600),
        "34K heads": skills(34_000, 0),
        "92K heads": skills(92_000, 0),
    }
    questions = {
        name: [(text(length), frozenset[str]()) for _ in range(50)]
        for name, length in (("short", 8), ("task", 200))
    }
    return pools, questions


def milliseconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


def factory(library: Library, previous: Bm25Retriever | None = None) -> Bm25Retriever:
    return build(library, RetrieverContext("bm25", {}, previous, lambda mode: None))


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def measure_build(skills: list[Skill]) -> tuple[dict[str, float], Bm25Retriever, Library]:
    library = Library("one", tuple(skills))
    started = time.perf_counter()
    retriever = factory(library)
    built = time.perf_counter() - started
    edited = Skill(skills[0].id, skills[0].name, "An edited description.", skills[0].body)
    other = Library("two", (edited, *skills[1:]))
    rebuilt = milliseconds(lambda: factory(other, retriever))
    return {"build_s": built, "rebuild_ms": rebuilt}, retriever, library


def measure_search(
    retriever: Bm25Retriever, library: Library, oracle: SmoothedBM25, questions: Questions
) -> dict[str, float]:
    cached = CachedRetriever(retriever, MemoryStore(), "bm25", library)
    plain, hits, loop = [], [], []
    for number, (text, _) in enumerate(questions):
        query = Query(text)
        plain.append(milliseconds(lambda query=query: retriever.search(query)))
        cached.search(query)
        hits.append(milliseconds(lambda query=query: cached.search(query)))
        if number < RANK_BM25_QUERIES:
            terms = ANALYZER.terms(text)
            loop.append(milliseconds(lambda terms=terms: oracle.get_scores(terms)))
    result = {
        "search_p50_ms": statistics.median(plain),
        "search_p95_ms": percentile(plain, 0.95),
        "hit_p50_ms": statistics.median(hits),
        "rank_bm25_p50_ms": statistics.median(loop),
    }
    return {**result, "ratio": result["rank_bm25_p50_ms"] / result["search_p50_ms"]}


def measure_quality(retriever: Bm25Retriever, questions: Questions) -> dict[str, float]:
    """R@5 and the shares of questions with an answer first and among five."""
    found = [
        ([hit.skill.id for hit in retriever.search(Query(text)).hits], gold)
        for text, gold in questions
        if gold
    ]
    if not found:
        return {}
    return {
        "R@5": statistics.fmean(len(gold & set(ids)) / len(gold) for ids, gold in found),
        "hit@1": statistics.fmean(bool(gold & set(ids[:1])) for ids, gold in found),
        "hit@5": statistics.fmean(bool(gold & set(ids)) for ids, gold in found),
    }


def measure(pools: dict[str, list[Skill]], sets: dict[str, Questions]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for pool, skills in pools.items():
        times, retriever, library = measure_build(skills)
        # The loop over heads alone; the search it is compared with scores heads and bodies.
        oracle = SmoothedBM25([ANALYZER.terms(head_text(skill)) for skill in retriever.skills])
        for name, questions in sets.items():
            rows.append(
                {
                    "pool": pool,
                    "queries": name,
                    **times,
                    **measure_search(retriever, library, oracle, questions),
                    **measure_quality(retriever, questions),
                }
            )
    return rows


def print_table(rows: list[dict[str, Any]]) -> None:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    print(" | ".join(columns))
    print(" | ".join("---" for _ in columns))
    for row in rows:
        cells = (row.get(column, "") for column in columns)
        print(" | ".join(f"{c:.3f}" if isinstance(c, float) else str(c) for c in cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder in BEIR layout; synthetic without it")
    parser.add_argument("--requests", type=Path, help="further queries, one JSON object a line")
    parser.add_argument("--json", type=Path, help="also write the rows there")
    options = parser.parse_args()
    if options.data is None:
        pools, sets = synthetic()
    else:
        pools = load_pools(options.data)
        sets = load_questions(options.data, options.requests)
    rows = measure(pools, sets)
    print_table(rows)
    text = json.dumps(rows, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
