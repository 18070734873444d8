"""What is told about a decision, a lookup and a load: one set of names for all observers.

Values are text, numbers, booleans or tuples of text, as OpenTelemetry attributes must be; what is
not known is left out. Without `text` nothing holds words of a conversation or of an exception that
may quote one. docs/reference/telemetry.md describes every name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from skillcue.evidence import holds_a_word
from skillcue.push.budget import estimate_tokens
from skillcue.push.judge import NOT_JUDGED, gate_saw_all
from skillcue_hooks.contracts import Advice, LoadedSkill, Query, Ranking
from skillcue_hooks.language import Usage

__all__ = [
    "NEXT",
    "SESSION_KEYS",
    "Facts",
    "advice_facts",
    "load_facts",
    "lookup_facts",
    "next_facts",
    "session_hash",
    "usage_facts",
]

Facts = dict[str, str | bool | int | float | tuple[str, ...]]

NEXT = "next"
"""Kind of the stored event that says what was suggested after a load."""
SESSION_KEYS = ("thread_id", "session_id")
"""Run-time values that name the conversation; the first that is there counts."""
SESSION_CHARS = 16
"""Length of the hash of a session, hex digits."""
TEXT_CHARS = 2_000
"""Most that is kept of a user's text or a query, characters."""
SHOWN_CHARS = 300
"""As much of a description as a result list shows, characters."""

_FAILED = re.compile(r"push failed: (\w+)")


def advice_facts(advice: Advice, context: Mapping[str, Any], *, text: bool) -> Facts:
    """What one push decision was.

    Args:
        advice: The decision.
        context: Run-time values of the framework.
        text: Add the words of the user and the reason.
    """
    turn = advice.turn
    failed = _FAILED.match(advice.reason)
    told: dict[str, Any] = {
        **_common(advice.mode, advice.degraded, advice.cost, context),
        "skillcue.decision": advice.decision,
        "skillcue.skills": tuple(hit.skill.id for hit in advice.hits),
        "skillcue.candidates": len(advice.hits) + len(advice.rejected),
        "skillcue.confidence": round(advice.confidence, 6),
        "skillcue.threshold": round(advice.threshold, 6),
        "skillcue.tokens": advice.tokens,
        "skillcue.unjudged": NOT_JUDGED in (advice.degraded or ""),
        "skillcue.named": bool(turn and turn.explicit),
        "skillcue.shadow": advice.shadow,
        "error.type": failed.group(1) if failed else None,
    }
    if text:
        told["skillcue.text"] = turn and turn.user_text[:TEXT_CHARS]
        told["skillcue.reason"] = advice.reason
    return _known(told)


def lookup_facts(
    query: Query, ranking: Ranking, context: Mapping[str, Any], *, text: bool
) -> Facts:
    """What one lookup found.

    Args:
        query: What was looked for.
        ranking: What was found.
        context: Run-time values of the framework.
        text: Add the words of the query.
    """
    shown = (f"{h.skill.name}: {h.skill.description[:SHOWN_CHARS]}" for h in ranking.hits)
    return _known(
        {
            **_common(ranking.mode, ranking.degraded, ranking.cost, context),
            "skillcue.skills": tuple(hit.skill.id for hit in ranking.hits),
            "skillcue.k": query.k,
            "skillcue.offset": query.offset,
            "skillcue.total": ranking.total,
            "skillcue.miss": _missed(query, ranking),
            "skillcue.cached": ranking.cached,
            "skillcue.tokens": estimate_tokens("\n".join(shown)),
            "skillcue.text": query.text[:TEXT_CHARS] if text else None,
        }
    )


def load_facts(loaded: LoadedSkill, context: Mapping[str, Any]) -> Facts:
    """What one load gave.

    Args:
        loaded: What was read.
        context: Run-time values of the framework.
    """
    return _known(
        {
            "skillcue.session": session_hash(context),
            "skillcue.skills": (loaded.skill.id,),
            "skillcue.trust": loaded.trust,
            "skillcue.file": loaded.file,
            "skillcue.page": loaded.page,
            "skillcue.pages": loaded.pages,
            "skillcue.tokens": estimate_tokens(loaded.text),
        }
    )


def next_facts(read: str, shown: Sequence[str], context: Mapping[str, Any]) -> Facts:
    """What was suggested after a load.

    Args:
        read: Id of the skill that was loaded.
        shown: Ids of the skills that were suggested.
        context: Run-time values of the framework.
    """
    told = {"skillcue.session": session_hash(context), "skillcue.skills": (read, *shown)}
    return _known(told)


def session_hash(context: Mapping[str, Any]) -> str | None:
    """A hash of what the run says about its conversation; None where it says nothing.

    It is a hash, not a secret: whoever guesses the id can check the guess.
    """
    named = next((context[key] for key in SESSION_KEYS if context.get(key) is not None), None)
    if named is None:
        return None
    data = f"session {named}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:SESSION_CHARS]


def usage_facts(cost: Usage) -> dict[str, Any]:
    """What language models took; nothing where none was asked."""
    if not cost.calls:
        return {}
    return {
        "skillcue.model.calls": cost.calls,
        "gen_ai.usage.input_tokens": cost.input_tokens,
        "gen_ai.usage.output_tokens": cost.output_tokens,
        "skillcue.model.money": cost.money,
    }


def _common(
    mode: str, degraded: str | None, cost: Usage, context: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "skillcue.session": session_hash(context),
        "skillcue.mode": mode,
        "skillcue.degraded": not gate_saw_all(degraded),
        **usage_facts(cost),
    }


def _missed(query: Query, ranking: Ranking) -> str | None:
    """``none``: no hit; ``weak``: no hit holds a word of the query. Only of a first page: that
    there is no more to see is no miss."""
    if query.offset:
        return None
    if not ranking.hits:
        return "none"
    return None if holds_a_word(ranking) else "weak"


def _known(told: Mapping[str, Any]) -> Facts:
    return {name: _encodable(value) for name, value in told.items() if value is not None}


def _encodable(value: Any) -> Any:
    """Texts without lone surrogates, which file names and models bring and no store takes."""
    if isinstance(value, tuple):
        return tuple(map(_encodable, value))
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
