"""What rule-based augmentation changes: recall with and without it, query by query.

    python tests/bench/bench_augment.py --data FOLDER [--requests FILE] [--cache FOLDER]

FOLDER, queries and requests are those of ``bench_modes.py``. Prints one JSON line for each kind of
search terms, mode and kind of query: R@5 with and without, the difference and its 95% interval by
paired bootstrap, and one line with the quality of the pseudo-queries.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench_modes import ROOT, build_modes, difference, load_pool, load_questions, measure

from skillcue.evaluation.echo import echo_rate
from skillcue_adapters.augment.augmentation import Augmentation, augment_by_rules, quality
from skillcue_adapters.document_vectors import open_vectors
from skillcue_adapters.encoders import open_encoder
from skillcue_adapters.stages import built_in_encoders
from skillcue_hooks.contracts import Library, Skill

POOL = "189"
MODES = "bm25,skillsight"
TERMS: dict[str, Callable[[Augmentation], tuple[str, ...]]] = {
    "tags and pseudo-queries": Augmentation.terms,
    "tags": lambda made: made.tags,
    "pseudo-queries": lambda made: tuple(query.text for query in made.queries),
}
"""What is indexed, of what was made."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--requests", type=Path)
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "vectors")
    args = parser.parse_args()
    skills = load_pool(args.data, POOL)
    made = {skill.id: augment_by_rules(skill) for skill in skills}
    print(json.dumps({"what": "quality", "pool": POOL, **report_quality(skills, made)}), flush=True)
    plain = found_by(skills, args)
    for name, terms in TERMS.items():
        augmented = [replace(s, search_terms=terms(made[s.id])) for s in skills]
        for (mode, queries), found in found_by(augmented, args).items():
            before = plain[mode, queries]
            change = difference(found["each"]["R@5"], before["each"]["R@5"])
            row = {
                "what": "augmentation", "pool": POOL, "terms": name, "mode": mode,
                "queries": queries, "n": len(found["each"]["R@5"]),
                "R@5 without": round(before["R@5"], 4), "R@5": round(found["R@5"], 4),
                "R@5 diff": [round(number, 4) for number in change],
            }  # fmt: skip
            print(json.dumps(row), flush=True)


def found_by(skills: list[Skill], args: argparse.Namespace) -> dict[tuple[str, str], Any]:
    """What `measure` gives for each mode and kind of query."""
    encoder = open_encoder("minilm", built_in_encoders())
    options = argparse.Namespace(bodies="lexical", settings="{}", modes=MODES)
    library = Library(POOL, tuple(skills))
    built = build_modes(library, encoder, open_vectors(encoder, args.cache), options)
    questions = load_questions(args.data, args.requests)
    return {
        (mode, queries): measure(retriever, asked)
        for mode, (retriever, _) in built.items()
        for queries, asked in questions.items()
    }


def report_quality(skills: list[Skill], made: dict[str, Augmentation]) -> dict[str, Any]:
    """The figures that ``skillcue augment`` shows."""
    rates = [echo_rate(q.text, [s]) for s in skills for q in made[s.id].queries]
    known = [rate for rate in rates if rate is not None]
    numbers = {**asdict(quality(made.values())), "echo_rate": statistics.fmean(known)}
    return {name: round(number, 4) for name, number in numbers.items()}


if __name__ == "__main__":
    main()
