"""Which terms of a query the lexical leg looks skills up by."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["rarest"]


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
