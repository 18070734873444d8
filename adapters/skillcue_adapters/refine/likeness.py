"""When two texts that a model wrote are one text: equal words, or nearly."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

__all__ = ["Words", "is_same_text", "words_of"]

SAME_SHARE = 0.9
"""Two texts with more of their word triples in common than this share are one text."""

TRIPLE = 3

_WORD = re.compile(r"\w+")

Words = tuple[str, ...]
"""The words of a text in their order, without case, blanks and punctuation."""


def words_of(text: str) -> Words:
    """The words of `text`; its parts where it has no words at all."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return tuple(_WORD.findall(folded)) or tuple(folded.split())


def is_same_text(one: Words, other: Words) -> bool:
    """Whether the texts have equal words, or more than `SAME_SHARE` of all word triples in both.

    The share is the resemblance of A. Broder, On the resemblance and containment of documents
    (1997), with word triples as shingles, each as often as it occurs.
    """
    if one == other:
        return True
    ours, theirs = _triples(one), _triples(other)
    return (ours & theirs).total() > SAME_SHARE * (ours | theirs).total()


def _triples(words: Words) -> Counter[Words]:
    """How often each run of three words occurs; a shorter text is one run."""
    return Counter(
        words[start : start + TRIPLE] for start in range(max(len(words) - TRIPLE + 1, 1))
    )
