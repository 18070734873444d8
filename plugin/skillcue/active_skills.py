"""Which skills are active: loaded in the present user turn, by the load tool or by push.

What is active stays so to the end of the turn, also where the skill has left the library since: an
agent that can take its files away must not free itself by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillcue.push.memo import read_record
from skillcue.push.messages import view_messages
from skillcue.push.turn import load_marks, user_turns
from skillcue_hooks import Skill

__all__ = ["ActiveSkill", "active_skills"]


@dataclass(frozen=True, slots=True)
class ActiveSkill:
    """A skill that was loaded in the present turn.

    Attributes:
        id: Its id.
        rules: Its `Skill.allowed_tools`; of one that is gone, those of its load. None where
            nobody knows them any more.
    """

    id: str
    rules: tuple[str, ...] | None


def active_skills(
    messages: Sequence[Any],
    records: Any,
    load_tool: str,
    find: Callable[[str], Skill | None],
) -> list[ActiveSkill]:
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
    marks = [mark for mark in load_marks(views, load_tool) if mark.position > start]
    rules: dict[str, tuple[str, ...] | None] = {mark.skill_id: None for mark in marks}
    for message, view in zip(messages[start + 1 :], views[start + 1 :], strict=True):
        # "It is already loaded" has no mark: that it was asked for again stands beside the text.
        data = getattr(message, "artifact", None)
        if view.role == "tool" and view.tool_name == load_tool and isinstance(data, Mapping):
            rules[str(data.get("skill", ""))] = _rules(data.get("allowed_tools"))
    record = read_record(records, turns[-1].key) if turns else None
    if record is not None and record[2]:
        rules = {**dict.fromkeys(record[1]), **rules}
    rules.pop("", None)  # an answer that loaded nothing
    found = ((skill_id, find(skill_id)) for skill_id in rules)
    return [
        ActiveSkill(skill_id, rules[skill_id] if skill is None else skill.allowed_tools)
        for skill_id, skill in found
    ]


def _rules(written: Any) -> tuple[str, ...] | None:
    """The rules in the data of a load, which may have been stored and read again."""
    is_list = isinstance(written, list | tuple) and all(isinstance(rule, str) for rule in written)
    return tuple(written) if is_list else None
