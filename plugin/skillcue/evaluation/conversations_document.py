"""The evaluation of push as one JSON document, from which table and report are drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from skillcue.evaluation.compare import CONFIDENCE
from skillcue.evaluation.conversations import Labelled
from skillcue.evaluation.conversations_measures import ROUNDS, PushScores
from skillcue.evaluation.conversations_run import PushRun, TurnOutcome
from skillcue.evaluation.environment import environment
from skillcue.evaluation.model_costs import model_fields, spent_fields
from skillcue.evaluation.runner import RunSettings
from skillcue.push.settings import PushSettings
from skillcue_hooks.contracts import Skill

__all__ = ["SCHEMA", "VERSION", "PushEvaluated", "make_push_document"]

SCHEMA = "skillcue-push-evaluation"
VERSION = 1
"""Raised when a field of the document changes its meaning or goes away."""


@dataclass(frozen=True, slots=True)
class PushEvaluated:
    """What was run.

    Attributes:
        data: On what.
        settings: Of the modes.
        push: Of the advisor.
        runs: What each mode decided.
        baseline: The mode that others are compared with.
    """

    data: Labelled
    settings: RunSettings
    push: PushSettings
    runs: Sequence[PushRun]
    baseline: str


def make_push_document(done: PushEvaluated) -> dict[str, Any]:
    """Score what was run."""
    scores = {run.mode: PushScores(run.outcomes) for run in done.runs}
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "measured": {"date": datetime.now(UTC).isoformat(timespec="seconds"), **environment()},
        "dataset": _dataset(done),
        "settings": {
            "modes": [run.mode for run in done.runs],
            "baseline": done.baseline,
            "encoder": done.settings.encoder,
            "bodies": done.settings.bodies,
            **model_fields(done.settings),
            "gate": asdict(done.push.gate),
            "confidence": CONFIDENCE,
            "rounds": ROUNDS,
        },
        "modes": [
            {**_mode(run, scores[run.mode]), **spent_fields(done.settings, run.cost)}
            for run in done.runs
        ],
        "comparisons": [
            _comparison(mode, done.baseline, scores) for mode in scores if mode != done.baseline
        ],
        "turns": _turns(done),
    }


def _dataset(done: PushEvaluated) -> dict[str, Any]:
    labels = [outcome.label for outcome in done.runs[0].outcomes]
    return {
        "name": done.data.name,
        "hash": done.data.hash,
        "files": list(done.data.files),
        "skills": len(done.data.pool.skills),
        "conversations": len(done.data.conversations),
        "turns": len(labels),
        **{group: sum(lb.group == group for lb in labels) for group in ("need", "given", "none")},
        "notes": list(done.data.pool.notes),
    }


def _mode(run: PushRun, scores: PushScores) -> dict[str, Any]:
    times = sorted(run.seconds)
    return {
        "mode": run.mode,
        "auc": scores.auc(),
        "at_setting": scores.at_setting(),
        "threshold": run.outcomes[-1].threshold,
        "at_false": scores.at_false_shares(),
        "curve": scores.curve(),
        "kinds": scores.kinds(),
        "tokens": run.tokens,
        "degraded": sum(outcome.degraded is not None for outcome in run.outcomes),
        "times": {
            "p50_ms": round(_percentile(times, 0.5) * 1000, 3),
            "p95_ms": round(_percentile(times, 0.95) * 1000, 3),
        },
    }


def _comparison(mode: str, baseline: str, scores: Mapping[str, PushScores]) -> dict[str, Any]:
    """AUC of a mode minus that of the baseline, over the same resamples."""
    import numpy as np

    areas = [scores[name].auc()["mean"] for name in (mode, baseline)]
    found: dict[str, Any] = {"mode": mode, "baseline": baseline, "auc": None}
    if None not in areas:
        drawn = scores[mode].area_samples() - scores[baseline].area_samples()
        ends = np.nanquantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        low, high = map(float, ends)
        found["auc"] = {"mean": areas[0] - areas[1], "low": low, "high": high}
    return found


def _turns(done: PushEvaluated) -> list[dict[str, Any]]:
    skills = done.data.pool.skills
    columns = zip(*(run.outcomes for run in done.runs), strict=True)
    return [
        {
            "conversation": outcomes[0].conversation,
            "number": outcomes[0].number,
            "text": outcomes[0].text,
            "kind": outcomes[0].label.kind,
            "group": outcomes[0].label.group,
            "right": _names(sorted(outcomes[0].label.right), skills),
            "modes": {
                run.mode: _answer(outcome, skills)
                for run, outcome in zip(done.runs, outcomes, strict=True)
            },
        }
        for outcomes in columns
    ]


def _answer(outcome: TurnOutcome, skills: Mapping[str, Skill]) -> dict[str, Any]:
    right = outcome.label.right
    return {
        "confidence": outcome.confidence,
        "score": outcome.score,
        "named": outcome.always,
        "first": _names([outcome.first], skills)[0] if outcome.first else "",
        "first_right": outcome.first in right,
        "offered": _names(outcome.offered, skills),
        "right_first": bool(outcome.offered) and outcome.offered[0] in right,
        "at_hand": _names(sorted(outcome.at_hand), skills),
        "repeated": bool(outcome.repeated),
    }


def _names(ids: Sequence[str], skills: Mapping[str, Skill]) -> list[str]:
    return [skills[name].name for name in ids]


def _percentile(ordered: Sequence[float], share: float) -> float:
    """Nearest rank: the smallest value that at least `share` of all do not exceed."""
    return ordered[math.ceil(share * len(ordered)) - 1]
