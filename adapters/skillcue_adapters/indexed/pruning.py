"""How far an index looks for candidates: which terms it looks skills up by, and how many more it looks at
in a large library."""

from __future__ import annotations

import math
from collections.abc import Mapping

__all__ = ["MOST_GROWTH", "USUAL_SKILLS", "growth", "rarest"]

USUAL_SKILLS = 34_000
"""In a larger library what is looked at grows with the root of the number of skills: among 240,000 it
takes 24,000 postings for what 6,000 find here, and three times as many neighbours."""

MOST_GROWTH = 5.0
"""Where the growth ends, at 850,000 skills: from there on time is bounded, and less is found."""


def growth(skills: int) -> float:
    """So many times as much is looked at among so many skills, 1.0 to `MOST_GROWTH`."""
    return min(math.sqrt(max(skills / USUAL_SKILLS, 1.0)), MOST_GROWTH)


def rarest(frequency: Mapping[str, int], postings: int | None) -> list[str]:
    """The rarest terms, until so many occurrences of them are there; at least one term.

    Args:
        frequency: In how many skills each term occurs; terms that occur in none are left out.
        postings: The budget; None takes all terms.
    """
    known = sorted((count, term) for term, count in frequency.items() if count)
    chosen: list[str] = []
    spent = 0
    for count, term in known:
        if postings is not None and spent >= postings:
            break
        chosen.append(term)
        spent += count
    return chosen
