"""Runs of a text's terms, to be compared with names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["lengths_of", "phrases"]


def lengths_of(names: Iterable[str]) -> frozenset[int]:
    """Numbers of terms that some names have.

    Args:
        names: See `IndexedSkill.name`; those without terms have no length.
    """
    return frozenset(name.count(" ") + 1 for name in names if name)


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
