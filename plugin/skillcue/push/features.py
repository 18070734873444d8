"""What the gate looks at: numbers about a turn and what the library has for it.

Two rankings are read: that of the turn alone (its context only orders the candidates), and that of
the turn read together with what it refers to. Skills that are at hand already do not count: the
question is whether there is *new* help.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from skillcue_hooks import Hit

__all__ = ["SIGNAL_SETS", "library_features", "new_hits", "signal_set"]

SIGNAL_SETS = ("full", "lexical", "plain")
"""What a retriever's hits carry: evidence and similarity, evidence alone, or neither."""


def signal_set(hits: Sequence[Hit]) -> str:
    """Which of `SIGNAL_SETS` the hits belong to; ``plain`` where there are none."""
    if not hits or "evidence" not in hits[0].signals:
        return "plain"
    return "full" if "calibrated" in hits[0].signals else "lexical"


def new_hits(hits: Iterable[Hit], visible: Collection[str]) -> tuple[Hit, ...]:
    """The hits that the conversation does not show yet."""
    return tuple(hit for hit in hits if hit.skill.id not in visible)


def library_features(alone: Sequence[Hit], joined: Sequence[Hit]) -> Mapping[str, float]:
    """Features of two rankings, none of them with a skill that is at hand.

    head, body
        ``log(1 + evidence)`` of the best head and of the best body among the candidates: how much
        rare vocabulary the turn shares with one skill.
    similar
        The best calibrated similarity.
    lead
        How far the best score lies above the next candidates, in their standard deviations.
    joined_head, joined_body, joined_similar
        The same for the turn together with what it refers to.

    A feature whose signal the hits do not carry is left out; without hits each is 0.

    Args:
        alone: Candidates of the turn, best first.
        joined: Candidates of the turn and its context as one text, best first.
    """
    found = {"lead": _lead(alone)}
    for prefix, hits in (("", alone), ("joined_", joined)):
        for name, signal in (("head", "evidence"), ("body", "evidence_body")):
            found[prefix + name] = math.log1p(max(_best(hits, signal), 0.0))
        found[prefix + "similar"] = _best(hits, "calibrated")
    return found


def _best(hits: Sequence[Hit], signal: str) -> float:
    return max((hit.signals.get(signal, 0.0) for hit in hits), default=0.0)


def _lead(hits: Sequence[Hit]) -> float:
    """0 for fewer than three candidates, where there is no spread to measure; at most 10."""
    if len(hits) < 3:
        return 0.0
    rest = [hit.score for hit in hits[1:]]
    mean = math.fsum(rest) / len(rest)
    spread = math.sqrt(math.fsum((score - mean) ** 2 for score in rest) / len(rest))
    return min((hits[0].score - mean) / spread, 10.0) if spread > 0.0 else 0.0
