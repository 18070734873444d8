"""Similarity after calibration: background and hubness taken out, sentences looked at again.

What is taken out is measured on a sample of the heads that is drawn by their content. So it is the
same for the same library whatever its history, most edits leave it as it is, and it is measured
again when a part of the sample has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skillcue_adapters.background import background_basis, without
from skillcue_adapters.hubness import HUB_SAMPLE, Hubness, hubness
from skillcue_adapters.index.keys import Positions, smallest
from skillcue_adapters.index.vectors import Located, Rows
from skillcue_adapters.normalization import spread, z_scores
from skillcue_adapters.semantic_index import SemanticIndex
from skillcue_adapters.term_index import SMALL_LIBRARY, TermCounts
from skillcue_adapters.text_plan import Field, TextPlan

__all__ = ["BACKGROUND_SAMPLE", "CalibratedField", "CalibratedIndex", "replaced_z"]

BACKGROUND_SAMPLE = 1000
"""Heads on which the background is measured."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CalibratedField:
    """Similarity of one text to one field of every skill.

    Attributes:
        field: Rows of the field.
        penalty: What is subtracted from each skill's similarity.
        similarity: With the background and `penalty` taken out.
    """

    field: Field
    penalty: Floats
    similarity: Floats


class CalibratedIndex:
    """Vectors of one library, and what they have in common.

    Args:
        plan: What was encoded.
        located: Where each of the plan's texts is.
        counts: Gives the terms of the heads of some skills; see `TermIndex.counts_of`.
        rank: Directions of the background, None for as many as the library shows.
        hub_weight: Share of a skill's hubness that is subtracted.
        previous: The index of the generation before; of the plan before that one.

    Attributes:
        semantic: The vectors.
        sample: Names of the heads on which the background was measured, ascending.
        basis: Orthonormal rows that span the background.
        hubness: Of the heads; None where there are fewer than 30, or its weight is 0.
    """

    def __init__(
        self,
        plan: TextPlan,
        located: Located,
        counts: Callable[[Positions, int], TermCounts],
        rank: int | None,
        hub_weight: float,
        previous: CalibratedIndex | None,
    ) -> None:
        self.semantic = SemanticIndex(plan, located)
        heads, originals = _first_skills(plan)
        chosen = smallest(plan.keys[heads], BACKGROUND_SAMPLE)
        self.sample = plan.keys[heads[chosen]]
        if previous is not None and np.array_equal(previous.sample, self.sample):
            self.basis: Rows = previous.basis
        else:
            vectors = located.take(heads[chosen])
            self.basis = background_basis(vectors, counts(originals[chosen], 2), rank)
        self.hubness: Hubness | None = None
        self._nothing = np.zeros(len(plan.head.rows))
        self._penalty = self._nothing
        self._reference = np.sort(originals)  # texts are numbered as they came
        if len(heads) >= SMALL_LIBRARY and hub_weight:
            sampled = heads[chosen[:HUB_SAMPLE]]
            before = None if previous is None else previous.hubness
            self.hubness = hubness(located, heads, sampled, before, plan.kept)
            self._penalty = hub_weight * self.hubness.values[plan.head.rows]
            self._reference = originals[chosen[:HUB_SAMPLE]]

    def calibrated(self, vectors: Rows) -> Rows:
        """Vectors of queries without the background, one a row."""
        return without(vectors, self.basis)

    def similarities(self, calibrated: Rows) -> tuple[CalibratedField, CalibratedField | None]:
        """Similarity of a calibrated vector to the heads, and to the best chunks of bodies."""
        heads, bodies = self.semantic.similarities(calibrated)
        head = CalibratedField(self.semantic.head, self._penalty, heads - self._penalty)
        if bodies is None or self.semantic.body is None:
            return head, None
        return head, CalibratedField(self.semantic.body, self._nothing, bodies)

    def z_with_sentences(
        self, scored: CalibratedField, skills: Positions, vectors: Rows, weight: float
    ) -> Floats:
        """z-scores in which some skills also count by their best sentence.

        ``z(similarity + weight * max over sentences of similarity)``. Only `skills` are compared
        with the sentences; mean and deviation of all are estimated on those among which
        neighbours were looked for.

        Args:
            scored: Similarity of the whole text.
            skills: Candidates; the others keep the z of the whole text.
            vectors: Calibrated vectors of the sentences, at least one.
            weight: Weight of the best sentence.
        """
        reference = self._pooled(scored, self._reference, vectors, weight)
        z = z_scores(scored.similarity)
        return replaced_z(z, skills, self._pooled(scored, skills, vectors, weight), reference)

    def _pooled(
        self, scored: CalibratedField, skills: Positions, vectors: Rows, weight: float
    ) -> Floats:
        best = self.semantic.best_of(scored.field, skills, vectors) - scored.penalty[skills]
        return scored.similarity[skills] + weight * best


def replaced_z(z: Floats, skills: Positions, values: Floats, reference: Floats) -> Floats:
    """`z` with the z-scores of other numbers for some skills.

    Args:
        z: One a skill; it is not changed.
        skills: Positions of those that are replaced.
        values: Their numbers.
        reference: The same numbers of other skills, from which mean and deviation are taken.
    """
    mean, deviation = spread(reference)
    replaced = z.copy()
    if deviation > 0.0:
        replaced[skills] = (values - mean) / deviation
    return replaced


def _first_skills(plan: TextPlan) -> tuple[Positions, Positions]:
    """Numbers of the texts that are heads, ascending, and the first skill that has each."""
    rows = plan.head.rows
    first = np.full(len(plan.keys), -1, dtype=np.int64)
    first[rows[::-1]] = np.arange(len(rows))[::-1]  # the last that is written stays
    heads = np.flatnonzero(first >= 0)
    return heads, first[heads]
