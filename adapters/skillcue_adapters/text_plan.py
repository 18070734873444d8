"""What is encoded for a library: which texts its skills have, and which belong to which skill."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skillcue_adapters.bm25 import head_text
from skillcue_adapters.index.keys import KEY_BYTES, Keys, Positions, match_keys
from skillcue_adapters.passages import chunks
from skillcue_adapters.terms import ranges
from skillcue_hooks.contracts import Skill

__all__ = ["ChunkLimits", "Field", "TextPlan", "follow_plan"]

Floats = npt.NDArray[np.float64]

DEAD_TEXTS = 4096
"""So many texts of skills that are gone may stay in a plan, or as many as there are others."""

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
    def of_lengths(cls, rows: Positions, lengths: Positions) -> Field:
        """The field whose skills have so many of `rows` each."""
        return cls(rows, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))

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
        lengths = self.starts[skills + 1] - self.starts[skills]
        return Field.of_lengths(self.rows[ranges(self.starts[skills], lengths)], lengths)

    def renumbered(self, numbers: Positions) -> Field:
        """With ``numbers[row]`` in place of each row."""
        return Field(numbers[self.rows], self.starts)


@dataclass(frozen=True, slots=True)
class TextPlan:
    """The texts of one generation.

    Attributes:
        keys: Name of each text, all different; texts of skills that are gone may be among them.
        kept: So many texts at the beginning are those of the plan before, in the same order.
        new: Those behind them, by number.
        head: Number of each skill's head.
        body: Numbers of each skill's body chunks, the head's for a skill without a body; None
            where bodies are not encoded.
    """

    keys: Keys
    kept: int
    new: Mapping[int, str]
    head: Field
    body: Field | None

    def used(self) -> npt.NDArray[np.bool_]:
        """Which of the texts a skill has."""
        found = np.zeros(len(self.keys), dtype=np.bool_)
        for field in (self.head, self.body):
            if field is not None:
                found[field.rows] = True
        return found


def follow_plan(
    previous: TextPlan | None,
    origin: Positions,
    new_skills: Sequence[Skill],
    limits: ChunkLimits | None,
    keys: Callable[[Sequence[str]], Keys],
) -> TextPlan:
    """The texts of a generation that shares skills with the one before.

    Args:
        previous: The plan of the generation before.
        origin: Skill of the generation before that each skill is, -1 for a new one.
        new_skills: The new ones, in order.
        limits: How bodies are cut; None encodes heads only.
        keys: Names texts.
    """
    known = np.zeros((0, KEY_BYTES), dtype=np.uint8) if previous is None else previous.keys
    texts = _Texts(known, keys)
    heads = [head_text(skill) for skill in new_skills]
    pieces = [_chunk_texts(skill, limits) for skill in new_skills] if limits else []
    numbers = texts.numbers([*heads, *(piece for own in pieces for piece in own)])
    new_head = Field.of_lengths(numbers[: len(heads)], np.ones(len(heads), dtype=np.int64))
    head = _followed(None if previous is None else previous.head, origin, new_head)
    body = None
    if limits is not None:
        new_body = _bodies(numbers, len(heads), [len(own) for own in pieces])
        body = _followed(None if previous is None else previous.body, origin, new_body)
    return TextPlan(texts.keys(), len(known), texts.new, head, body)


class _Texts:
    """Gives numbers to texts: those they have, or the next."""

    def __init__(self, known: Keys, keys: Callable[[Sequence[str]], Keys]) -> None:
        self._known = known
        self._name = keys
        self._added: list[Keys] = []
        self.new: dict[int, str] = {}

    def numbers(self, texts: Sequence[str]) -> Positions:
        distinct: dict[str, int] = {}
        places = np.array([distinct.setdefault(t, len(distinct)) for t in texts], dtype=np.int64)
        keys = self._name(list(distinct))
        found = match_keys(self._known, keys)
        unknown = np.flatnonzero(found < 0)
        found[unknown] = len(self._known) + np.arange(len(unknown))
        every = list(distinct)
        self.new = {int(found[n]): every[n] for n in unknown.tolist()}
        self._added = [keys[unknown]]
        return found[places]

    def keys(self) -> Keys:
        return np.concatenate([self._known, *self._added])


def _bodies(numbers: Positions, heads: int, lengths: Sequence[int]) -> Field:
    rows: list[int] = []
    start = heads
    for skill, length in enumerate(lengths):
        rows += numbers[start : start + length].tolist() or [int(numbers[skill])]
        start += length
    return Field.of_lengths(
        np.array(rows, dtype=np.int64), np.maximum(np.array(lengths, dtype=np.int64), 1)
    )


def _followed(previous: Field | None, origin: Positions, new: Field) -> Field:
    """Rows of skills that were there, and of new ones, each in its place."""
    if previous is None:
        return new
    old = origin >= 0
    starts = np.empty(len(origin), dtype=np.int64)
    ends = np.empty(len(origin), dtype=np.int64)
    starts[old], ends[old] = previous.starts[origin[old]], previous.starts[origin[old] + 1]
    shift = len(previous.rows)
    starts[~old], ends[~old] = new.starts[:-1] + shift, new.starts[1:] + shift
    rows = np.concatenate([previous.rows, new.rows])
    return Field.of_lengths(rows[ranges(starts, ends - starts)], ends - starts)


def _chunk_texts(skill: Skill, limits: ChunkLimits) -> list[str]:
    """A chunk carries the name of its skill in front, since that is what it is about."""
    pieces = chunks(skill.body, limits.chars)
    if len(pieces) > limits.per_skill:
        log.info("%d of %d chunks of %s are encoded", limits.per_skill, len(pieces), skill.id)
    return [f"{skill.name}: {piece}" for piece in pieces[: limits.per_skill]]
