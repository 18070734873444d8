"""How far the rankings over an index agree with those over the same library in memory.

Run: ``python tests/bench/scale_agreement.py --data FOLDER [--index memory|postgresql://...]
[--modes bm25,dense,hybrid,skillsight] [--pools 189,14K,34K] [--encoder static]
[--postings 3000,0] [--queries 58] [--cache FOLDER] [--json FILE]``.

FOLDER is laid out as for ``bench_modes.py``. Queries are the short ones, the whole tasks, and the
short ones with their task as context (``both``). For each mode it prints the share of the top 20 in
memory that the index finds as well (recall@20), the share of queries whose top 20 and top 5 are
identical, and the time of a search over the index when its queries are encoded.

A PostgreSQL database is filled by this, under the tenant ``agreement``: give it an empty one.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from bench_bm25 import percentile
from bench_modes import MODES, ROOT, load_pool, load_questions

from skillcue_adapters import bm25, dense, hybrid, skillsight
from skillcue_adapters.document_vectors import open_vectors
from skillcue_adapters.encoders import open_encoder
from skillcue_adapters.indexed import MemoryIndex, Unprepared, prepare
from skillcue_adapters.stages import built_in_encoders
from skillcue_hooks.contracts import Library, Query, RetrieverContext, Skill
from skillcue_hooks.protocols import Encoder
from skillcue_hooks.skill_index import SkillIndex

TENANT = "agreement"
TOP = 20
BATCH = 1000
FACTORIES = {
    "bm25": bm25.build,
    "dense": dense.build,
    "hybrid": hybrid.build,
    "skillsight": skillsight.build,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--index", default="memory")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--pools", default="189,14K,34K")
    parser.add_argument("--encoder", default="static")
    parser.add_argument("--postings", default="3000")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "vectors")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    encoder = open_encoder(args.encoder, built_in_encoders())
    rows = []
    for pool in args.pools.split(","):
        skills = load_pool(args.data, pool)
        questions = questions_of(args.data, args.queries)
        index = filled(args.index, skills, encoder, args.cache)
        in_memory = Library(pool, tuple(sorted(skills, key=lambda skill: skill.id)))
        local = retrievers(in_memory, encoder, args.cache, {})
        for postings in map(int, args.postings.split(",")):
            library = Library(index.revision((TENANT,)), (), index, (TENANT,))
            settings = {"bm25": {"postings": postings}}
            shared = retrievers(library, encoder, args.cache, settings)
            for mode in args.modes.split(","):
                for kind, queries in questions.items():
                    row = compared(local(mode), shared(mode), queries)
                    row = {"pool": pool, "postings": postings, "mode": mode, "kind": kind, **row}
                    print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)
                    rows.append(row)
    if args.json is not None:
        args.json.write_text(json.dumps(rows, indent=1), "utf-8")


def questions_of(folder: Path, most: int) -> dict[str, list[Query]]:
    """The queries of each kind."""
    return {
        kind: [Query(one.text, one.context, k=TOP) for one in found[:most]]
        for kind, found in load_questions(folder, None).items()
    }


def filled(where: str, skills: list[Skill], encoder: Encoder, cache: Path) -> SkillIndex:
    """An index that holds `skills`."""
    index = open_index(where)
    vectors = open_vectors(encoder, cache)
    for start in range(0, len(skills), BATCH):
        batch = [Unprepared(skill) for skill in skills[start : start + BATCH]]
        items = prepare(batch, encoder, vectors)
        index.apply(items, tenant=TENANT, encoder=encoder.fingerprint)
    vectors.flush()
    kept = {skill.id for skill in skills}
    gone = [skill.id for skill in index.iterate((TENANT,)) if skill.id not in kept]
    index.apply([], gone, tenant=TENANT, encoder=encoder.fingerprint)
    return index


def open_index(where: str) -> SkillIndex:
    """`MemoryIndex`, or the database at an address."""
    if where == "memory":
        return MemoryIndex()
    from skillcue_adapters.postgres import PostgresIndex

    return PostgresIndex(where)


def retrievers(
    library: Library, encoder: Encoder, cache: Path, settings: dict[str, dict[str, Any]]
) -> Callable[[str], Any]:
    """Gives the retriever of a mode, complete, each built once."""
    built: dict[str, Any] = {}

    def get(mode: str) -> Any:
        if mode not in built:
            context = RetrieverContext(
                mode, settings.get(mode, {}), None, get, cache, lambda spec: encoder
            )
            built[mode] = FACTORIES[mode](library, context)
            built[mode].wait_ready()
        return built[mode]

    return get


def compared(local: Any, shared: Any, queries: Iterable[Query]) -> dict[str, float]:
    """How far the two agree."""
    recalls, same, same5, seconds = [], [], [], []
    for query in queries:
        wanted = [hit.skill.id for hit in local.search(query).hits]
        shared.search(query)
        started = time.perf_counter()
        found = [hit.skill.id for hit in shared.search(query).hits]
        seconds.append(time.perf_counter() - started)
        recalls.append(len({*wanted} & {*found}) / len(wanted) if wanted else 1.0)
        same.append(wanted == found)
        same5.append(wanted[:5] == found[:5])
    return {
        "queries": len(recalls),
        "recall@20": round(float(np.mean(recalls)), 4),
        "same 20": round(float(np.mean(same)), 3),
        "same 5": round(float(np.mean(same5)), 3),
        "p50 ms": round(1000 * percentile(seconds, 0.5), 1),
        "p95 ms": round(1000 * percentile(seconds, 0.95), 1),
    }


if __name__ == "__main__":
    main()
