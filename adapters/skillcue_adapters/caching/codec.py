"""A ranking as JSON text and back. Skills are stored as ids and looked up again when read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from skillcue_hooks.contracts import Hit, Ranking, Skill

__all__ = ["decode_ranking", "encode_ranking", "encoded_ids"]


def encode_ranking(ranking: Ranking) -> str:
    """JSON text. Floats are written in the shortest form that reads back as the same number.

    The cost is left out: who reads the ranking back spends nothing.

    Raises:
        TypeError: A score or signal is not a number.
        ValueError: A score or signal is not finite.
    """
    hits = [
        [hit.skill.id, float(hit.score), hit.rank, {k: float(v) for k, v in hit.signals.items()}]
        for hit in ranking.hits
    ]
    record = {
        "fingerprint": ranking.fingerprint,
        "hits": hits,
        "mode": ranking.mode,
        "total": ranking.total,
    }
    return json.dumps(record, separators=(",", ":"), allow_nan=False)


def encoded_ids(text: str) -> list[str]:
    """Ids of the skills of an encoded ranking: those that `decode_ranking` has to be given.

    Args:
        text: What `encode_ranking` gave, or anything else, which names none.
    """
    try:
        return [_typed(item[0], str) for item in json.loads(text)["hits"]]
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        return []


def decode_ranking(text: str, skills: Mapping[str, Skill]) -> Ranking | None:
    """The ranking that was encoded, marked as cached and without elapsed time.

    Args:
        text: What `encode_ranking` gave, or anything else.
        skills: Id to skill.

    Returns:
        None for text that no ranking was encoded to, and where a skill no longer exists.
    """
    try:
        record = json.loads(text)
        hits = tuple(_hit(item, skills) for item in record["hits"])
        return Ranking(
            hits=hits,
            mode=_typed(record["mode"], str),
            fingerprint=_typed(record["fingerprint"], str),
            cached=True,
            total=_typed(record["total"], int),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _hit(item: Any, skills: Mapping[str, Skill]) -> Hit:
    skill_id, score, rank, signals = item
    return Hit(
        skill=skills[skill_id],
        score=_typed(score, float),
        rank=_typed(rank, int),
        signals={name: _typed(value, float) for name, value in signals.items()},
    )


def _typed(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{value!r} is not {kind.__name__}")
    return value
