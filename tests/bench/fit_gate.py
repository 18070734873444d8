"""Make the constants of the push gate from the labelled conversations over the example skills.

    python tests/bench/fit_gate.py            # prints what cross-validation says, writes nothing
    python tests/bench/fit_gate.py --write    # writes plugin/skillcue/push/gate_weights.json

A logistic regression, fitted by L-BFGS-B, with a strong ridge penalty that pulls every weight to the
same size, `EQUAL`, and to the sign that the meaning of the feature demands; the opposite sign is
forbidden. Equal weights of standardised features lose little on the data at hand and hold up best on
other data (Dawes, 1979), and other libraries are other data: the conversations here are over 48 skills.
Features are in units of the null turns over the library (see `skillcue.push.calibration`), which is
what carries the weights over. Turns whose skill was given before are left out. Needed turns whose right
skill is not first count `WRONG_FIRST`, since advice that leads with a wrong skill is worth less.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gate_rows import Row, auc, conversations, feature_rows, recall_at
from scipy.optimize import minimize

from skillcue import PushSettings, SkillCue
from skillcue.push import calibration as null
from skillcue.push.weights import GATE_VERSION, GateWeights

ROOT = Path(__file__).parents[2]
LABELLED = ROOT / "examples/conversations/labelled"
TARGET = ROOT / "plugin/skillcue/push/gate_weights.json"

RIDGE = 1000.0
EQUAL = 0.3
WRONG_FIRST = 0.5
FOLDS = 10
LEVELS = 400

TEXT = ("wording", "files", "imperative", "numbers", "question", "thanks", "words")
SETS: dict[str, tuple[list[tuple[str, str]], tuple[str, ...]]] = {
    "full": (
        [("skillsight", "minilm"), ("skillsight", "static")],
        ("head", "body", "similar", "joined_head", "joined_body", "joined_similar", "lead", "asks"),
    ),
    "lexical": ([("bm25", "static")], ("head", "body", "joined_head", "joined_body", "lead")),
    "plain": ([("dense", "minilm")], ("lead", "asks")),
}
NEGATIVE = ("question", "thanks")
"""Features that may only count against a need; the others may only count for one."""

Floats = np.ndarray[Any, np.dtype[np.float64]]


def main() -> None:
    """Fit every set; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    talks = list(conversations(sorted(LABELLED.glob("*.jsonl"))))
    sets = {signals: _fit_set(signals, talks) for signals in SETS}
    if write:
        text = json.dumps({"version": GATE_VERSION, "sets": sets}, indent=1, sort_keys=True)
        TARGET.write_text(text + "\n", "utf-8")


def _fit_set(signals: str, talks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    searched, names = SETS[signals]
    features = [*names, *TEXT]
    rows: list[Row] = []
    which: list[int] = []
    parts: list[Floats] = []
    nulls: list[tuple[null.NullFeatures, ...]] = []
    scales: list[Mapping[str, tuple[float, float]]] = []
    for mode, encoder in searched:
        cue = SkillCue(ROOT / "examples/skills", mode=mode, encoder=encoder, cache=False, wait=True)
        null_rows = _null_rows(cue, mode, signals)
        scale = _scale(null_rows, features)
        found = feature_rows(cue, mode, talks, PushSettings())
        found = [row for row in found if not row.given]
        rows += found
        which += [len(parts)] * len(found)
        parts.append(_matrix([row.features for row in found], features, scale))
        nulls.append(null_rows)
        scales.append(scale)
    table = np.vstack(parts)
    signs = [-1 if name in NEGATIVE else 1 for name in features]
    scores = _cross_validated(table, rows, signs)
    _report(signals, rows, scores)
    intercept, fitted = _fit(table, rows, signs)
    weights = {name: round(w, 4) for name, w in zip(features, fitted, strict=True) if abs(w) > 1e-4}
    constants = GateWeights(round(intercept, 4), weights, scales[0], 0.0, 0.0, ())
    landmarks = [null.calibrated(signals, found, constants) for found in nulls]
    levels = [
        landmarks[part].level(score)
        for row, score, part in zip(rows, scores, which, strict=True)
        if not row.need
    ]
    grid = (np.arange(LEVELS) + 0.5) / LEVELS
    return {
        "intercept": constants.intercept,
        "weights": weights,
        "scale": {name: [round(x, 5) for x in scales[0][name]] for name in weights},
        "nothing": round(landmarks[0].nothing, 4),
        "foreign": round(landmarks[0].foreign, 4),
        "levels": [round(float(level), 4) for level in np.quantile(levels, grid)],
    }


def _null_rows(cue: SkillCue, mode: str, signals: str) -> tuple[null.NullFeatures, ...]:
    from skillcue.push.fitting import DEPTH
    from skillcue_hooks import Query

    snapshot = cue.snapshot()

    def search(text: str, context: str) -> Any:
        return cue.search(Query(text, context=context, k=DEPTH), mode, snapshot).hits

    types = cue.fitted_gate(mode, snapshot).types
    found, rows = null.null_features(snapshot.library.skills, search, types)
    if found != signals:
        raise SystemExit(f"mode {mode} gives hits of the kind {found}, not {signals}")
    return rows


def _scale(
    rows: Sequence[null.NullFeatures], features: Sequence[str]
) -> dict[str, tuple[float, float]]:
    scale = {}
    for name in features:
        values = np.array([found[name] for foreign, found in rows if not foreign])
        scale[name] = (float(values.mean()), max(float(values.std()), 1e-3))
    return scale


def _matrix(
    found: Sequence[Mapping[str, float]],
    features: Sequence[str],
    scale: Mapping[str, tuple[float, float]],
) -> Floats:
    return np.array(
        [[(f[name] - scale[name][0]) / scale[name][1] for name in features] for f in found]
    )


def _fit(table: Floats, rows: Sequence[Row], signs: Sequence[int]) -> tuple[float, list[float]]:
    need = np.array([float(row.need) for row in rows])
    counts = np.array([WRONG_FIRST if row.need and not row.first else 1.0 for row in rows])

    def loss(w: Floats) -> tuple[float, Floats]:
        z = table @ w[1:] + w[0]
        error = counts * (1.0 / (1.0 + np.exp(-z)) - need)
        away = w[1:] - EQUAL * np.array(signs)
        value = np.sum(counts * (np.logaddexp(0.0, z) - need * z)) + 0.5 * RIDGE * away @ away
        return float(value), np.concatenate([[error.sum()], table.T @ error + RIDGE * away])

    bounds = [(None, None)] + [(0.0, None) if sign > 0 else (None, 0.0) for sign in signs]
    start = np.zeros(table.shape[1] + 1)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return float(found[0]), [float(weight) for weight in found[1:]]


def _cross_validated(table: Floats, rows: Sequence[Row], signs: Sequence[int]) -> Floats:
    """Scores of turns by weights that were fitted without their conversation."""
    names = np.array([row.conversation for row in rows])
    folds = np.array_split(np.random.default_rng(0).permutation(np.unique(names)), FOLDS)
    scores = np.zeros(len(rows))
    for fold in folds:
        out = np.isin(names, fold)
        kept = [row for row, left in zip(rows, out, strict=True) if not left]
        intercept, weights = _fit(table[~out], kept, signs)
        scores[out] = table[out] @ np.array(weights) + intercept
    return scores


def _report(signals: str, rows: Sequence[Row], scores: Floats) -> None:
    need = np.array([row.need for row in rows])
    needed, others = scores[need], scores[~need]
    first = np.array([row.first for row in rows])[need]
    shares = {}
    for share in (0.05, 0.1):
        told = np.array(recall_at(needed, others, share))
        shares[str(share)] = {
            "recall": round(float(told.mean()), 3),
            "first": round(float(first[told].mean()), 3),
        }
    record = {"signals": signals, "turns": len(rows), "needed": int(need.sum())}
    print(json.dumps({**record, "auc": round(auc(needed, others), 3), **shares}))


if __name__ == "__main__":
    main()
