"""Skills that were composed of others, as a library finds them: by id, and by names it has not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from skillcue.library.naming import fold
from skillcue_adapters.refine.composed import ID_PREFIX, may_see
from skillcue_hooks.contracts import Scope, Skill
from skillcue_hooks.errors import AmbiguousNameError
from skillcue_hooks.protocols import SkillSource

__all__ = ["Composed", "ComposedNames"]


class Composed(Protocol):
    """Skills that were composed of skills of the library."""

    @property
    def source(self) -> SkillSource:
        """Reads their bodies."""
        ...

    def get(
        self, skill_id: str, find: Callable[[str], Skill | None], taken: Callable[[str], bool]
    ) -> Skill | None:
        """The skill with that id, by a name that is not `taken`, what was read for it looked up by
        `find`; None where some of that is gone.
        """
        ...

    def candidates(self, name: str, scope: Scope | None) -> Sequence[str]:
        """Ids of the skills that may have that name where `scope` is the policy, sorted."""
        ...


@dataclass(frozen=True, slots=True)
class ComposedNames:
    """What was composed, beside one library.

    Attributes:
        composed: The skills; None where there are none.
        own: The skill of the library with an id.
        find: The skill of the library that a name means where a scope is the policy.
    """

    composed: Composed | None
    own: Callable[[str], Skill | None]
    find: Callable[[str, Scope | None], Skill | None]

    def skill(self, skill_id: str, scope: Scope | None) -> Skill | None:
        """A skill that is not of the library, hidden or not."""
        if self.composed is None or not skill_id.startswith(ID_PREFIX):
            return None
        if self.own(skill_id) is not None:
            return None
        return self.composed.get(
            skill_id, self.own, lambda name: self.find(name, scope) is not None
        )

    def allowed(self, skill_id: str, scope: Scope | None) -> Skill | None:
        """As `skill`, if `scope` allows all that it was composed of."""
        skill = self.skill(skill_id, scope)
        return skill if skill is not None and may_see(skill, scope, self.own) else None

    def named(self, name: str, scope: Scope | None) -> Skill | None:
        """The one that has the name.

        Raises:
            AmbiguousNameError: Several have.
        """
        if self.composed is None:
            return None
        folded = fold(name.strip())
        ids = self.composed.candidates(folded, scope)
        skills = [s for s in (self.allowed(i, scope) for i in ids) if s and s.name == folded]
        if len(skills) > 1:
            raise AmbiguousNameError(name, [skill.id for skill in skills])
        return skills[0] if skills else None

    def source_of(self, skill: Skill) -> SkillSource | None:
        """What reads the body of a composed skill; None for one of the library."""
        if self.composed is None or self.skill(skill.id, None) is None:
            return None
        return self.composed.source
