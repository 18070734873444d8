"""Everything that was measured as one JSON document, from which the report is drawn as well.

What changes from run to run stands under ``measured`` and under ``times`` of a mode; all the
rest is the same for the same dataset, versions and settings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from skillcue.commands.budget import library_cost
from skillcue.evaluation.compare import (
    CONFIDENCE,
    FEWEST_QUERIES,
    ROUNDS,
    Difference,
    bootstrap,
    compare,
)
from skillcue.evaluation.composed import judged_ids
from skillcue.evaluation.datasets import Dataset, Question, Reading
from skillcue.evaluation.echo import echo_rate
from skillcue.evaluation.environment import environment
from skillcue.evaluation.measures import Scores, measure_names, score_run
from skillcue.evaluation.model_costs import model_fields, spent_fields
from skillcue.evaluation.outcomes import Outcome, helpfulness_gap
from skillcue.evaluation.runner import DEPTH, ModeRun, RunSettings
from skillcue.library.protocols import Snapshot
from skillcue_hooks.contracts import Skill

__all__ = ["SCHEMA", "VERSION", "Evaluated", "make_document"]

SCHEMA = "skillcue-evaluation"
VERSION = 1
"""Raised when a field of the document changes its meaning or goes away."""
HITS_KEPT = 5
"""Hits of a query that the document names for each mode."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What was run.

    Attributes:
        dataset: On what.
        reading: How the dataset was read.
        settings: How the modes were run.
        runs: What each mode answered.
        baseline: The mode that others are compared with.
        snapshot: The library.
        outcomes: Runs of agents; None when there are none.
    """

    dataset: Dataset
    reading: Reading
    settings: RunSettings
    runs: Sequence[ModeRun]
    baseline: str
    snapshot: Snapshot
    outcomes: Sequence[Outcome] | None = None


def make_document(done: Evaluated) -> dict[str, Any]:
    """Score and compare what was run.

    Raises:
        MissingExtraError: ir_measures is not installed.
        PluginError: A mode ranks a skill twice.
    """
    k = done.settings.k
    gold = {question.id: question.gold for question in done.dataset.questions}
    scores = {run.mode: score_run(gold, run.ranked, k, max(DEPTH, k)) for run in done.runs}
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "measured": {"date": datetime.now(UTC).isoformat(timespec="seconds"), **environment()},
        "dataset": _dataset(done.dataset, done.reading),
        "settings": _settings(done),
        "measures": list(measure_names(k)),
        "load_all": _load_all(done.snapshot),
        "modes": [
            {**_mode(run, scores[run.mode], k), **spent_fields(done.settings, run.cost)}
            for run in done.runs
        ],
        "comparisons": [
            _comparison(mode, done.baseline, scores, k) for mode in scores if mode != done.baseline
        ],
        "gaps": _gaps(done, scores),
        "by_echo": _by_echo(done.dataset, scores, k),
        "queries": [_query(question, done, scores) for question in done.dataset.questions],
    }


def _dataset(dataset: Dataset, reading: Reading) -> dict[str, Any]:
    echoes = {
        name: [echo_rate(q.text, _gold_skills(q, dataset), heads=heads) for q in dataset.questions]
        for name, heads in (("echo", False), ("echo_heads", True))
    }
    return {
        "name": dataset.name,
        "hash": dataset.hash,
        "files": dict(dataset.files),
        "field": reading.field,
        "context": reading.context if any(q.context for q in dataset.questions) else "",
        "skills": len(dataset.skills),
        "distractors": dataset.distractors,
        "with_bodies": sum(bool(skill.body) for skill in dataset.skills.values()),
        "queries": len(dataset.questions),
        "unjudged": list(dataset.unjudged),
        "gold_per_query": _mean([len(q.gold) for q in dataset.questions]),
        **{name: _mean([v for v in values if v is not None]) for name, values in echoes.items()},
        "notes": list(dataset.notes),
    }


def _by_echo(dataset: Dataset, scores: Mapping[str, Scores], k: int) -> list[dict[str, Any]]:
    """R@k of the half of the queries that echo their skills least, and of the other half."""
    echoes = [(echo_rate(q.text, _gold_skills(q, dataset)), q.id) for q in dataset.questions]
    known = sorted((echo, name) for echo, name in echoes if echo is not None)
    middle = len(known) // 2
    halves = {"fewer shared words": known[:middle], "more shared words": known[middle:]}
    return [
        {
            "name": name,
            "n": len(half),
            "low": half[0][0],
            "high": half[-1][0],
            "means": {
                mode: _mean([found[f"R@{k}"][query] for _, query in half])
                for mode, found in scores.items()
            },
        }
        for name, half in halves.items()
        if half
    ]


def _gold_skills(question: Question, dataset: Dataset) -> list[Skill]:
    return [dataset.skills[name] for name in question.gold]


def _settings(done: Evaluated) -> dict[str, Any]:
    return {
        "k": done.settings.k,
        "depth": max(DEPTH, done.settings.k),
        **model_fields(done.settings),
        "modes": [run.mode for run in done.runs],
        "baseline": done.baseline,
        "encoder": done.settings.encoder,
        "cross_encoder": done.settings.cross_encoder,
        "mode_settings": {
            mode: dict(sorted(given.items())) for mode, given in sorted(done.settings.modes.items())
        },
        "bodies": "none" if done.reading.heads else done.settings.bodies,
        "confidence": CONFIDENCE,
        "rounds": ROUNDS,
        "fewest_queries": FEWEST_QUERIES,
    }


def _load_all(snapshot: Snapshot) -> dict[str, int]:
    cost = library_cost(snapshot)
    return {"descriptions": cost.descriptions, "bodies": cost.bodies, "tokens": cost.everything}


def _mode(run: ModeRun, scores: Scores, k: int) -> dict[str, Any]:
    depth = max(DEPTH, k)
    times = sorted(run.seconds.values())
    return {
        "mode": run.mode,
        "fingerprint": run.fingerprint,
        "means": {
            name: asdict(bootstrap(list(scores[name].values()))) for name in measure_names(k)
        },
        "recall": [_mean(list(scores[f"R@{n}"].values())) for n in range(1, depth + 1)],
        "tokens": {
            "mean": _mean(list(run.tokens.values())),
            "most": max(run.tokens.values()),
        },
        "without_hits": [name for name, hits in run.hits.items() if not hits],
        "degraded": dict(run.degraded),
        "times": {
            "index_s": round(run.index_seconds, 4),
            "p50_ms": round(_percentile(times, 0.5) * 1000, 3),
            "p95_ms": round(_percentile(times, 0.95) * 1000, 3),
        },
    }


def _comparison(mode: str, baseline: str, scores: Mapping[str, Scores], k: int) -> dict[str, Any]:
    found = [
        compare(name, list(scores[mode][name].values()), list(scores[baseline][name].values()))
        for name in measure_names(k)
    ]
    return {
        "mode": mode,
        "baseline": baseline,
        "measures": {item.measure: _difference(item) for item in found},
    }


def _difference(item: Difference) -> dict[str, Any]:
    return {
        **asdict(item.interval),
        "better": item.better,
        "worse": item.worse,
        "n": item.n,
        "p": item.p_value,
        "verdict": item.verdict,
    }


def _gaps(done: Evaluated, scores: Mapping[str, Scores]) -> list[dict[str, Any]] | None:
    if done.outcomes is None:
        return None
    hit = f"hit@{done.settings.k}"
    return [
        {"mode": mode, **asdict(helpfulness_gap(done.outcomes, found[hit], mode))}
        for mode, found in scores.items()
    ]


def _query(question: Question, done: Evaluated, scores: Mapping[str, Scores]) -> dict[str, Any]:
    skills = done.dataset.skills
    return {
        "id": question.id,
        "text": question.text,
        "context": question.context,
        "echo": echo_rate(question.text, _gold_skills(question, done.dataset)),
        "gold": [
            {"id": name, "name": skills[name].name, "grade": grade}
            for name, grade in question.gold.items()
        ],
        "modes": {run.mode: _answer(question, run, scores[run.mode], done) for run in done.runs},
    }


def _answer(question: Question, run: ModeRun, scores: Scores, done: Evaluated) -> dict[str, Any]:
    hits = run.hits.get(question.id, ())
    ranks = {name: rank for rank, name in enumerate(judged_ids(hits), start=1)}
    return {
        "scores": {name: scores[name][question.id] for name in measure_names(done.settings.k)},
        "gold_ranks": {name: ranks.get(name) for name in question.gold},
        "top": [{"id": hit.skill.id, "name": hit.skill.name} for hit in hits[:HITS_KEPT]],
    }


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _percentile(ordered: Sequence[float], share: float) -> float:
    """Nearest rank: the smallest value that at least `share` of all do not exceed."""
    return ordered[math.ceil(share * len(ordered)) - 1]
