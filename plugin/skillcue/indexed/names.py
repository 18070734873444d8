"""What a skill in an index answers to, and what is close to a name that nothing has."""

from __future__ import annotations

from collections.abc import Iterator

from skillcue.library.characters import nfc
from skillcue.library.naming import fold
from skillcue_hooks.contracts import Skill
from skillcue_hooks.skill_index import SkillIndex

__all__ = ["answers_to", "nearby", "spellings"]

NEARBY = 100
"""Skills that are looked at for suggestions behind each beginning of a name."""


def answers_to(skill: Skill) -> tuple[str, ...]:
    """`IndexedSkill.names` of a skill: id, name and aliases as they are, and folded."""
    names = [nfc(name) for name in (skill.name, *skill.aliases)]
    return tuple(dict.fromkeys((skill.id, *names, *map(fold, names))))


def spellings(name: str) -> tuple[str, ...]:
    """Which of the names in an index may be meant by `name`."""
    wanted = nfc(name.strip())
    return tuple(dict.fromkeys(filter(None, (wanted, fold(wanted)))))


def nearby(name: str, index: SkillIndex, tenants: tuple[str, ...]) -> Iterator[Skill]:
    """Searchable skills whose names stand in the alphabet where `name` would: a few beginnings of
    it are looked at, whatever the size of the library.
    """
    folded = nfc(name.strip()).casefold()
    seen: set[str] = set()
    for length in dict.fromkeys((len(folded), len(folded) * 2 // 3, 3, 1)):
        beginning = folded[:length]
        for skill in index.page((beginning, "") if beginning else None, NEARBY, tenants):
            if skill.id not in seen:
                seen.add(skill.id)
                yield skill
