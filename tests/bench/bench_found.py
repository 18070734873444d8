"""What every mode finds on labelled queries, against the formula ``skillsight`` started from.

    python tests/bench/bench_found.py --data FOLDER [--requests FILE] [--models FOLDER]

Folder, requests and queries are those of ``bench_modes.py``. MODELS may hold exported encoders,
one folder each; the one whose name begins with ``bge`` is measured as well. Prints one JSON line a
measurement; differences with their 95% interval by paired bootstrap.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from bench_modes import ROOT, build_modes, differences, load_pool, load_questions, measure
from starting_formula import starting_formula

from skillcue_adapters.document_vectors import open_vectors
from skillcue_adapters.encoders import open_encoder
from skillcue_adapters.stages import built_in_encoders
from skillcue_hooks.contracts import Library

ALL_MODES = "bm25,dense,hybrid,skillsight"
RUNS = [
    ("189", "minilm", "lexical", ALL_MODES),
    ("189", "minilm", "all", "skillsight"),
    ("189", "static", "lexical", "dense,skillsight"),
    ("14K", "minilm", "lexical", ALL_MODES),
    ("34K", "minilm", "lexical", ALL_MODES),
    ("34K", "static", "lexical", "dense,skillsight"),
    ("92K", "static", "lexical", "bm25,skillsight"),
]
"""Pool, encoder, bodies, modes."""


def run(pool: str, spec: str, bodies: str, modes: str, args: argparse.Namespace) -> None:
    encoder = open_encoder(spec, built_in_encoders())
    vectors = open_vectors(encoder, args.cache)
    library = Library(pool, tuple(load_pool(args.data, pool)))
    options = argparse.Namespace(bodies=bodies, settings="{}", modes=modes)
    retrievers = {m: r for m, (r, _) in build_modes(library, encoder, vectors, options).items()}
    starting = starting_formula(library, encoder, vectors)
    name = spec.partition(":")[0] if not spec.startswith("onnx:") else Path(spec).name
    for queries, asked in load_questions(args.data, args.requests).items():
        # It takes no second view: what both views are compared with is the better one of each.
        before = measure(starting, asked)
        common = {"pool": pool, "size": len(library.skills), "queries": queries, "n": len(asked)}
        if queries != "both" and bodies == "lexical":
            report(common, "starting formula", name, bodies, before, {})
        for mode, retriever in retrievers.items():
            found = measure(retriever, asked)
            against = {} if queries == "both" else differences(found, before)
            report(common, mode, name, bodies, found, against)


def report(
    common: dict[str, Any],
    mode: str,
    encoder: str,
    bodies: str,
    found: dict[str, Any],
    against: dict[str, list[float]],
) -> None:
    row = {"what": "found", **common, "mode": mode, "encoder": encoder, "bodies": bodies}
    numbers = {name: round(found[name], 4) for name in ("R@5", "hit@1", "p50_ms", "p95_ms")}
    print(json.dumps({**row, **numbers, **against}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--requests", type=Path)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "vectors")
    args = parser.parse_args()
    runs = list(RUNS)
    if args.models:
        folders = sorted(path for path in args.models.iterdir() if path.name.startswith("bge"))
        runs += [("34K", f"onnx:{os.fspath(path)}", "lexical", "skillsight") for path in folders]
    for pool, spec, bodies, modes in runs:
        run(pool, spec, bodies, modes, args)


if __name__ == "__main__":
    main()
