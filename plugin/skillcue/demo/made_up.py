"""A conversation for a library nobody wrote one for, made up from the library's own descriptions.

That makes retrieval easy, and whoever shows it has to say so: it shows how things work, not how
well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from skillcue.push.budget import shorten
from skillcue_hooks import Skill

__all__ = ["MADE_UP_NOTICE", "made_up_texts"]

MADE_UP_NOTICE = (
    "The user's messages are made up from descriptions in this library, which makes retrieval "
    "easy; pass --conversation FILE for real ones."
)
TASKS = 3
"""Most skills whose descriptions become user messages."""
TASK_CHARS = 160
"""Longest part of a description in a user message, characters."""

_WHEN = re.compile(r"(?<=[.!?。！？])\s*|\buse (this skill )?when\b", re.IGNORECASE)  # noqa: RUF001
_THANKS = "Thank you, that helps a lot!"
_GENERAL = "By the way, which planet has the shortest year?"


def made_up_texts(skills: Sequence[Skill]) -> tuple[str, ...]:
    """User messages about up to three skills spread over the library, thanks, and small talk.

    Args:
        skills: The library; empty gives no text.
    """
    described = [skill for skill in sorted(skills, key=lambda s: s.id) if _task(skill)]
    if not described:
        return ()
    count = min(TASKS, len(described))
    picked = [described[(2 * i + 1) * len(described) // (2 * count)] for i in range(count)]
    first, *others = (f"I need this done: {_task(skill)}" for skill in picked)
    return (first, _THANKS, *others[:1], _GENERAL, *others[1:])


def _task(skill: Skill) -> str:
    """What a description says the skill does, without what it says about when to use it."""
    flat = " ".join(skill.description.split())
    return shorten(_WHEN.split(flat, maxsplit=1)[0].strip(" .:;-") or flat, TASK_CHARS)
