"""Skills of a library by id and name, wherever it is: in memory, or in an index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from skillcue_adapters.lazy import cached_property
from skillcue_hooks.contracts import Library, Skill

__all__ = ["SkillLookup"]


class SkillLookup:
    """Finds searchable skills. Safe to share between threads.

    Args:
        library: Whose skills.
    """

    def __init__(self, library: Library) -> None:
        self._library = library

    def get(self, ids: Iterable[str]) -> Mapping[str, Skill]:
        """Skills by id, bodies included; unknown ids are left out.

        Raises:
            IndexUnavailableError: They are in an index that cannot be reached.
        """
        if self._library.index is not None:
            return self._library.get(list(dict.fromkeys(ids)))
        known = self._by_id
        return {skill_id: known[skill_id] for skill_id in ids if skill_id in known}

    def as_hits(self, ids: Iterable[str]) -> Mapping[str, Skill]:
        """As `get`, and as the hits of a ranking have them: those of an index without bodies.

        Raises:
            IndexUnavailableError: They are in an index that cannot be reached.
        """
        found = self.get(ids)
        if self._library.index is None:
            return found
        return {skill_id: replace(skill, body="") for skill_id, skill in found.items()}

    def whole(self, skills: Sequence[Skill]) -> list[Skill]:
        """Skills of hits with their bodies.

        Raises:
            IndexUnavailableError: They are in an index that cannot be reached.
        """
        if self._library.index is None:
            return list(skills)
        found = self.get(skill.id for skill in skills)
        return [found.get(skill.id, skill) for skill in skills]

    def named(self, name: str) -> list[Skill]:
        """Skills with exactly this name, bodies included.

        Raises:
            IndexUnavailableError: They are in an index that cannot be reached.
        """
        if self._library.index is None:
            return [skill for skill in self._library.skills if skill.name == name]
        found = self._library.index.named([name], self._library.tenants)
        ids = [skill.id for skill in found if skill.name == name]
        return list(self.get(ids).values())

    def in_memory(self) -> Sequence[Skill]:
        """All skills that can be walked over: those of an index cannot."""
        return self._library.skills if self._library.index is None else ()

    @cached_property
    def _by_id(self) -> dict[str, Skill]:
        # On the first look: most generations of a library that is being edited never have one.
        return {skill.id: skill for skill in self._library.skills}
