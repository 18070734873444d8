"""Training data for a bi-encoder: a request, the skill that answers it, and skills that do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from skillcue_adapters.analyzer import ANALYZER
from skillcue_adapters.augment.augmentation import Augmentation
from skillcue_adapters.bm25 import head_text
from skillcue_hooks.contracts import Skill

__all__ = ["TrainingPair", "are_twins", "training_pairs"]

DEPTH = 8
"""So many candidates are looked at for each negative that is wanted: twins are left out."""

Search = Callable[[str, int], Sequence[Skill]]
"""Skills for a request, best first, at most so many."""


@dataclass(frozen=True, slots=True)
class TrainingPair:
    """One example.

    Attributes:
        query: A pseudo-query.
        positive: What is encoded of its skill.
        negatives: The same of skills that a retriever confuses with it, the likeliest first.
        skill: Id of its skill.
        negative_skills: Ids of the others, in the order of `negatives`.
    """

    query: str
    positive: str
    negatives: tuple[str, ...]
    skill: str
    negative_skills: tuple[str, ...]


def training_pairs(
    skill: Skill, made: Augmentation, search: Search, negatives: int
) -> Iterator[TrainingPair]:
    """An example for each pseudo-query of `skill`.

    Hard negatives are what `search` finds for it, apart from the skill and its twins: what is the
    same skill under another name would teach that a right answer is wrong. A request for which
    nothing else is found has none.

    Args:
        skill: Answers the requests.
        made: Its augmentation.
        search: The retriever.
        negatives: So many at most, 0 or more.
    """
    for query in made.queries:
        found = search(query.text, DEPTH * (negatives + 1)) if negatives else []
        others: list[Skill] = []
        for candidate in found:
            if len(others) == negatives:
                break
            if not any(are_twins(candidate, known) for known in (skill, *others)):
                others.append(candidate)
        yield TrainingPair(
            query.text,
            _text(skill),
            tuple(map(_text, others)),
            skill.id,
            tuple(other.id for other in others),
        )


def are_twins(one: Skill, other: Skill) -> bool:
    """Whether two skills say the same: one id or content, or the same words in head or body.

    Blanks, case, punctuation, endings and the order of words do not count.
    """
    if one.id == other.id or (one.content_hash and one.content_hash == other.content_hash):
        return True
    return _same(one.description, other.description) or _same(one.body, other.body)


def _text(skill: Skill) -> str:
    """What is encoded of a skill, without what was made up for it: its requests are the queries."""
    return head_text(replace(skill, search_terms=()))


def _same(one: str, other: str) -> bool:
    # Lengths that differ a lot save nearly all of the analysis.
    if not one or not other or not 0.5 < len(one) / len(other) < 2.0:
        return False
    terms = ANALYZER.counts(one)
    return bool(terms) and terms == ANALYZER.counts(other)
