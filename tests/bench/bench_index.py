"""What a semantic index costs: from nothing, warm, after an edit, a query, and in memory.

    python tests/bench/bench_index.py [--data FOLDER] [--encoder static] [--sizes 189,1000,...]

Each size is measured in a process of its own, over skills that are in memory already, in mode
``skillsight``. Vectors of queries are known when searches are timed: encoding takes the same time
in every library. The edit is that of one description, with the time of encoding it left out.
Prints one JSON line a size.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import data

from skillcue_adapters import bm25, skillsight
from skillcue_adapters.encoders import open_encoder
from skillcue_adapters.stages import built_in_encoders
from skillcue_hooks.contracts import Library, Query, RetrieverContext, Skill

SIZES = "189,1000,5000,14000,34000,92000"
EDITS = 21
MODES = {"bm25": bm25.build, "skillsight": skillsight.build}


class Timed:
    """An encoder that adds up the time it takes."""

    def __init__(self, encoder: Any) -> None:
        self._encoder = encoder
        self.fingerprint, self.dim = encoder.fingerprint, encoder.dim
        self.seconds = 0.0

    def encode_queries(self, texts: list[str]) -> Any:
        return self._encoder.encode_queries(texts)

    def encode_documents(self, texts: list[str]) -> Any:
        started = time.perf_counter()
        found = self._encoder.encode_documents(texts)
        self.seconds += time.perf_counter() - started
        return found


def retriever(
    skills: list[Skill], encoder: Any, cache: Path, previous: dict[str, Any], name: str
) -> dict[str, Any]:
    """Retrievers of one generation by mode, ``skillsight`` among them."""
    library = Library(name, tuple(skills))
    made: dict[str, Any] = {}

    def get(mode: str) -> Any:
        if mode not in made:
            context = RetrieverContext(
                mode, {}, previous.get(mode), get, cache, lambda _spec: encoder, {}
            )
            made[mode] = MODES[mode](library, context)
        return made[mode]

    get("skillsight")
    return made


def seconds(action: Callable[[], Any]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def resident_mb() -> dict[str, float]:
    """Memory of this process: all of it, and what is not mapped from files."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    names = {"all": "VmRSS", "anonymous": "RssAnon"}
    return {name: int(lines[key].split()[0]) / 1024 for name, key in names.items()}


def measure(size: int, spec: str, folder: Path | None) -> dict[str, Any]:
    bench = data.load(folder)
    skills = sorted(
        (replace(skill, body="") for skill in bench.pool(size)), key=lambda skill: skill.id
    )
    encoder = Timed(open_encoder(spec, built_in_encoders()))
    encoder.encode_queries(["load the model"])
    bench.market.clear()
    before = resident_mb()
    with tempfile.TemporaryDirectory() as cache:
        folder = Path(cache)
        made: dict[str, Any] = {}

        def build() -> None:
            made.update(retriever(skills, encoder, folder, {}, "0"))
            made["skillsight"].wait_ready()

        nothing = seconds(build)
        row: dict[str, Any] = {
            "what": "index",
            "size": len(skills),
            "encoder": spec,
            "origin": bench.origin,
            "from_nothing_s": round(nothing, 2),
            "encoding_s": round(encoder.seconds, 2),
        }
        for kind, texts in (("short", bench.short), ("task", bench.tasks)):
            row |= {f"{kind}_{k}": v for k, v in search_times(made["skillsight"], texts).items()}
        after = resident_mb()
        row |= {f"memory_{k}_mb": round(after[k] - before[k]) for k in before}
        row["edit_ms"] = round(edits(skills, encoder, folder, made, bench.short[0]), 1)
        made.clear()
        row |= warm(size, spec, skills, folder, bench.short[0])
    return row


def search_times(retriever: Any, texts: list[str]) -> dict[str, float]:
    times = []
    for text in texts:
        retriever.search(Query(text))
        times.append(seconds(lambda text=text: retriever.search(Query(text))) * 1000)
    times.sort()
    return {
        "p50_ms": round(statistics.median(times), 3),
        "p95_ms": round(times[int(len(times) * 0.95)], 3),
    }


def edits(
    skills: list[Skill], encoder: Timed, cache: Path, made: dict[str, Any], text: str
) -> float:
    """Median time until a search knows one edited description, ms, without encoding it."""
    times = []
    current, list_of = made, list(skills)
    for number in range(EDITS):
        place = (number * 7919) % len(list_of)
        skill = list_of[place]
        changed = f"{skill.description} Edited {number} times."
        list_of[place] = replace(skill, description=changed, content_hash=f"edit {number}")
        encoder.seconds = 0.0
        started = time.perf_counter()
        current = retriever(list_of, encoder, cache, current, f"{number + 1}")
        answer = current["skillsight"].search(Query(text))
        times.append(time.perf_counter() - started - encoder.seconds)
        assert answer.degraded is None
    return statistics.median(times) * 1000


def warm(size: int, spec: str, skills: list[Skill], cache: Path, text: str) -> dict[str, float]:
    """A second start over the same folder: the first answer, which is lexical, and the whole."""
    encoder = Timed(open_encoder(spec, built_in_encoders()))
    made: dict[str, Any] = {}
    started = time.perf_counter()
    made.update(retriever(skills, encoder, cache, {}, "warm"))
    made["skillsight"].search(Query(text))
    first = time.perf_counter() - started
    made["skillsight"].wait_ready()
    whole = time.perf_counter() - started
    return {
        "warm_first_answer_s": round(first, 3),
        "warm_ready_s": round(whole, 3),
        "encoded_again_s": round(encoder.seconds, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder in BEIR layout; made up without it")
    parser.add_argument("--encoder", default="static")
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(args.one, args.encoder, args.data)), flush=True)
        return
    for size in args.sizes.split(","):
        command = [sys.executable, __file__, "--one", size, "--encoder", args.encoder]
        subprocess.run([*command, *(["--data", str(args.data)] if args.data else [])], check=True)


if __name__ == "__main__":
    main()
