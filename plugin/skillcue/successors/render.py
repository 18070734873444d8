"""What the answer of ``skill_load`` says about what comes next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from skillcue.push.render import escape

if TYPE_CHECKING:
    from skillcue.successors.suggestions import NextSkill
    from skillcue_hooks.contracts import Skill

__all__ = ["next_lines"]

LINE_CHARS = 120
"""Longest description behind a name, characters."""


def next_lines(following: Sequence[NextSkill], name: Callable[[Skill], str]) -> list[str]:
    """One line for each thing that is said, such as ``Requires: a (what a does); b (...)``.

    Args:
        following: What is suggested.
        name: What a skill is called in this answer, escaped.
    """
    said: dict[str, list[str]] = {}
    for item in following:
        description = escape(item.skill.description, LINE_CHARS)
        shown = f"{name(item.skill)} ({description})" if description else name(item.skill)
        said.setdefault(item.why, []).append(shown)
    return [f"{why}: {'; '.join(shown)}" for why, shown in said.items()]
