"""What a library costs in tokens: all descriptions, all bodies, the largest bodies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from skillcue.library.limits import DEFAULT_LIMITS
from skillcue.library.protocols import Snapshot
from skillcue.push.budget import TokenCounter, estimate_tokens
from skillcue_hooks import Skill
from skillcue_hooks.errors import SkillcueError

__all__ = ["LibraryCost", "library_cost"]

BATCH = 200
"""Skills of an index whose bodies are read at once."""


@dataclass(frozen=True, slots=True)
class LibraryCost:
    """Sizes in tokens.

    Attributes:
        descriptions: Names and descriptions of all skills.
        bodies: Whole bodies of all skills.
        largest: The skills with the largest bodies and the sizes of these, largest first.
    """

    descriptions: int
    bodies: int
    largest: tuple[tuple[Skill, int], ...]

    @property
    def everything(self) -> int:
        """What an agent pays that loads the whole library into a task."""
        return self.descriptions + self.bodies


def library_cost(
    snapshot: Snapshot, largest: int = 5, count_tokens: TokenCounter = estimate_tokens
) -> LibraryCost:
    """Measure the searchable skills of a library.

    Args:
        snapshot: The library.
        largest: Number of large bodies to name.
        count_tokens: Counts the tokens of a text.
    """
    skills = snapshot.library.skills
    sizes = [count_tokens(body) for body in _whole_bodies(snapshot)]
    order = sorted(zip(skills, sizes, strict=True), key=lambda pair: (-pair[1], pair[0].id))
    return LibraryCost(
        descriptions=count_tokens(_catalogue(skills)),
        bodies=sum(sizes),
        largest=tuple(order[:largest]),
    )


def _catalogue(skills: Sequence[Skill]) -> str:
    return "\n".join(f"{skill.name}: {skill.description}" for skill in skills)


def _whole_bodies(snapshot: Snapshot) -> Iterator[str]:
    """In the order of the skills; of an index a batch at a time."""
    rest = iter(snapshot.library.skills)
    while part := list(islice(rest, BATCH)):
        if snapshot.library.index is not None:
            held = snapshot.library.get([skill.id for skill in part])
            part = [held.get(skill.id, skill) for skill in part]
        yield from (_whole_body(snapshot, skill) for skill in part)


def _whole_body(snapshot: Snapshot, skill: Skill) -> str:
    """The body; from the file where the indexed part may not be all of it."""
    if len(skill.body) < DEFAULT_LIMITS.body_chars:
        return skill.body
    try:
        return snapshot.source_of(skill).read_body(skill)
    except SkillcueError:  # the file went away meanwhile: what is indexed still counts
        return skill.body
