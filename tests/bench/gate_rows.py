"""Labelled conversations to features, as the fit of the gate needs them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from skillcue import PushSettings, SkillCue
from skillcue.push.cues import text_cues
from skillcue.push.features import library_features, new_hits
from skillcue.push.query import turn_query
from skillcue_hooks import Hit, Query

__all__ = ["Row", "auc", "conversations", "feature_rows", "recall_at"]

Offers = Callable[[Mapping[str, float], Sequence[Hit]], Iterable[str]]
"""(features of a turn, its candidates) to the ids of the skills that are offered."""

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled user turn.

    Attributes:
        conversation: Id.
        need: A skill that is not at hand would help.
        given: Its skill was supplied before.
        features: What the gate looks at.
        first: The first hit is right.
    """

    conversation: str
    need: bool
    given: bool
    features: Mapping[str, float]
    first: bool


def conversations(paths: Iterable[Path]) -> Iterator[Mapping[str, Any]]:
    """The labelled conversations of some JSON-lines files."""
    for path in paths:
        for line in path.read_text("utf-8").splitlines():
            if line.strip():
                yield json.loads(line)


def feature_rows(
    cue: SkillCue,
    mode: str,
    talks: Iterable[Mapping[str, Any]],
    push: PushSettings,
    offers: Offers | None = None,
) -> list[Row]:
    """Features of every user turn.

    Args:
        cue: Searches.
        mode: Its mode.
        talks: Labelled conversations.
        push: Limits of the query.
        offers: What is offered on a turn, which is at hand from then on; None supplies each skill
            when it is first needed.
    """
    snapshot = cue.snapshot()
    gate = cue.fitted_gate(mode, snapshot)
    rows = []
    for talk in talks:
        earlier: list[str] = []
        visible: set[str] = set()
        for turn in talk["turns"]:
            if turn["role"] != "user":
                continue
            text, label = turn["text"], turn["label"]
            query = turn_query(text, earlier[-6:], push.query_tokens, push.context_tokens)
            wanted = Query(query.text, context=query.context, k=push.depth)
            alone = new_hits(cue.search(wanted, mode, snapshot).hits, visible)
            features = {**library_features(alone), **text_cues(text), **gate.types(text)}
            right = {*label["gold"], *label["also_ok"]}
            rows.append(
                Row(
                    talk["_id"],
                    label["need"],
                    label["already_given"],
                    features,
                    bool(alone) and alone[0].skill.id in right,
                )
            )
            earlier.append(text)
            if offers is not None:
                visible.update(offers(features, alone))
            elif label["need"]:
                visible.update(label["gold"])
    return rows


def auc(needed: Floats, others: Floats) -> float:
    """Chance that a needed turn scores higher than another; ties count half."""
    if not len(needed) or not len(others):
        return float("nan")
    higher = (needed[:, None] > others).mean()
    return float(higher + 0.5 * (needed[:, None] == others).mean())


def recall_at(needed: Floats, others: Floats, share: float) -> Sequence[bool]:
    """Which needed turns score above what at most `share` of the others exceed."""
    return list(needed > np.quantile(others, 1.0 - share, method="higher"))
