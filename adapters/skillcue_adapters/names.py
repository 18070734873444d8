"""Which skills a text calls by name.

A name is a few words, and the author's own summary. A text that holds all of them in a row says
what it is about more plainly than any count of words: a task that ends "and save it as PDF" among
thirty other sentences is a task for ``pdf``. How rare the words are says nothing here; the names
asked for most are plain ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from skillcue_adapters.analyzer import ANALYZER
from skillcue_adapters.index.keys import Positions
from skillcue_hooks.contracts import Skill

__all__ = ["NameIndex"]

_DEAD_PHRASES = 1000
"""Names beyond twice the number of skills that may be left of generations before."""

_NAMELESS = -1


class NameIndex:
    """The names of a library's skills as sequences of terms.

    Case, inflection, hyphens and stop words make no difference, as in the lexical fields. A name
    without terms is never called.

    Args:
        skills: The library's.
        previous: Names of the generation before; those of unchanged skills are taken over.
        origin: Skill of the generation before that each skill is, -1 for a new one.
    """

    def __init__(
        self, skills: Sequence[Skill], previous: NameIndex | None, origin: Positions
    ) -> None:
        if previous is not None and len(previous._numbers) > 2 * len(skills) + _DEAD_PHRASES:
            previous = None
        self._numbers: dict[tuple[str, ...], int] = {}
        self._lengths: dict[str, tuple[int, ...]] = {}
        self._own = np.full(len(skills), _NAMELESS, dtype=np.int64)
        new = np.ones(len(skills), dtype=np.bool_)
        if previous is not None:
            self._numbers |= previous._numbers
            self._lengths |= previous._lengths
            new = origin < 0
            self._own[~new] = previous._own[origin[~new]]
        for position in np.flatnonzero(new).tolist():
            self._own[position] = self._number(tuple(ANALYZER.terms(skills[position].name)))

    def called(self, terms: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which skills' names occur in a text, as a mask with one item for each skill.

        Args:
            terms: Terms of the text in reading order.
        """
        found = np.zeros(len(self._numbers) + 1, dtype=np.bool_)  # the last for the nameless
        for start, term in enumerate(terms):
            for length in self._lengths.get(term, ()):
                number = self._numbers.get(tuple(terms[start : start + length]))
                if number is not None:
                    found[number] = True
        return found[self._own]

    def _number(self, terms: tuple[str, ...]) -> int:
        if not terms:
            return _NAMELESS
        if terms not in self._numbers:
            self._numbers[terms] = len(self._numbers)
            lengths = self._lengths.get(terms[0], ())
            self._lengths[terms[0]] = tuple(sorted({*lengths, len(terms)}))
        return self._numbers[terms]
