"""Whether an answer says more than that something is always the nearest."""

from __future__ import annotations

from skillcue_hooks.contracts import Ranking

__all__ = ["holds_a_word"]


def holds_a_word(ranking: Ranking) -> bool:
    """Whether a hit holds a word of the query; so it counts where a mode does not say.

    Where similarity of meaning ranks, there are hits for anything.
    """
    return any(
        hit.signals.get("matched", 1.0) + hit.signals.get("evidence_body", 0.0)
        for hit in ranking.hits
    )
