"""How long reading a library takes: cold, and looking again when nothing changed.

Run: ``python tests/bench/bench_reading.py --skills 5000 [--headers flat|nested] [--repeat 3]``.
Writes one JSON line a measurement to standard output; times are medians in seconds.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from skillcue.library.live import LiveLibrary
from skillcue.library.snapshot import build_snapshot
from skillcue.library.source import FolderSource

WORDS = (
    *("garden", "diary", "prune", "water", "compost", "seed", "harvest", "frost", "orchard"),
    *("invoice", "report", "ledger", "schema", "migrate", "deploy", "rollback", "trace", "parse"),
    *("render", "theme", "palette", "font", "layout", "chart"),
)


def write_library(root: Path, count: int, nested: bool) -> None:
    """`count` skills in folders of a hundred, with headers and bodies of common size."""
    rng = random.Random(7)
    for number in range(count):
        folder = root / f"group-{number // 100:03d}" / f"skill-{number:05d}"
        folder.mkdir(parents=True)
        description = " ".join(rng.choices(WORDS, k=35))
        body = "\n\n".join(" ".join(rng.choices(WORDS, k=80)) for _ in range(8))
        extra = "metadata:\n  author: someone\n  version: 1.0\n" if nested else "license: MIT\n"
        text = f"---\nname: skill-{number:05d}\ndescription: {description}.\n{extra}---\n\n"
        (folder / "SKILL.md").write_text(f"{text}# Steps\n\n{body}\n", encoding="utf-8")


def median_seconds(action: Callable[[], object], repeat: int) -> float:
    """Median wall time of `repeat` calls."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measure(root: Path, repeat: int) -> dict[str, float]:
    """Seconds of each step over the library below `root`."""
    source = FolderSource(root)
    scan = source.scan(None)
    live = LiveLibrary([source])
    live.snapshot()
    return {
        "cold_scan": median_seconds(lambda: FolderSource(root).scan(None), repeat),
        "recheck_unchanged": median_seconds(lambda: source.scan(scan), repeat * 3),
        "build_snapshot": median_seconds(lambda: build_snapshot([source], [scan]), repeat * 3),
        "live_refresh_unchanged": median_seconds(live.refresh, repeat * 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skills", type=int, default=5000, help="number of skill folders")
    parser.add_argument("--headers", choices=("flat", "nested"), default="flat")
    parser.add_argument("--repeat", type=int, default=3, help="cold reads to take the median of")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_library(root, options.skills, options.headers == "nested")
        time.sleep(0.2)  # fresh files are read twice on purpose; measure the steady state
        for step, seconds in measure(root, options.repeat).items():
            row = {"step": step, "skills": options.skills, "headers": options.headers}
            print(json.dumps({**row, "median_s": round(seconds, 4)}))


if __name__ == "__main__":
    main()
