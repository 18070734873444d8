"""Which skills are active: loaded in the present user turn, by the load tool or by push."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from skillcue.push.memo import read_record
from skillcue.push.messages import view_messages
from skillcue.push.turn import load_marks, user_turns
from skillcue_hooks import Skill

__all__ = ["active_skills"]


def active_skills(
    messages: Sequence[Any],
    records: Any,
    load_tool: str,
    find: Callable[[str], Skill | None],
) -> list[Skill]:
    """The skills that were loaded since the newest user message, each once.

    Args:
        messages: The conversation.
        records: What its thread has persisted; says which body push gave at once.
        load_tool: Name of the load tool.
        find: The skill with an id; None where there is none any more.
    """
    views = view_messages(messages)
    turns = user_turns(views, 0, records if isinstance(records, Mapping) else ())
    start = turns[-1].position if turns else -1
    ids = [mark.skill_id for mark in load_marks(views, load_tool) if mark.position > start]
    for message, view in zip(messages[start + 1 :], views[start + 1 :], strict=True):
        # "It is already loaded" has no mark: that it was asked for again stands beside the text.
        data = getattr(message, "artifact", None)
        if view.role == "tool" and view.tool_name == load_tool and isinstance(data, Mapping):
            ids.append(str(data.get("skill", "")))
    record = read_record(records, turns[-1].key) if turns else None
    if record is not None and record[2]:
        ids += record[1]
    found = (find(skill_id) for skill_id in dict.fromkeys(ids))
    return [skill for skill in found if skill is not None]
