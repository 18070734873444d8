"""The skills of an index as a sequence that is read when it is walked, never as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import overload

from skillcue_adapters.lazy import cached_property
from skillcue_hooks.contracts import Skill
from skillcue_hooks.skill_index import SkillIndex

__all__ = ["IndexSkills"]


class IndexSkills(Sequence[Skill]):
    """Skills by id, without their bodies. Each walk reads the index in batches.

    Args:
        index: The index.
        tenants: Whose skills.
        searchable: Only those that may be found.
    """

    def __init__(self, index: SkillIndex, tenants: tuple[str, ...], *, searchable: bool) -> None:
        self._index = index
        self._tenants = tenants
        self._searchable = searchable

    def __iter__(self) -> Iterator[Skill]:
        skills = self._index.iterate(self._tenants)
        return (skill for skill in skills if skill.searchable or not self._searchable)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, position: int) -> Skill: ...

    @overload
    def __getitem__(self, position: slice) -> Sequence[Skill]: ...

    def __getitem__(self, position: int | slice) -> Skill | Sequence[Skill]:
        """Reads the index up to there: meant for looking, not for searching."""
        if isinstance(position, slice):
            start, stop, step = position.indices(len(self))
            if step < 1:
                return tuple(self)[position]
            return tuple(islice(self, start, stop, step))
        number = position + len(self) if position < 0 else position
        found = None if number < 0 else next(islice(self, number, None), None)
        if found is None:
            raise IndexError(position)
        return found

    @cached_property
    def _count(self) -> int:
        if self._searchable:
            return self._index.statistics(self._tenants).skills
        return sum(1 for _ in self)
