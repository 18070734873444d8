"""What is suggested after a load: what skill files say, and what was learned."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from skillcue.library.protocols import Snapshot
from skillcue.push.body import is_refused
from skillcue.successors.held_out import Evidence
from skillcue.successors.model import Learned
from skillcue_hooks.contracts import Scope, Skill

__all__ = ["LEARNED", "NextSkill", "may_be_suggested", "suggested"]

LEARNED = "Often loaded next"
"""What is said of a skill that was learned to follow."""
MOST_OF_A_KIND = 5
"""Skills that are named for one relation."""


@dataclass(frozen=True, slots=True)
class NextSkill:
    """A skill that is suggested after another one was loaded.

    Attributes:
        skill: What is suggested.
        why: What is said of it: ``Often loaded next`` where that was learned, else what a skill
            file says, such as ``Requires`` or ``Alternative``.
        evidence: What was measured, where it was learned; else None.
    """

    skill: Skill
    why: str
    evidence: Evidence | None = None


def suggested(
    skill: Skill,
    snapshot: Snapshot,
    scope: Scope | None,
    learned: Learned | None,
    seen: Collection[str] = (),
) -> tuple[NextSkill, ...]:
    """What is suggested after `skill`, each skill once: what files say, then what was learned.

    Only trusted skills that push may offer, that the policy shows, and that are not `seen`.

    Args:
        skill: What was loaded.
        snapshot: The library.
        scope: What the policy allows; None allows everything.
        learned: None where nothing that was learned is shown.
        seen: Ids of skills that the conversation shows.
    """
    found: dict[str, NextSkill] = {}
    for target, why, evidence in _candidates(skill.id, snapshot, learned):
        other = snapshot.get(target)
        if other is None or other.id == skill.id or other.id in found or other.id in seen:
            continue
        if sum(item.why == why for item in found.values()) >= MOST_OF_A_KIND:
            continue
        if may_be_suggested(other, snapshot, scope):
            found[other.id] = NextSkill(other, why, evidence)
    return tuple(found.values())


def _candidates(
    skill_id: str, snapshot: Snapshot, learned: Learned | None
) -> Iterator[tuple[str, str, Evidence | None]]:
    for why, target in snapshot.relations.of(skill_id):
        yield target, why, None
    for evidence in learned.after(skill_id) if learned else ():
        yield evidence.then, LEARNED, evidence


def may_be_suggested(skill: Skill, snapshot: Snapshot, scope: Scope | None) -> bool:
    """Whether the skill may be put before a model that did not ask for it.

    Args:
        skill: What would be suggested.
        snapshot: The library.
        scope: What the policy allows; None allows everything.
    """
    return (
        skill.trust == "trusted"
        and skill.searchable
        and skill.pushable
        and (scope is None or scope.allows(skill))
        and not is_refused(skill, snapshot)
    )
