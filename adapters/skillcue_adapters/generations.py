"""What two generations of a library have in common."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter, is_

import numpy as np

from skillcue_adapters.index.keys import Positions
from skillcue_hooks.contracts import Skill

__all__ = ["line_up", "origins"]


def line_up(
    before: Sequence[Skill], skills: tuple[Skill, ...]
) -> tuple[tuple[Skill, ...], Positions]:
    """`skills` sorted by id, and their `origins` in `before`.

    They nearly always are sorted; looking at the ids of a whole library would take longer than
    the rest of a small edit.
    """
    found = origins(before, skills)
    if not _in_order(skills, found):
        skills = tuple(sorted(skills, key=attrgetter("id")))
        found = origins(before, skills)
    return skills, found


def origins(before: Sequence[Skill], now: Sequence[Skill]) -> Positions:
    """Position in `before` of each skill of `now`, -1 for those that are new or changed.

    Args:
        before: Skills sorted by id.
        now: The same for another generation. Skills that are the same objects are recognised
            fastest.
    """
    found = np.full(len(now), -1, dtype=np.int64)
    start = _alike(before, now)
    rest = min(len(before), len(now)) - start
    end = _alike(before[::-1][:rest], now[::-1][:rest])
    found[:start] = np.arange(start)
    found[len(now) - end :] = np.arange(len(before) - end, len(before))
    middle = before[start : len(before) - end]
    known = {skill.id: (position, skill) for position, skill in enumerate(middle, start)}
    for position, skill in enumerate(now[start : len(now) - end], start):
        old = known.get(skill.id)
        if old is not None and (old[1] is skill or old[1] == skill):
            found[position] = old[0]
    return found


def _in_order(skills: Sequence[Skill], origin: Positions) -> bool:
    old = origin[origin >= 0]
    if (np.diff(old) <= 0).any():
        return False
    new = np.flatnonzero(origin < 0).tolist()
    if len(new) > len(skills) / 4:
        ids = [skill.id for skill in skills]
        return ids == sorted(ids)
    for n in new:
        around = [skill.id for skill in skills[max(n - 1, 0) : n + 2]]
        if around != sorted(around):
            return False
    return True


def _alike(one: Sequence[Skill], other: Sequence[Skill]) -> int:
    """How many skills are the same objects, from the beginning on."""
    same = list(map(is_, one, other))
    return same.index(False) if False in same else len(same)
