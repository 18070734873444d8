"""What the gate looks at: numbers about a turn and what the library has for it.

Skills that are at hand already do not count: the question is whether there is *new* help.
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


def library_features(hits: Sequence[Hit]) -> Mapping[str, float]:
    """Features of a ranking without the skills that are at hand.

    head, body
        ``log(1 + evidence)`` of the best head and of the best body among the candidates: how much
        rare vocabulary the turn shares with one skill.
    similar
        The best calibrated similarity.
    lead
        How far the best score lies above the next candidates, in their standard deviations.

    Each is 0 where no hit carries the signal.

    Args:
        hits: Candidates, best first.
    """
    return {
        "head": math.log1p(max(_best(hits, "evidence"), 0.0)),
        "body": math.log1p(max(_best(hits, "evidence_body"), 0.0)),
        "similar": _best(hits, "calibrated"),
        "lead": _lead(hits),
    }


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
