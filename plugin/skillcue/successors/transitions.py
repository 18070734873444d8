"""How often which skill was read after which: counts of first order, smoothed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from skillcue.successors.steps import Step

__all__ = ["STRENGTH", "Transitions"]

STRENGTH = 5.0
"""The shares over all skills weigh as much as so many steps from one of them."""


class Transitions:
    """Counts of steps.

    The probability of a step is additively smoothed towards what is read next over all skills,
    ends included: (count + STRENGTH * overall) / (steps + STRENGTH), the mean of a Dirichlet
    prior (MacKay and Peto, "A hierarchical Dirichlet language model", 1995). A skill that was seen
    twice so says little about itself.
    """

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self._from: dict[str, Counter[str | None]] = defaultdict(Counter)
        self._to: Counter[str | None] = Counter()
        self._all = 0
        for step in steps:
            self.add(step)

    def add(self, step: Step) -> None:
        """Count one step."""
        self._from[step.after][step.then] += 1
        self._to[step.then] += 1
        self._all += 1

    @property
    def skills(self) -> tuple[str, ...]:
        """Ids of the skills that steps lead from, sorted."""
        return tuple(sorted(self._from))

    def loads(self, after: str) -> int:
        """Steps from the skill, those that lead nowhere included."""
        return self._from[after].total() if after in self._from else 0

    def count(self, after: str, then: str) -> int:
        """Steps from one to the other."""
        return self._from[after][then] if after in self._from else 0

    def probability(self, after: str, then: str) -> float:
        """The smoothed probability that `then` is read next, 0 to 1."""
        overall = self._to[then] / self._all if self._all else 0.0
        return (self.count(after, then) + STRENGTH * overall) / (self.loads(after) + STRENGTH)

    def likeliest(self, after: str, limit: int) -> list[str]:
        """The skills that followed at least once, likeliest first; ties by id."""
        known = self._from[after] if after in self._from else ()
        ids = [skill for skill in known if skill is not None]
        return sorted(ids, key=lambda skill: (-self.probability(after, skill), skill))[:limit]
