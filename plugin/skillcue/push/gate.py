"""The first push gate: speak only when the best skill stands out from the whole library.

Raw retrieval scores cannot tell "this helps" from "nothing here fits, but something is always
best". A score relative to the library can: the number of standard deviations the best lexical
score lies above the mean of all skills for the same query. It is joined by an absolute condition,
so that one ordinary word shared with one skill is never enough.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection
from dataclasses import dataclass

from skillcue_hooks import Hit, Ranking, Rejection

__all__ = ["GateSettings", "Verdict", "judge"]


@dataclass(frozen=True, slots=True)
class GateSettings:
    """Thresholds of the gate.

    Attributes:
        min_z: Standard deviations the best score must lie above the library's mean.
        min_evidence: Evidence mass (see `skillcue_adapters.bm25`) the best skill needs; 1.0 is
            one term that no other skill has.
        small_library: Below this many skills a z-score means little, and evidence alone decides.
        min_evidence_small: Evidence mass needed in a small library.
        runner_up: A further skill is offered when its score reaches this share of the best one's.
    """

    min_z: float = 4.0
    min_evidence: float = 0.8
    small_library: int = 30
    min_evidence_small: float = 1.0
    runner_up: float = 0.7


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says about a ranking.

    Attributes:
        offered: Hits to offer, best first; empty to stay silent.
        rejected: The other hits, each with a reason.
        confidence: The number that decided.
        threshold: What it had to reach.
        reason: One sentence.
    """

    offered: tuple[Hit, ...]
    rejected: tuple[Rejection, ...]
    confidence: float
    threshold: float
    reason: str


def judge(
    ranking: Ranking,
    library_size: int,
    limit: int,
    settings: GateSettings,
    visible: Collection[str] = (),
) -> Verdict:
    """Decide which hits of `ranking` are worth a word.

    Args:
        ranking: Candidates that may be pushed, best first.
        library_size: Number of skills the retriever ranked.
        limit: Offer at most this many.
        settings: Thresholds.
        visible: Ids of skills the conversation shows already. They are not offered again, but
            they still count as the best: what lies far behind a skill at hand is no help.
    """
    if not ranking.hits:
        return Verdict((), (), 0.0, settings.min_z, "no skill shares a word with the message")
    best = ranking.hits[0]
    measure, confidence, threshold = _strength(ranking, library_size, settings)
    evidence = best.signals.get("evidence")
    closed = ""
    if confidence < threshold:
        closed = f"nothing stands out: {measure} {confidence:.2f} is below {threshold:.2f}"
    elif evidence is not None and evidence < settings.min_evidence:
        closed = f"too little in common with {best.skill.name}: evidence {evidence:.2f}"
    if closed:
        rejected = tuple(Rejection(hit, "the gate stayed closed") for hit in ranking.hits)
        return Verdict((), rejected, confidence, threshold, closed)
    offered: list[Hit] = []
    rejections: list[Rejection] = []
    for hit in ranking.hits:
        reason = _rejection(hit, best, settings, visible, len(offered) >= limit)
        if reason:
            rejections.append(Rejection(hit, reason))
        else:
            offered.append(hit)
    reason = f"{best.skill.name} stands out: {measure} {confidence:.2f} reaches {threshold:.2f}"
    if not offered:
        reason = "what fits is already in the conversation"
    return Verdict(tuple(offered), tuple(rejections), confidence, threshold, reason)


def _rejection(
    hit: Hit, best: Hit, settings: GateSettings, visible: Collection[str], full: bool
) -> str | None:
    share = settings.runner_up if best.score > 0 else 1.0  # a share of a negative score is none
    if hit.score < share * best.score:
        return f"clearly behind {best.skill.name}"
    if hit.skill.id in visible:
        return "already in the conversation"
    return "enough is offered" if full else None


def _strength(
    ranking: Ranking, library_size: int, settings: GateSettings
) -> tuple[str, float, float]:
    """(name of the measure, its value for the best hit, threshold)."""
    signals = ranking.hits[0].signals
    if library_size < settings.small_library and "evidence" in signals:
        return "evidence", signals["evidence"], settings.min_evidence_small
    if "z" in signals:
        return "z", signals["z"], settings.min_z
    return "z among candidates", _z_among(ranking), 1.0


def _z_among(ranking: Ranking) -> float:
    """For retrievers without a ``z`` signal: how far the best lies above the other candidates.

    With fewer than three candidates there is no spread to measure, and the best passes.
    """
    rest = [hit.score for hit in ranking.hits[1:]]
    if len(rest) < 2:
        return 1.0
    spread = statistics.pstdev(rest)
    lead = ranking.hits[0].score - statistics.fmean(rest)
    return lead / spread if spread else (1.0 if lead > 0 else 0.0)
