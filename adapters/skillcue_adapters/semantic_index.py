"""Vectors of the skills of one library, and how similar each skill is to a query vector."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skillcue_adapters.index.keys import Positions
from skillcue_adapters.index.vectors import Located, Rows
from skillcue_adapters.similarity import dots, dots_of_many
from skillcue_adapters.text_plan import Field, TextPlan

__all__ = ["SemanticIndex"]

Floats = npt.NDArray[np.float64]


class SemanticIndex:
    """Vectors of one library, wherever they are.

    Args:
        plan: What was encoded.
        located: Where each of the plan's texts is; those that a skill has must be known.

    Attributes:
        plan: As given.
        located: As given.
        head: Rows of the skills' heads.
        body: Rows of the skills' body chunks; None where bodies are not encoded.
    """

    def __init__(self, plan: TextPlan, located: Located) -> None:
        self.plan = plan
        self.located = located
        used = np.flatnonzero(plan.used())
        self._parts, rows = located.only(used).needed()
        numbers = np.full(len(plan.keys), -1, dtype=np.int64)
        numbers[used] = rows
        self.head = plan.head.renumbered(numbers)
        self.body = None if plan.body is None else plan.body.renumbered(numbers)
        self._ends = np.cumsum([len(part) for part in self._parts])

    def similarities(self, vector: Rows) -> tuple[Floats, Floats | None]:
        """Similarity of every skill's head to `vector`, and the largest of its chunks'."""
        similar = np.concatenate([dots(part, vector) for part in self._parts])
        if self.body is None:
            return similar[self.head.rows], None
        return similar[self.head.rows], self.body.best(similar[self.body.rows])

    def best_of(self, field: Field, skills: Positions, vectors: Rows) -> Floats:
        """For some skills, the largest similarity of any of their rows to any of `vectors`."""
        part = field.of(skills)
        return part.best(dots_of_many(self.vectors(part.rows), vectors).max(axis=1))

    def vectors(self, rows: Positions) -> Rows:
        """A copy of some rows."""
        if len(self._parts) == 1:
            return self._parts[0][rows]
        taken = np.empty((len(rows), self._parts[0].shape[1]), dtype=np.float32)
        part_of = np.searchsorted(self._ends, rows, side="right")
        for number in np.unique(part_of).tolist():
            inside = np.flatnonzero(part_of == number)
            start = self._ends[number] - len(self._parts[number])
            taken[inside] = self._parts[number][rows[inside] - start]
        return taken
