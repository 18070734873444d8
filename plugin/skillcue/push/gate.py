"""The first push gate: speak only when the message and some skill share enough that is rare.

Something is always the best hit, so the best score says little. What separates turns a skill
helps with from thanks, small talk and general questions is how much *rare* vocabulary a turn
shares with the library: the evidence mass of the best head and of the best body, each in units of
one term that occurs nowhere else (see `skillcue_adapters.bm25`). On labelled conversations over
189 skills it separates the two far better than the distance of the best score from the library's
mean, which one accidental rare word sends up: docs/explanation/push.md has the numbers.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields

from skillcue_hooks import Hit, Ranking, Rejection
from skillcue_hooks.errors import ConfigurationError

__all__ = ["GateSettings", "Verdict", "judge"]


@dataclass(frozen=True, slots=True)
class GateSettings:
    """Thresholds of the gate.

    Attributes:
        min_evidence: What ``log(1 + head) + log(1 + max(head, body))`` must reach, `head` and
            `body` being the largest evidence masses among the candidates; 0 speaks whenever
            anything matches. The default passes one and a half rare terms in a head, or one
            there and two in a body; it spoke on a tenth of labelled turns that need nothing.
        min_z: For retrievers without evidence signals: standard deviations the best score must
            lie above the library's mean.
        runner_up: A further skill is offered when its score reaches this share of the best one's,
            0 to 1.

    Raises:
        ConfigurationError: A threshold is not a finite number, or `runner_up` is no share.
    """

    min_evidence: float = 1.75
    min_z: float = 4.0
    runner_up: float = 0.7

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not isinstance(value, int | float) or not math.isfinite(value):
                raise ConfigurationError(
                    f"Gate setting {item.name} is {value!r}.", "Use a finite number."
                )
        if not 0 <= self.runner_up <= 1:
            raise ConfigurationError(
                f"Gate setting runner_up is {self.runner_up}.", "Use a share from 0 to 1."
            )


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
    limit: int,
    settings: GateSettings,
    visible: Collection[str] = (),
) -> Verdict:
    """Decide which hits of `ranking` are worth a word.

    Args:
        ranking: Candidates that may be pushed, best first.
        limit: Offer at most this many.
        settings: Thresholds.
        visible: Ids of skills the conversation shows already. They are not offered again, but
            they still count as the best: what lies far behind a skill at hand is no help.
    """
    if not ranking.hits:
        return Verdict(
            (), (), 0.0, settings.min_evidence, "no skill shares a word with the message"
        )
    best = ranking.hits[0]
    measure, confidence, threshold = _strength(ranking.hits, settings)
    if confidence < threshold:
        rejected = tuple(Rejection(hit, "the gate stayed closed") for hit in ranking.hits)
        reason = f"nothing stands out: {measure} {confidence:.2f} is below {threshold:.2f}"
        return Verdict((), rejected, confidence, threshold, reason)
    offered: list[Hit] = []
    rejections: list[Rejection] = []
    for hit in ranking.hits:
        bar = _rejection(hit, best, settings, visible, len(offered) >= limit)
        if bar:
            rejections.append(Rejection(hit, bar))
        else:
            offered.append(hit)
    if offered:
        name = offered[0].skill.name
        reason = f"{name} stands out: {measure} {confidence:.2f} reaches {threshold:.2f}"
    else:
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


def _strength(hits: Sequence[Hit], settings: GateSettings) -> tuple[str, float, float]:
    """(name of the measure, its value, threshold)."""
    signals = hits[0].signals
    if "evidence" in signals:
        head = max(hit.signals.get("evidence", 0.0) for hit in hits)
        body = max(hit.signals.get("evidence_body", 0.0) for hit in hits)
        # A strong head stands for a body too: requests are short, and libraries may lack bodies.
        strength = math.log1p(head) + math.log1p(max(head, body))
        return "evidence", strength, settings.min_evidence
    if "z" in signals:
        return "z", signals["z"], settings.min_z
    return "lead over the other candidates", _z_among(hits), 1.0


def _z_among(hits: Sequence[Hit]) -> float:
    """For retrievers without a ``z`` signal: how far the best lies above the other candidates.

    With fewer than three candidates there is no spread to measure, and the best passes.
    """
    rest = [hit.score for hit in hits[1:]]
    if len(rest) < 2:
        return 1.0
    spread = statistics.pstdev(rest)
    lead = hits[0].score - statistics.fmean(rest)
    return lead / spread if spread else (1.0 if lead > 0 else 0.0)
