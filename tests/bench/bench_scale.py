"""An index on PostgreSQL under load: what it costs, and what its legs find.

Run: ``python tests/bench/bench_scale.py [--data FOLDER] [--size 34000] [--url URL] [--seconds 10]
[--encoder static] [--bulk] [--json FILE]``.

FOLDER is laid out as for ``bench_bm25.py``; without it skills are made up. What is wanted beyond
them is put together of halves of two descriptions. With ``--bulk`` the vector index is dropped for
the load and made afterwards. Without a url a server
is started in a temporary folder, and removed afterwards; with one, schema ``skillcue_bench`` of that
database is made anew. Recall is measured against the same index asked without its short cuts:
against all vectors, and against all postings. ``postings``: candidates with their facts, for a
depth of 50; ``mode``: whole searches of a mode with its own settings, the encoding of the text
included.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import multiprocessing
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from data import BenchData, load
from scale_agreement import retrievers

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.postgres_server import PostgresServer

from skillcue_adapters.analyzer import ANALYZER
from skillcue_adapters.encoders import open_encoder
from skillcue_adapters.indexed.bm25 import IndexedBm25Settings
from skillcue_adapters.indexed.prepare import Unprepared, prepare
from skillcue_adapters.postgres import PostgresIndex
from skillcue_adapters.stages import built_in_encoders
from skillcue_adapters.term_index import SmoothedBM25
from skillcue_hooks.contracts import Library, Query, Skill
from skillcue_hooks.skill_index import IndexQuery, Legs, View
from skillcue_hooks.testing import make_skill

SCHEMA = "skillcue_bench"
TENANT = "bench"
DEPTH = 50
BATCH = 1000
BUDGETS = (1000, 3000, IndexedBm25Settings().postings)
MODES = ("bm25", "dense", "hybrid", "skillsight")
CLIENTS = (1, 4)
TOP = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--size", type=int, default=34_000)
    parser.add_argument("--url")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--encoder", default="static")
    parser.add_argument("--bulk", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.url:
        report = measure(arguments.url, arguments)
    else:
        server = PostgresServer({"shared_buffers": "1GB", "maintenance_work_mem": "512MB"})
        try:
            server.start()
            report = measure(server.url, arguments)
        finally:
            server.remove()
    print(json.dumps(report, indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1))


def measure(url: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """All figures."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"drop schema if exists {SCHEMA} cascade")
    data = load(arguments.data)
    encoder = open_encoder(arguments.encoder, built_in_encoders())
    index = PostgresIndex(url, schema=SCHEMA, write_s=3600, read_s=600)
    try:
        report: dict[str, Any] = {"rows": arguments.size}
        with bulk_load(url, encoder) if arguments.bulk else contextlib.nullcontext({}) as built:
            report |= fill(index, data, arguments.size, encoder)
        report |= built
        report |= edit(index, data, encoder)
        report["database_mb"] = size_mb(url)
        queries = {
            "short": views_of(index, encoder, data.short),
            "long": views_of(index, encoder, data.tasks),
        }
        for name, views in queries.items():
            print(name, file=sys.stderr)
            report[name] = recalls(index, url, views)
            for budget in BUDGETS[1:]:
                work = partial(ask, url, views, budget, arguments.seconds)
                report[name] |= latencies(f"postings {budget}", work, arguments.seconds)
        for mode in MODES:
            work = partial(search, url, data.short, mode, arguments.encoder, arguments.seconds)
            report["short"] |= latencies(f"mode {mode}", work, arguments.seconds)
        return report
    finally:
        index.close()


def pool_of(data: BenchData, size: int) -> Iterator[Skill]:
    """As many skills, the same for each run."""
    pool = data.pool(size)
    yield from pool
    rng = random.Random(7)
    for number in range(len(pool), size):
        halves = []
        for skill in rng.sample(data.market, 2):
            words = skill.description.split()
            halves.append(words[: len(words) // 2] if not halves else words[len(words) // 2 :])
        yield make_skill(f"made-{number}", " ".join(itertools.chain(*halves)))


def fill(index: PostgresIndex, data: BenchData, size: int, encoder: Any) -> dict[str, float]:
    """Store the skills; encoding is not part of the time."""
    took, longest, stored = 0.0, 0.0, 0
    skills = pool_of(data, size)
    while batch := list(itertools.islice(skills, BATCH)):
        items = prepare([Unprepared(skill) for skill in batch], encoder)
        began = time.perf_counter()
        index.apply(items, tenant=TENANT, encoder=encoder.fingerprint)
        one = time.perf_counter() - began
        took, longest, stored = took + one, max(longest, one), stored + len(batch)
        if stored % 50_000 == 0:
            print(f"{stored:,} stored in {took:.0f} s", file=sys.stderr)
    print(f"loaded in {took:.1f} s", file=sys.stderr)
    return {"load_s": round(took, 1), "batch_s": round(longest, 2)}


def edit(index: PostgresIndex, data: BenchData, encoder: Any) -> dict[str, float]:
    """Change a hundred skills."""
    items = prepare([Unprepared(skill) for skill in data.pool(100)], encoder)
    edited = [replace(item, text="edited") for item in items]
    began = time.perf_counter()
    index.apply(edited, tenant=TENANT, encoder=encoder.fingerprint)
    return {"edit_100_s": round(time.perf_counter() - began, 3)}


@contextlib.contextmanager
def bulk_load(url: str, encoder: Any) -> Iterator[dict[str, float]]:
    """Within it there is no vector index; how long it took to make it is known afterwards."""
    name = f"{SCHEMA}.skill_by_vector"
    index = PostgresIndex(url, schema=SCHEMA)
    [first] = prepare([Unprepared(make_skill("first", "This makes the vector index."))], encoder)
    built: dict[str, float] = {}
    with psycopg.connect(url, autocommit=True) as connection:
        index.apply([first], tenant=TENANT, encoder=encoder.fingerprint)
        index.apply([], [first.skill.id], tenant=TENANT, encoder=encoder.fingerprint)
        index.close()
        row = connection.execute("select pg_get_indexdef(%s::regclass)", [name]).fetchone()
        assert row is not None
        connection.execute(f"drop index {name}")
        yield built
        began = time.perf_counter()
        connection.execute("set maintenance_work_mem = '4GB'")
        connection.execute(row[0])
        connection.execute(f"vacuum analyze {SCHEMA}.skill")
        connection.execute(f"vacuum analyze {SCHEMA}.lexicon")
        built["vector_index_s"] = round(time.perf_counter() - began, 1)
        print(f"vector index in {built['vector_index_s']} s", file=sys.stderr)


def views_of(index: PostgresIndex, encoder: Any, texts: Sequence[str]) -> list[View]:
    """Queries as mode bm25 weighs their terms, with vectors."""
    skills = index.statistics([TENANT]).skills
    vectors = np.asarray(encoder.encode_queries(list(texts)), dtype=np.float32)
    views = []
    for text, vector in zip(texts, vectors, strict=True):
        counts = ANALYZER.counts(text)
        found = index.frequencies(list(counts), [TENANT])
        weights = {t: 2.0 * counts[t] / (1.0 + counts[t]) for t in found}
        head = {t: w * idf(skills, found[t].head) for t, w in weights.items() if found[t].head}
        body = {
            t: 1.5 * w * idf(skills, found[t].body) for t, w in weights.items() if found[t].body
        }
        views.append(View(vector, head, body))
    return views


def idf(skills: int, frequency: int) -> float:
    return SmoothedBM25.idf_of(skills, frequency)


def recalls(index: PostgresIndex, url: str, views: Sequence[View]) -> dict[str, float]:
    """Shares of the best that the short cuts find as well."""
    exact = PostgresIndex(url, schema=SCHEMA, exact_up_to=10**9, read_s=600)
    try:
        whole = [exact.candidates(asked(view, None)) for view in views]
    finally:
        exact.close()
    near = [index.candidates(asked(view, None)) for view in views]
    found = {f"dense recall@{TOP}": shared(whole, near, dense)}
    for budget in BUDGETS:
        pruned = [index.candidates(asked(view, budget)) for view in views]
        found[f"lexical recall@{TOP}, postings {budget}"] = shared(whole, pruned, lexical)
        found[f"lexical leg, postings {budget}"] = statistics.mean(
            len(legs.lexical[0]) for legs in pruned
        )
    return {name: round(value, 4) for name, value in found.items()}


def asked(view: View, postings: int | None) -> IndexQuery:
    return IndexQuery((view,), DEPTH, (TENANT,), postings=postings)


def dense(legs: Legs) -> list[str]:
    return [legs.candidates[n].skill.id for n in legs.dense[0][:TOP]]


def lexical(legs: Legs) -> list[str]:
    return [legs.candidates[n].skill.id for n in legs.lexical[0][:TOP]]


def shared(whole: Sequence[Legs], found: Sequence[Legs], leg: Callable[[Legs], list[str]]) -> float:
    shares = [
        len({*leg(a)} & {*leg(b)}) / len(leg(a))
        for a, b in zip(whole, found, strict=True)
        if leg(a)
    ]
    return statistics.mean(shares)


def latencies(
    name: str, work: Callable[[int], list[float]], seconds: float
) -> dict[str, dict[str, float]]:
    """Milliseconds of a query, of some processes at a time, and queries a second of all."""
    found = {}
    context = multiprocessing.get_context("spawn")
    for clients in CLIENTS:
        with context.Pool(clients) as pool:
            taken = [one for part in pool.map(work, range(clients), chunksize=1) for one in part]
        taken.sort()
        key = f"{name}, {clients} clients"
        found[key] = {
            "p50_ms": round(1000 * taken[len(taken) // 2], 2),
            "p95_ms": round(1000 * taken[int(len(taken) * 0.95)], 2),
            "per_s": round(len(taken) / seconds, 1),
        }
        print(key, found[key], file=sys.stderr)
    return found


def ask(
    url: str, views: Sequence[View], budget: int | None, seconds: float, first: int
) -> list[float]:
    """Seconds of each query of one client."""
    index = PostgresIndex(url, schema=SCHEMA)
    try:
        queries = [asked(view, budget) for view in views]
        return timed(index.candidates, queries, seconds, first)
    finally:
        index.close()


def search(
    url: str, texts: Sequence[str], mode: str, encoder: str, seconds: float, first: int
) -> list[float]:
    """Seconds of each search of one client."""
    index = PostgresIndex(url, schema=SCHEMA)
    library = Library(index.revision((TENANT,)), (), index, (TENANT,))
    try:
        find = retrievers(library, open_encoder(encoder, built_in_encoders()), Path(), {})
        return timed(find(mode).search, [Query(text) for text in texts], seconds, first)
    finally:
        index.close()


def timed(
    call: Callable[[Any], object], queries: Sequence[Any], seconds: float, first: int
) -> list[float]:
    """Seconds of each call, once all queries have been made."""
    for query in queries:
        call(query)
    taken: list[float] = []
    end, number = time.perf_counter() + seconds, first
    while time.perf_counter() < end:
        began = time.perf_counter()
        call(queries[number % len(queries)])
        taken.append(time.perf_counter() - began)
        number += 1
    return taken


def size_mb(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "select sum(pg_total_relation_size(c.oid)) from pg_class c"
            " join pg_namespace n on n.oid = c.relnamespace where n.nspname = %s and relkind = 'r'",
            [SCHEMA],
        ).fetchone()
    return round(int(row[0]) / 2**20) if row else 0


if __name__ == "__main__":
    main()
