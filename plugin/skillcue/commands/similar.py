"""Skills whose descriptions say nearly the same: an agent cannot tell them apart either.

Similarity is the Jaccard index of the sets of index terms. Candidates come from an inverted index
over short prefixes, since two sets that are similar enough must share one of their rarest terms
(prefix filtering: Bayardo, Ma, Srikant, "Scaling up all pairs similarity search", WWW 2007). Each
skill is compared with the first skill of each group only, so that a library of copies stays quick.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from skillcue_adapters.analyzer import ANALYZER
from skillcue_hooks import Skill

__all__ = ["MAX_COMPARISONS", "SIMILARITY", "Alike", "Group", "find_alike"]

SIMILARITY = 0.7
"""Jaccard index from which two descriptions count as nearly the same, 0 to 1."""
MAX_COMPARISONS = 20_000_000
"""Comparisons of two descriptions after which the search ends; some ten seconds."""


@dataclass(frozen=True, slots=True)
class Group:
    """Skills with nearly the same description.

    Attributes:
        first: The skill the others were compared with: the first by id.
        others: The others with their similarity to `first`, `SIMILARITY` to 1, most alike first.
    """

    first: Skill
    others: tuple[tuple[Skill, float], ...]


@dataclass(frozen=True, slots=True)
class Alike:
    """The answer of `find_alike`.

    Attributes:
        groups: Largest first.
        complete: False when the search ended at `MAX_COMPARISONS`.
    """

    groups: tuple[Group, ...]
    complete: bool


@dataclass(slots=True)
class _Search:
    threshold: float
    budget: int
    leaders: list[frozenset[str]] = field(default_factory=list)
    postings: dict[str, list[int]] = field(default_factory=dict)

    def best(self, terms: frozenset[str], prefix: Sequence[str]) -> tuple[int, float] | None:
        """(leader, similarity) of the most similar leader; the earliest among equals."""
        best: tuple[int, float] | None = None
        for leader in self._candidates(prefix):
            self.budget -= 1
            other = self.leaders[leader]
            if min(len(terms), len(other)) < _least(max(len(terms), len(other)), self.threshold):
                continue
            shared = len(terms & other)
            similarity = shared / (len(terms) + len(other) - shared)
            if similarity >= self.threshold and (best is None or similarity > best[1]):
                best = leader, similarity
        return best

    def add(self, terms: frozenset[str], prefix: Sequence[str]) -> None:
        """Make `terms` the next leader."""
        for term in prefix:
            self.postings.setdefault(term, []).append(len(self.leaders))
        self.leaders.append(terms)

    def _candidates(self, prefix: Sequence[str]) -> Iterator[int]:
        seen: set[int] = set()
        for term in prefix:
            seen.update(self.postings.get(term, ()))
        yield from sorted(seen)


def find_alike(
    skills: Sequence[Skill], threshold: float = SIMILARITY, budget: int = MAX_COMPARISONS
) -> Alike:
    """Group skills by the similarity of their descriptions; those without one are left out.

    Args:
        skills: The skills.
        threshold: Jaccard index, above 0 to 1.
        budget: Most comparisons.
    """
    ordered = sorted(skills, key=lambda skill: skill.id)
    terms = {skill.id: frozenset(ANALYZER.counts(skill.description)) for skill in ordered}
    frequency = Counter(term for held in terms.values() for term in held)
    search = _Search(threshold, budget)
    members: list[list[tuple[Skill, float]]] = []
    for skill in ordered:
        held = terms[skill.id]
        if not held or search.budget <= 0:
            continue
        prefix = _prefix(held, frequency, threshold)
        found = search.best(held, prefix)
        if found is None:
            search.add(held, prefix)
            members.append([(skill, 1.0)])
        else:
            members[found[0]].append((skill, found[1]))
    return Alike(_groups(members), search.budget > 0)


def _prefix(terms: frozenset[str], frequency: Counter[str], threshold: float) -> list[str]:
    """The rarest terms, so many that similar sets share one of theirs."""
    rarest = sorted(terms, key=lambda term: (frequency[term], term))
    return rarest[: len(rarest) - _least(len(rarest), threshold) + 1]


def _least(size: int, threshold: float) -> int:
    """Terms that a set must share with one of `size` terms to be similar enough."""
    # The small number keeps ceil() from rounding up what is whole but for a rounding error.
    return math.ceil(threshold * size - 1e-9)


def _groups(members: Sequence[Sequence[tuple[Skill, float]]]) -> tuple[Group, ...]:
    groups = [
        Group(group[0][0], tuple(sorted(group[1:], key=lambda pair: (-pair[1], pair[0].id))))
        for group in members
        if len(group) > 1
    ]
    return tuple(sorted(groups, key=lambda group: (-len(group.others), group.first.id)))
