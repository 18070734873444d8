"""What comes next: what is suggested, and how often that is right on steps that are still to come.

Run: ``python tests/bench/bench_next.py [--skills N] [--conversations N] [--json FILE]``.

Conversations are drawn from known transitions and go through a real store of events. ``q`` and ``p``
are those that they are drawn from. ``precision`` is measured on further conversations that the fit has
not seen, ``search`` is how often search was right on the same. Seeded: equal arguments give
equal numbers, times apart.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.next_histories import Chain, write_chains

from skillcue.successors import NextSettings
from skillcue.successors.model import fit

CASES = (
    (0.95, 0.735),
    (0.90, 0.735),
    (0.85, 0.735),
    (0.80, 0.735),
    (0.735, 0.735),
    (0.67, 0.735),
    (0.50, 0.735),
    (0.90, 0.95),
    (0.60, 0.30),
    (1 / 7, 0.735),
)
"""(q, p); 0.735 and 0.67 to 0.83 are the published search success and accuracy of edges."""
LATER = 200
"""Conversations a skill on which suggestions are tried afterwards."""


def measure(q: float, p: float, skills: int, conversations: int, folder: Path) -> dict[str, Any]:
    chains = [Chain(f"a{i}", f"b{i}", q, p) for i in range(skills)]
    path = folder / f"{q:.3f}-{p:.3f}-{conversations}.db"
    write_chains(path, chains, conversations, seed=conversations)
    began = time.perf_counter()
    learned = fit(path, NextSettings(), frozenset)
    took = time.perf_counter() - began
    rng = random.Random(1)
    suggested = right = found = steps = 0
    for chain in chains:
        after = learned.after(f"{chain.first}@{chain.first}")
        suggested += bool(after)
        for _ in range(LATER if after else 0):
            then = chain.follows(rng)
            if then is not None:
                steps += 1
                right += after[0].then == f"{then}@{then}"
                found += rng.random() < p
    return {
        "q": round(q, 3),
        "p": p,
        "conversations": conversations,
        "suggested": suggested / skills,
        "precision": right / steps if steps else None,
        "search": found / steps if steps else None,
        "fit_s": round(took, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--skills", type=int, default=100)
    parser.add_argument("--conversations", type=int, nargs="+", default=[30, 100, 300])
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows = []
    print("    q      p   conversations   suggested   precision   search    fit s")
    with tempfile.TemporaryDirectory() as folder:
        for q, p in CASES:
            for conversations in args.conversations:
                row = measure(q, p, args.skills, conversations, Path(folder))
                rows.append(row)
                shares = (row["precision"], row["search"])
                shown = ["-" if share is None else f"{share:.3f}" for share in shares]
                print(
                    f"{row['q']:.3f}  {p:.3f}   {conversations:13}   {row['suggested']:9.2f}   "
                    f"{shown[0]:>9}   {shown[1]:>6}   {row['fit_s']:6.2f}",
                    flush=True,
                )
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
