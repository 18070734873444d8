"""Single requests, each labelled with the skills that answer it: conversations of one turn.

::

    {"_id": "r1", "text": "...", "gold": ["skill"], "also_ok": [], "style": "symptom"}
"""

from __future__ import annotations

from skillcue.evaluation.conversations import (
    Label,
    LabelledConversation,
    SpokenTurn,
    skill_ids,
)
from skillcue.evaluation.datasets import Pool
from skillcue.evaluation.files import Record

__all__ = ["read_request"]


def read_request(record: Record, pool: Pool) -> LabelledConversation:
    """One line of a file; without a gold skill the request needs none.

    Raises:
        ConfigurationError: It has another form, or names a skill that there is not.
    """
    if "gold" not in record.values:
        raise record.error(
            "this is neither a conversation nor a request.",
            'Write {"_id": "...", "turns": [...]} or {"_id": "...", "text": "...", "gold": [...]}.',
        )
    gold = skill_ids(record, record.values["gold"], pool)
    right = gold | skill_ids(record, record.values.get("also_ok", []), pool)
    kind = str(record.values.get("style") or "request")
    label = Label(bool(gold), right, given=False, kind=kind)
    turn = SpokenTurn("user", record.name("text"), label)
    return LabelledConversation(record.name("_id"), (turn,))
