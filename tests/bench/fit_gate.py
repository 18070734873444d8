"""Make the constants of the push gate from the labelled conversations over the example skills.

    python tests/bench/fit_gate.py            # prints what cross-validation says, writes nothing
    python tests/bench/fit_gate.py --write    # writes plugin/skillcue/push/gate_weights.json

A logistic regression, fitted by L-BFGS-B, with a strong ridge penalty that pulls every weight to the
same size, `EQUAL`, and to the sign that the meaning of the feature demands; the opposite sign is
forbidden. Equal weights of standardised features lose little on the data at hand and hold up best on
other data (Dawes, 1979), and other libraries are other data: the conversations here are over 48 skills.
Features are in units of the null turns over the library (see `skillcue.push.calibration`), which is
what carries the weights over. The levels come from conversations in which the gate speaks itself, with
all that it misses: they must be like those to come. Turns whose skill was given before are left out. Needed turns whose right
skill is not first count `WRONG_FIRST`, since advice that leads with a wrong skill is worth less.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from gate_rows import Offers, Row, auc, conversations, feature_rows, recall_at

from skillcue import GateSettings, PushSettings, SkillCue
from skillcue.push import calibration as null
from skillcue.push.cues import CUES
from skillcue.push.logistic import Floats, fit_logistic
from skillcue.push.query import CONTEXT_TOKENS, DEPTH, QUERY_TOKENS, turn_query
from skillcue.push.weights import AGAINST, GATE_VERSION, GateWeights
from skillcue_hooks import Hit, Query

ROOT = Path(__file__).parents[2]
LABELLED = ROOT / "examples/conversations/labelled"
TARGET = ROOT / "plugin/skillcue/push/gate_weights.json"

RIDGE = 1000.0
EQUAL = 0.3
WRONG_FIRST = 0.5
FOLDS = 10
LEVELS = 400
LEAST_CUE = 0.1
"""Unit of a plain cue that turns that need nothing hardly ever show."""
REPLAYED = 0.05
"""Share of false pushes in the conversations whose turns give the levels."""

TEXT = ("wording", "files", "imperative", "numbers", "question", "thanks", "words")
SETS: dict[str, tuple[list[tuple[str, str]], tuple[str, ...]]] = {
    "full": (
        [("skillsight", "minilm"), ("skillsight", "static")],
        ("head", "body", "similar", "lead", "asks"),
    ),
    "lexical": ([("bm25", "static")], ("head", "body", "lead")),
    "plain": ([("dense", "minilm")], ("lead", "asks")),
}

Scores = Callable[[Floats, Sequence[Row]], Floats]
"""(features of turns, the turns) to scores."""


def main() -> None:
    """Fit every set; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    talks = list(conversations(sorted(LABELLED.glob("*.jsonl"))))
    sets = {signals: _fit_set(signals, talks) for signals in SETS}
    if write:
        text = json.dumps({"version": GATE_VERSION, "sets": sets}, indent=1, sort_keys=True)
        TARGET.write_text(_short_lists(text) + "\n", "utf-8")


def _short_lists(text: str) -> str:
    """A list of numbers on one line, as nobody reads them one by one."""
    return re.sub(r"\[[^\[\]{}]*\]", lambda found: " ".join(found[0].split()), text)


def _fit_set(signals: str, talks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    searched, names = SETS[signals]
    features = [*names, *TEXT]
    parts = [_part(signals, mode, encoder, talks, features) for mode, encoder in searched]
    rows = [row for part in parts for row in part.rows]
    table = np.vstack([part.table(part.rows) for part in parts])
    signs = [-1 if name in AGAINST else 1 for name in features]
    folds = _cross_validated(table, rows, signs)
    _report(signals, rows, folds(table, rows))
    intercept, fitted = _fit(table, rows, signs)
    weights = {name: round(w, 4) for name, w in zip(features, fitted, strict=True) if abs(w) > 1e-4}
    constants = GateWeights(round(intercept, 4), weights, parts[0].scale, 0.0, 0.0, ())
    first = _levels(parts, signals, constants, folds, None)
    levels = _levels(parts, signals, constants, folds, float(np.quantile(first, 1.0 - REPLAYED)))
    landmarks = null.calibrated(signals, parts[0].nulls, constants)
    grid = (np.arange(LEVELS) + 0.5) / LEVELS
    return {
        "intercept": constants.intercept,
        "weights": weights,
        "scale": {name: [round(x, 5) for x in parts[0].scale[name]] for name in weights},
        "nothing": round(landmarks.nothing, 4),
        "foreign": round(landmarks.foreign, 4),
        "levels": [round(float(level), 4) for level in np.quantile(levels, grid)],
    }


@dataclass(frozen=True)
class _Part:
    """The labelled turns, searched in one mode."""

    cue: SkillCue
    mode: str
    talks: Sequence[Mapping[str, Any]]
    features: Sequence[str]
    nulls: tuple[null.NullFeatures, ...]
    scale: Mapping[str, tuple[float, float]]
    rows: Sequence[Row]

    def table(self, rows: Sequence[Row]) -> Floats:
        return _matrix([row.features for row in rows], self.features, self.scale)

    def replayed(self, offers: Offers | None) -> list[Row]:
        found = feature_rows(self.cue, self.mode, self.talks, PushSettings(), offers)
        return [row for row in found if not row.given]


def _part(
    signals: str, mode: str, encoder: str, talks: Sequence[Mapping[str, Any]], features: list[str]
) -> _Part:
    cue = SkillCue(ROOT / "examples/skills", mode=mode, encoder=encoder, cache=False, wait=True)
    nulls = _null_rows(cue, mode, signals)
    part = _Part(cue, mode, talks, features, nulls, _scale(nulls, features), ())
    return replace(part, rows=part.replayed(None))


def _levels(
    parts: Sequence[_Part],
    signals: str,
    constants: GateWeights,
    folds: Scores,
    threshold: float | None,
) -> Floats:
    """Levels of turns that need nothing, in conversations in which the gate itself speaks from
    `threshold` on, or in which each skill is supplied."""
    levels = []
    for part in parts:
        landmarks = null.calibrated(signals, part.nulls, constants)

        def offers(
            features: Mapping[str, float],
            hits: Sequence[Hit],
            part: _Part = part,
            landmarks: null.Calibration = landmarks,
        ) -> list[str]:
            found = _matrix([features], part.features, part.scale)[0]
            weights = np.array([constants.weights.get(name, 0.0) for name in part.features])
            level = landmarks.level(float(found @ weights) + constants.intercept)
            near = [h for h in hits[:3] if h.score >= GateSettings().runner_up * hits[0].score]
            return [hit.skill.id for hit in near] if level >= (threshold or 0.0) else []

        rows = part.rows if threshold is None else part.replayed(offers)
        scores = folds(part.table(rows), rows)
        levels += [landmarks.level(s) for s, r in zip(scores, rows, strict=True) if not r.need]
    return np.array(levels)


def _null_rows(cue: SkillCue, mode: str, signals: str) -> tuple[null.NullFeatures, ...]:
    snapshot = cue.snapshot()

    def search(text: str, earlier: Sequence[str]) -> Any:
        query = turn_query(text, earlier, QUERY_TOKENS, CONTEXT_TOKENS)
        return cue.search(Query(query.text, context=query.context, k=DEPTH), mode, snapshot).hits

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
        scale[name] = (float(values.mean()), max(float(values.std()), LEAST_CUE * (name in CUES)))
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
    anchor = EQUAL * np.array(signs)
    intercept, weights = fit_logistic(
        table, need, anchor=anchor, signs=signs, ridge=RIDGE, counts=counts
    )
    return intercept, [float(weight) for weight in weights]


def _cross_validated(table: Floats, rows: Sequence[Row], signs: Sequence[int]) -> Scores:
    """Gives turns the scores of weights that were fitted without their conversation."""
    names = np.array([row.conversation for row in rows])
    folds = np.array_split(np.random.default_rng(0).permutation(np.unique(names)), FOLDS)
    fitted = {}
    for fold in folds:
        out = np.isin(names, fold)
        kept = [row for row, left in zip(rows, out, strict=True) if not left]
        intercept, weights = _fit(table[~out], kept, signs)
        fitted.update(dict.fromkeys(fold.tolist(), (intercept, np.array(weights))))

    def scores(table: Floats, rows: Sequence[Row]) -> Floats:
        pairs = [fitted[row.conversation] for row in rows]
        found = zip(table, pairs, strict=True)
        return np.array([line @ weights + intercept for line, (intercept, weights) in found])

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
