"""Skills and queries for benchmarks: a BEIR-style folder, or made up when there is none."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from skillcue_hooks import Skill
from skillcue_hooks.testing import make_skill

__all__ = ["BenchData", "load"]


@dataclass(frozen=True, slots=True)
class BenchData:
    """What the benchmarks run on.

    Attributes:
        origin: Where it comes from.
        curated: A small library with bodies.
        market: Names and descriptions of a marketplace.
        short: Queries of a few keywords.
        tasks: Queries of the length of a task.
    """

    origin: str
    curated: list[Skill]
    market: list[Skill]
    short: list[str]
    tasks: list[str]

    def pool(self, size: int) -> list[Skill]:
        """The curated skills and as many of the market's as make `size`."""
        return [*self.curated, *self.market[: max(size - len(self.curated), 0)]]


def load(folder: Path | None) -> BenchData:
    """Read `folder` (corpus.jsonl.gz, market.jsonl.gz, queries-dev.jsonl), or make data up."""
    return _synthetic() if folder is None else _read(folder)


def _read(folder: Path) -> BenchData:
    queries = [json.loads(line) for line in (folder / "queries-dev.jsonl").open(encoding="utf-8")]
    return BenchData(
        origin="folder",
        curated=list(_skills(folder / "corpus.jsonl.gz")),
        market=list(_skills(folder / "market.jsonl.gz")),
        short=[query["short"] for query in queries],
        tasks=[query["text"] for query in queries],
    )


def _skills(path: Path) -> Iterator[Skill]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            item = json.loads(line)
            fields = {"id": item["_id"]}
            yield make_skill(item["title"], item["text"], item.get("body", ""), **fields)


def _synthetic() -> BenchData:
    rng = random.Random(7)
    words = [
        "".join(rng.choices("abcdefghijklmnoprstuvw", k=rng.randint(3, 9))) for _ in range(30_000)
    ]
    weights = [1 / (rank + 20) for rank in range(len(words))]  # word frequencies follow Zipf

    def text(count: int) -> str:
        return " ".join(rng.choices(words, weights, k=count))

    def skill(number: int, body_words: int) -> Skill:
        return make_skill(f"skill-{number}", text(30), text(body_words) if body_words else "")

    return BenchData(
        origin="synthetic",
        curated=[skill(n, 800) for n in range(189)],
        market=[skill(n, 0) for n in range(189, 92_189)],
        short=[text(8) for _ in range(40)],
        tasks=[text(180) for _ in range(40)],
    )
