"""Skills, hits and decisions as plain data for ``--json``."""

from __future__ import annotations

from typing import Any

from skillcue_hooks import Advice, Diagnostic, Hit, Skill
from skillcue_hooks.protocols import SkillSource

__all__ = ["advice_record", "diagnostic_record", "hit_record", "skill_record", "source_record"]


def skill_record(skill: Skill) -> dict[str, Any]:
    """A skill without its body."""
    return {
        "id": skill.id,
        "name": skill.name,
        "description": skill.description,
        "category": skill.category,
        "tags": list(skill.tags),
        "source": skill.source,
        "path": str(skill.path),
        "trust": skill.trust,
        "allowed_tools": list(skill.allowed_tools),
        "user_invocable": skill.user_invocable,
    }


def source_record(source: SkillSource) -> dict[str, Any]:
    """Where skills come from; `digest` is None where nothing was fetched."""
    place = getattr(source, "location", None) or getattr(source, "path", None)
    return {
        "label": source.label,
        "trust": source.trust,
        "place": None if place is None else str(place),
        "digest": getattr(source, "digest", None) or None,
    }


def diagnostic_record(item: Diagnostic) -> dict[str, Any]:
    """A problem, as it stands in the reports."""
    return {
        "code": item.code,
        "severity": item.severity,
        "path": str(item.path),
        "line": item.line,
        "message": item.message,
        "remedy": item.remedy,
    }


def hit_record(hit: Hit) -> dict[str, Any]:
    """A hit, its skill included."""
    return {
        "rank": hit.rank,
        "score": hit.score,
        "signals": dict(sorted(hit.signals.items())),
        **skill_record(hit.skill),
    }


def advice_record(advice: Advice) -> dict[str, Any]:
    """A decision of the push advisor. Times are left out: equal input gives equal bytes."""
    return {
        "decision": advice.decision,
        "mode": advice.mode,
        "skills": [hit.skill.name for hit in advice.hits],
        "ids": [hit.skill.id for hit in advice.hits],
        "confidence": round(advice.confidence, 4),
        "threshold": round(advice.threshold, 4),
        "reason": advice.reason,
        "tokens": advice.tokens,
        "text": advice.text,
        "degraded": advice.degraded,
        "rejected": [
            {
                "name": rejection.hit.skill.name,
                "id": rejection.hit.skill.id,
                "score": rejection.hit.score,
                "reason": rejection.reason,
            }
            for rejection in advice.rejected
        ],
    }
