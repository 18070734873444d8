"""Cost of ``advise`` and ``lookup``, cached and not, at three library sizes.

    python tests/bench/bench_advise.py [--data FOLDER] [--sizes 189,34000,92000]

Prints one JSON line a measurement; times in milliseconds.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import data

from skillcue import SkillCue, StaticSource


def timed(calls: Sequence[Callable[[], Any]]) -> dict[str, float]:
    """Median and 95th percentile of the calls, ms."""
    times = []
    for call in calls:
        started = time.perf_counter()
        call()
        times.append((time.perf_counter() - started) * 1000)
    times.sort()
    return {
        "p50_ms": round(statistics.median(times), 3),
        "p95_ms": round(times[int(len(times) * 0.95)], 3),
        "calls": len(times),
    }


def first_looks(cue: SkillCue, turns: Sequence[Any]) -> list[Callable[[], Any]]:
    """Calls that decide on each turn with an advisor that has not seen it."""
    return [partial(cue.advisor("skill_load").plan, turn) for turn in turns]


def report(**values: Any) -> None:
    print(json.dumps(values), flush=True)


def measure(size: int, bench: data.BenchData) -> None:
    started = time.perf_counter()
    source = StaticSource("bench", bench.pool(size))
    cue = SkillCue(source, cache=False, wait=True, recheck="manual")
    report(
        what="library and index from nothing", size=size, s=round(time.perf_counter() - started, 2)
    )
    warm = SkillCue(source, wait=True, recheck="manual")
    for kind, texts in (("short", bench.short), ("task", bench.tasks)):
        turns = [[{"role": "user", "content": text}] for text in texts]
        timed(first_looks(cue, turns))  # the first round pays for first use
        report(what="advise, uncached", size=size, query=kind, **timed(first_looks(cue, turns)))
        report(
            what="lookup, uncached",
            size=size,
            query=kind,
            **timed([lambda t=t: cue.lookup(t) for t in texts]),
        )
        for turn, text in zip(turns, texts, strict=True):
            warm.advise(turn)
            warm.lookup(text)
        cached = timed(first_looks(warm, turns))
        report(what="advise, ranking cached", size=size, query=kind, **cached)
        report(
            what="advise, turn remembered",
            size=size,
            query=kind,
            **timed([lambda t=t: warm.advise(t) for t in turns]),
        )
        report(
            what="lookup, cached",
            size=size,
            query=kind,
            **timed([lambda t=t: warm.lookup(t) for t in texts]),
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sizes", default="189,34000,92000")
    args = parser.parse_args()
    bench = data.load(args.data)
    report(what="data", origin=bench.origin)
    for size in map(int, args.sizes.split(",")):
        measure(size, bench)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    report(what="peak memory of this process", mb=peak)
    return 0


if __name__ == "__main__":
    sys.exit(main())
