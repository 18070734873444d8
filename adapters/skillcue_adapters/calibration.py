"""Similarity after calibration: background and hubness taken out, sentences looked at again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skillcue_adapters.background import Hubness, background_basis, hubness, without
from skillcue_adapters.index.protocol import Rows
from skillcue_adapters.normalization import spread, z_scores
from skillcue_adapters.semantic_index import Field, SemanticIndex, TextPlan
from skillcue_adapters.term_index import SMALL_LIBRARY, TermCounts, selected_counts

__all__ = ["CalibratedField", "CalibratedIndex"]

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]


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
        rows: Vectors of the plan's texts.
        keys: Names of the plan's texts.
        plan: What was encoded.
        counts: Terms of each skill's head.
        rank: Directions of the background, None for as many as the library shows.
        hub_weight: Share of a skill's hubness that is subtracted.
        previous: The index of the generation before.

    Attributes:
        semantic: The vectors.
        basis: Orthonormal rows that span the background.
        hubness: Of the heads; None where there are fewer than 30, or its weight is 0.
    """

    def __init__(
        self,
        rows: Rows,
        keys: tuple[str, ...],
        plan: TextPlan,
        counts: TermCounts,
        rank: int | None,
        hub_weight: float,
        previous: CalibratedIndex | None,
    ) -> None:
        self.semantic = SemanticIndex(rows, plan)
        heads, of_skill = self.semantic.head_rows, plan.head.rows
        _, originals = np.unique(of_skill, return_index=True)  # one skill a row, in their order
        self.basis = background_basis(heads, selected_counts(counts, originals), rank)
        self.hubness: Hubness | None = None
        self._nothing = np.zeros(len(of_skill))
        self._penalty = self._nothing
        self._reference = originals
        if len(heads) >= SMALL_LIBRARY and hub_weight:
            head_keys = keys[: plan.heads]
            self.hubness = hubness(heads, head_keys, None if previous is None else previous.hubness)
            self._penalty = hub_weight * self.hubness.values[of_skill]
            row_of = {key: row for row, key in enumerate(head_keys)}
            self._reference = originals[[row_of[key] for key in self.hubness.sample]]

    def calibrated(self, vector: Rows) -> Rows:
        """A query's vector without the background."""
        return without(vector, self.basis)

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
        mean, deviation = spread(self._pooled(scored, self._reference, vectors, weight))
        z = z_scores(scored.similarity)
        if deviation > 0.0:
            z[skills] = (self._pooled(scored, skills, vectors, weight) - mean) / deviation
        return z

    def _pooled(
        self, scored: CalibratedField, skills: Positions, vectors: Rows, weight: float
    ) -> Floats:
        best = self.semantic.best_of(scored.field, skills, vectors) - scored.penalty[skills]
        return scored.similarity[skills] + weight * best
