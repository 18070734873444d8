"""Prints rankings of every mode, number by number; run by test_mode_determinism.py.

``python dump_rankings.py given|reversed|grown``: the order in which skills arrive. ``grown`` begins
with a third of them and lets each generation follow the one before.
"""

from __future__ import annotations

import random
import sys
from typing import Any

from skillcue_adapters import bm25, dense, hybrid, skillsight
from skillcue_adapters.encoders import static
from skillcue_hooks.contracts import Library, Query, RetrieverContext, Skill

COUNT = 900
STAGES = {"bm25": bm25, "dense": dense, "hybrid": hybrid, "skillsight": skillsight}
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "bm25": [{}],
    "dense": [{}],
    "hybrid": [{}],
    "skillsight": [{}, {"bodies": "all"}, {"fusion": "minmax"}, {"fusion": "published"}],
}
WORDS = [
    "merge",
    "split",
    "convert",
    "table",
    "chart",
    "deploy",
    "cluster",
    "invoice",
    "ledger",
    "audio",
    "video",
    "subtitle",
    "contract",
    "garden",
    "bread",
    "recipe",
    "test",
    "commit",
    "branch",
    "secret",
    "token",
    "certificate",
    "query",
    "index",
    "schema",
    "report",
]
QUERIES = (
    Query("merge the invoice table into a report", k=60),
    Query("garden", "bread recipe for the contract", k=60),
    Query(" ".join(f"Please {a} every {b} before noon." for a, b in zip(WORDS, WORDS[3:])), k=60),  # noqa: B905
)


def skills() -> list[Skill]:
    draw = random.Random(5)
    found = []
    for n in range(COUNT):
        name = "-".join(draw.sample(WORDS, 2))
        description = f"Use to {' '.join(draw.choices(WORDS, k=12))}."
        body = "\n\n".join(" ".join(draw.choices(WORDS, k=20)) for _ in range(n % 3))
        found.append(Skill(f"skill-{n:04d}", name, description, body))
    return found


def generations(order: str) -> list[list[Skill]]:
    every = skills()
    if order == "reversed":
        return [every[::-1]]
    return [every[::3], every[::-2], every] if order == "grown" else [every]


def main(order: str) -> None:
    encoder = static.build("")
    steps = [Library(str(n), tuple(part)) for n, part in enumerate(generations(order))]

    def built(mode: str, library: Library, settings: dict[str, Any], previous: Any = None) -> Any:
        own = settings if mode in ("bm25", "hybrid") else {"inline_texts": 100_000, **settings}
        context = RetrieverContext(
            mode,
            own,
            previous,
            lambda other: built(other, library, {}),
            encoder=lambda _: encoder,
        )
        return STAGES[mode].build(library, context)

    for mode, variants in SETTINGS.items():
        for settings in variants:
            retriever = None
            for library in steps:
                retriever = built(mode, library, settings, retriever)
            for query in QUERIES:
                ranking = retriever.search(query)
                assert ranking.degraded is None
                for hit in ranking.hits:
                    signals = [f"{name}={value.hex()}" for name, value in hit.signals.items()]
                    print(mode, hit.rank, hit.skill.id, hit.score.hex(), *signals)


if __name__ == "__main__":
    main(sys.argv[1])
