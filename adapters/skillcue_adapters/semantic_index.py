"""Vectors of the skills of one library, and how similar each skill is to a query vector."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skillcue_adapters.bm25 import head_text
from skillcue_adapters.index.protocol import Rows
from skillcue_adapters.passages import chunks
from skillcue_adapters.similarity import dots, dots_of_many
from skillcue_hooks.contracts import Skill

__all__ = ["ChunkLimits", "Field", "SemanticIndex", "TextPlan", "plan_texts"]

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]

log = logging.getLogger("skillcue.semantic")


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    """How bodies are cut.

    Attributes:
        chars: Characters of a chunk, without the name in front of it.
        per_skill: Chunks of a skill that are encoded, from the beginning of its body.
    """

    chars: int
    per_skill: int


@dataclass(frozen=True, slots=True)
class Field:
    """Which rows of a matrix belong to which skill.

    Attributes:
        rows: Row numbers, those of each skill together.
        starts: Where each skill's begin in `rows`; one number more than there are skills. Every
            skill has a row.
    """

    rows: Positions
    starts: Positions

    @classmethod
    def of_lengths(cls, rows: Sequence[int], lengths: Sequence[int]) -> Field:
        """The field whose skills have so many of `rows` each."""
        starts = np.cumsum([0, *lengths], dtype=np.int64)
        return cls(np.array(rows, dtype=np.int64), starts)

    def best(self, values: Floats) -> Floats:
        """The largest number of each skill.

        Args:
            values: One number for each item of `rows`.
        """
        if len(self.rows) == len(self.starts) - 1:
            return values
        return np.asarray(np.maximum.reduceat(values, self.starts[:-1]))

    def of(self, skills: Positions) -> Field:
        """The field of some skills only, in their order."""
        if len(self.rows) == len(self.starts) - 1:
            return Field(self.rows[skills], np.arange(len(skills) + 1, dtype=np.int64))
        parts = [self.rows[self.starts[n] : self.starts[n + 1]] for n in skills]
        starts = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        return Field(np.concatenate(parts), starts)


@dataclass(frozen=True, slots=True)
class TextPlan:
    """What is encoded for a library.

    Attributes:
        texts: Each once; heads first.
        heads: Number of texts that are heads.
        head: Row of each skill's head.
        body: Rows of each skill's body chunks, the head's for a skill without a body; None where
            bodies are not encoded.
    """

    texts: tuple[str, ...]
    heads: int
    head: Field
    body: Field | None


def plan_texts(skills: Sequence[Skill], limits: ChunkLimits | None) -> TextPlan:
    """The texts of `skills` to encode: heads and, with `limits`, chunks of bodies.

    A chunk carries the name of its skill in front, since that is what it is about.
    """
    row_of: dict[str, int] = {}
    head_rows = [row_of.setdefault(head_text(skill), len(row_of)) for skill in skills]
    heads = len(row_of)
    head = Field.of_lengths(head_rows, [1] * len(skills))
    if limits is None:
        return TextPlan(tuple(row_of), heads, head, None)
    chunk_rows: list[int] = []
    lengths: list[int] = []
    for skill, own in zip(skills, head_rows, strict=True):
        texts = _chunk_texts(skill, limits)
        rows = [row_of.setdefault(text, len(row_of)) for text in texts] or [own]
        chunk_rows += rows
        lengths.append(len(rows))
    return TextPlan(tuple(row_of), heads, head, Field.of_lengths(chunk_rows, lengths))


class SemanticIndex:
    """Vectors of one library.

    Args:
        rows: Vectors of the plan's texts, float32, shape ``(len(plan.texts), dim)``.
        plan: Whose they are.

    Attributes:
        rows: As given.
        head_rows: Those of the heads.
        head: See `TextPlan`.
        body: See `TextPlan`.
    """

    def __init__(self, rows: Rows, plan: TextPlan) -> None:
        self.rows = rows
        self.head_rows = rows[: plan.heads]
        self.head = plan.head
        self.body = plan.body

    def similarities(self, vector: Rows) -> tuple[Floats, Floats | None]:
        """Similarity of every skill's head to `vector`, and the largest of its chunks'."""
        if self.body is None:
            return dots(self.head_rows, vector)[self.head.rows], None
        similar = dots(self.rows, vector)
        return similar[self.head.rows], self.body.best(similar[self.body.rows])

    def best_of(self, field: Field, skills: Positions, vectors: Rows) -> Floats:
        """For some skills, the largest similarity of any of their rows to any of `vectors`."""
        part = field.of(skills)
        return part.best(dots_of_many(self.rows[part.rows], vectors).max(axis=1))


def _chunk_texts(skill: Skill, limits: ChunkLimits) -> list[str]:
    pieces = chunks(skill.body, limits.chars)
    if len(pieces) > limits.per_skill:
        log.info("%d of %d chunks of %s are encoded", limits.per_skill, len(pieces), skill.id)
    return [f"{skill.name}: {piece}" for piece in pieces[: limits.per_skill]]
