"""Runs of a text's terms, to be compared with names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["phrases"]


def phrases(terms: Sequence[str], lengths: Iterable[int]) -> set[str]:
    """All runs of some lengths, each joined by blanks as `IndexedSkill.name` is.

    Args:
        terms: Terms of the text in reading order.
        lengths: Numbers of terms, 1 or more.
    """
    return {
        " ".join(terms[start : start + length])
        for length in lengths
        for start in range(len(terms) - length + 1)
    }
