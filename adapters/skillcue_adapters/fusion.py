"""Ways to make one score of several: pure functions over arrays, one skill a position."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skillcue_adapters.normalization import min_max, z_scores
from skillcue_adapters.selection import top_k

__all__ = [
    "best_positions",
    "blend",
    "evidence_gain",
    "published_fusion",
    "reciprocal_ranks",
]

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]

EVIDENCE_OFFSET = 0.5
"""Evidence that says nothing yet: half of one term that occurs nowhere else."""


def reciprocal_ranks(scores: Floats, matched: npt.NDArray[np.bool_], depth: int, k: int) -> Floats:
    """``1 / (k + rank)`` for the best `depth` of what matched, 0.0 for the rest.

    The sum over several rankings is reciprocal rank fusion (Cormack, Clarke and Buettcher 2009,
    https://doi.org/10.1145/1571941.1572114, where k is 60).

    Args:
        scores: Higher is better; equal scores rank by position.
        matched: What is ranked at all.
        depth: 0 or more.
        k: How little the first ranks differ, 0 or more.
    """
    best = top_k(scores, matched, depth)
    gains = np.zeros(len(scores))
    gains[best] = 1.0 / (k + np.arange(1, len(best) + 1))
    return gains


def evidence_gain(evidence: Floats) -> Floats:
    """What absolute evidence is worth: ``log(1 + max(0, evidence - 0.5))``.

    A score that is normalised among candidates always promotes one of them. This one does not:
    when query and library share one accidental word it stays near zero.

    Args:
        evidence: In units of one term that occurs nowhere else, 0 or more.
    """
    return np.log1p(np.maximum(0.0, evidence - EVIDENCE_OFFSET))


def blend(semantic: Floats, lexical: Floats, candidates: Positions, alpha: float) -> Floats:
    """``alpha * minmax(semantic) + (1 - alpha) * minmax(lexical)`` within `candidates`.

    The others follow below all candidates in the order of `semantic`.

    Args:
        semantic: Similarity of every skill.
        lexical: Lexical score of every skill.
        candidates: Positions, at least one.
        alpha: 0 to 1.
    """
    inside = alpha * min_max(semantic[candidates])
    inside += (1.0 - alpha) * min_max(lexical[candidates])
    return _candidates_first(semantic, candidates, inside)


def published_fusion(semantic: Floats, lexical: Floats, candidates: Positions) -> Floats:
    """``z(semantic) + max(0, z(lexical))`` within `candidates` (SkillSight).

    The others follow below all candidates in the order of `semantic`.
    """
    inside = z_scores(semantic[candidates]) + np.maximum(0.0, z_scores(lexical[candidates]))
    return _candidates_first(semantic, candidates, inside)


def best_positions(depth: int, *lists: Floats) -> Positions:
    """Positions among the best `depth` of any of `lists`, ascending."""
    every = np.ones(len(lists[0]), dtype=np.bool_)
    return np.unique(np.concatenate([top_k(scores, every, depth) for scores in lists]))


def _candidates_first(semantic: Floats, candidates: Positions, inside: Floats) -> Floats:
    outside = np.ones(len(semantic), dtype=np.bool_)
    outside[candidates] = False
    scores = np.zeros(len(semantic))
    scores[candidates] = inside
    if outside.any():
        rest = semantic[outside]
        scores[outside] = float(inside.min()) - 1.0 - (float(rest.max()) - rest)
    return scores
