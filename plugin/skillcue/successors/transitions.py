"""How often which skill was read after which: counts of first order, smoothed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from skillcue.successors.steps import Step

__all__ = ["MOST_LIKELY", "STRENGTH", "Transitions"]

MOST_LIKELY = 5
"""So many of the skills that follow one are kept in order."""

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
        self._top: dict[str, list[str]] = defaultdict(list)
        for step in steps:
            self.add(step)

    def add(self, step: Step) -> None:
        """Count one step."""
        self._from[step.after][step.then] += 1
        self._to[step.then] += 1
        self._all += 1
        if step.then is not None:
            self._rise(step.after, step.then)

    def _rise(self, after: str, then: str) -> None:
        """Keep the likeliest sorted: a history has as many predictions as steps."""
        top, counts = self._top[after], self._from[after]
        if then not in top:
            if len(top) == MOST_LIKELY and counts[then] > counts[top[-1]]:
                top.pop()
            if len(top) < MOST_LIKELY:
                top.append(then)
        place = top.index(then) if then in top else 0
        while place and counts[then] > counts[top[place - 1]]:
            top[place], top[place - 1] = top[place - 1], then
            place -= 1

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

    def likeliest(self, after: str, limit: int) -> Sequence[str]:
        """The skills that followed most often, at most `MOST_LIKELY` of them; of equals, the one
        that followed so often first.
        """
        return self._top.get(after, ())[:limit]
