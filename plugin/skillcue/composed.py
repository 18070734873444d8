"""Skills that a mode composed: found by id and by name, beside the library.

They are known from the ranking that brought them, and after a restart or in another process from
the cache folder. A composed skill is what its text says it is (its id is a hash of it); what may be
done with it is decided anew for each library: by the trust of what it was made of, by the policies
on those, and by the plugins that assess skills.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from skillcue.library.live import Ask, Assessor
from skillcue.library.source import StaticSource
from skillcue_adapters.locks import ForkSafeLock
from skillcue_adapters.refine.composed import ID_PREFIX, REFINED_SOURCE, with_parents
from skillcue_adapters.refine.names import Taken, may_be_called, named, policy_tag
from skillcue_hooks.contracts import Ranking, Scope, Skill
from skillcue_hooks.protocols import SkillSource

if TYPE_CHECKING:
    from skillcue.library.protocols import Snapshot
    from skillcue_adapters.refine.store import Refinement

__all__ = ["ComposedSkills"]

KEPT = 1024
"""Composed skills in memory, the one used longest ago dropped first."""


class ComposedSkills:
    """Composed skills by id. Safe to share between threads.

    Args:
        cache_dir: The user's cache folder, in which they are looked for; None looks in memory only.
        assess: Looks at each of them once.
    """

    def __init__(
        self,
        cache_dir: Path | None,
        assess: Ask,
    ) -> None:
        self._cache_dir = cache_dir
        self._assessor = Assessor(assess)
        self._lock = ForkSafeLock()
        self._known: OrderedDict[str, Skill] = OrderedDict()
        self._shown: dict[str, set[str]] = {}  # policies under which each of those was shown

    @property
    def source(self) -> SkillSource:
        """Gives their bodies; they have no files beside them."""
        return StaticSource(REFINED_SOURCE, ())

    def get(self, skill_id: str, find: Callable[[str], Skill | None], taken: Taken) -> Skill | None:
        """The skill with that id, and the trust and the name it has in this library; None where it
        has none.

        Args:
            skill_id: ``refined:<hash>``.
            find: The skill of the library with an id.
            taken: Whether a skill of the library answers to a name.
        """
        with self._lock:
            skill = self._known.get(skill_id)
        if skill is None and self._cache_dir is not None:
            from skillcue_adapters.refine.store import stored_skill  # only where one is named

            skill = stored_skill(self._cache_dir, skill_id)
        if skill is None:
            return None
        self._remember(skill)
        skill = with_parents(skill, find)
        return None if skill is None else named(self._assessor.assess(skill, self.source)[0], taken)

    def candidates(self, name: str, scope: Scope | None) -> tuple[str, ...]:
        """Ids of the skills that may be called `name`, of those composed under the policy `scope`.

        Args:
            name: Folded; what `named` makes of a skill is folded as well.
            scope: What the policy allows.
        """
        policy = policy_tag(scope)
        with self._lock:
            found = {
                skill_id
                for skill_id, skill in self._known.items()
                if policy in self._shown[skill_id] and may_be_called(name, skill.name, skill_id)
            }
        if self._cache_dir is not None:
            from skillcue_adapters.refine.store import stored_ids  # only where one is named

            found.update(stored_ids(self._cache_dir, name, policy))
        return tuple(sorted(found))

    def settled(self, ranking: Ranking, snapshot: Snapshot, scope: Scope | None) -> Ranking:
        """`ranking`, its composed skills as they are in the library; others stay as they are.

        Args:
            ranking: What a mode gave.
            snapshot: The library.
            scope: What the policy allows of it.
        """
        if not any(hit.skill.id.startswith(ID_PREFIX) for hit in ranking.hits):
            return ranking
        now = self._present([hit.skill for hit in ranking.hits], snapshot, scope)
        hits = [replace(h, skill=now[h.skill.id]) for h in ranking.hits if h.skill.id in now]
        return replace(ranking, hits=tuple(hits))

    def settled_refinement(
        self, made: Refinement, snapshot: Snapshot, scope: Scope | None
    ) -> Refinement:
        """`made`, its skills as they are in the library."""
        return replace(made, skills=tuple(self._present(made.skills, snapshot, scope).values()))

    def _present(
        self, skills: Iterable[Skill], snapshot: Snapshot, scope: Scope | None
    ) -> dict[str, Skill]:
        """By id, the skills of the library as they are, the composed ones as they are in it."""
        now: dict[str, Skill] = {}
        for skill in skills:
            found: Skill | None = skill
            if skill.id.startswith(ID_PREFIX):
                self._remember(skill, policy_tag(scope))
                found = snapshot.get(skill.id, scope)
            if found is not None:
                now[skill.id] = found
        return now

    def _remember(self, skill: Skill, *policies: str) -> None:
        with self._lock:
            self._known[skill.id] = skill
            self._known.move_to_end(skill.id)
            self._shown.setdefault(skill.id, set()).update(policies)
            if len(self._known) > KEPT:
                del self._shown[self._known.popitem(last=False)[0]]
                self._assessor.forget_others([*self._known.values()])
