"""The formula that mode ``skillsight`` started from, as a yardstick for what it is now.

``z(similarity without background) + 2 L(evidence mass) + max(0, z(BM25 of the body))`` over the
best 150 by similarity, 100 by head and 150 by body, with two background directions; where no
skill has a body ``3 L`` instead of the last two. ``L(x) = log(1 + max(0, x - 0.5))``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from skillcue_adapters.bm25 import Bm25Retriever, Bm25Settings
from skillcue_adapters.fusion import best_positions, evidence_gain
from skillcue_adapters.normalization import z_scores
from skillcue_adapters.scoring import Scored
from skillcue_adapters.skillsight import SkillSightRetriever, SkillSightSettings
from skillcue_hooks.contracts import Library, Query

__all__ = ["StartingFormula", "starting_formula"]

BELOW = 1e6
"""What is no candidate scores so much less, in the order of similarity."""


class StartingFormula(SkillSightRetriever):
    """See the module; the context is not looked at."""

    def _score(self, index: Any, query: Query) -> Scored:
        vector = self.query_vector(query.text)
        words = self._lexical.read(query.text)
        similar = index.similarities(index.calibrated(vector[None, :])[0])[0].similarity
        among = best_positions(150, similar)
        among = np.union1d(among, best_positions(100, words.view.head))
        has_bodies = self._lexical.body_share > 0
        if has_bodies:
            among = np.union1d(among, best_positions(150, words.view.body))
        inside = z_scores(similar[among])
        inside += (2.0 if has_bodies else 3.0) * evidence_gain(words.mass[among])
        if has_bodies:
            inside += np.maximum(0.0, z_scores(words.view.body[among]))
        scores = similar - BELOW
        scores[among] = inside

        def signals(_position: int) -> Mapping[str, float]:
            return {}

        return Scored(scores, np.ones(len(scores), dtype=np.bool_), signals)


def starting_formula(library: Library, encoder: Any, vectors: Any) -> StartingFormula:
    """The formula over a library, complete when this returns."""
    bm25 = Bm25Retriever(library, Bm25Settings(k3=100.0))  # repeated words count in full
    settings = SkillSightSettings(
        rank=2, hub_weight=0.0, inline_texts=10_000_000, inline_ms=3_600_000
    )
    return StartingFormula(library, encoder, settings, None, vectors, bm25, "starting formula")
