"""The whole text of a skill, for those who judge it."""

from __future__ import annotations

from skillcue_hooks.contracts import Skill
from skillcue_hooks.protocols import SkillSource

__all__ = ["whole_text"]


def whole_text(source: SkillSource, skill: Skill) -> str:
    """What ``source.read_text(skill)`` gives; of a source without it, what it said of the skill.

    Raises:
        SkillFileError: The file is gone, or not the one that was read.
    """
    read = getattr(source, "read_text", None)
    if read is not None:
        return str(read(skill))
    return f"{skill.name}\n{skill.description}\n\n{skill.body}"
