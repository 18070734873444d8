"""What vectors have in common, measured on the sample of an index.

The sample is that of `skillcue_adapters.calibration`, and so are background and hubness.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from skillcue_adapters.background import background_basis, without
from skillcue_adapters.calibration import BACKGROUND_SAMPLE
from skillcue_adapters.hubness import HUB_SAMPLE, mean_of_nearest
from skillcue_adapters.index.keys import content_keys
from skillcue_adapters.index.vectors import Rows
from skillcue_adapters.indexed.sample import Sample
from skillcue_adapters.locks import ForkSafeLock
from skillcue_adapters.similarity import on_grid
from skillcue_adapters.term_index import SMALL_LIBRARY

__all__ = ["REMEMBERED_HEADS", "SampleCalibration"]

REMEMBERED_HEADS = 16_384
"""Heads whose hubness is remembered, the last used ones: the same come up again and again."""

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]


class SampleCalibration:
    """Background and hubness of one sample. Safe to share between threads.

    Args:
        sample: The sample.
        encoder: Fingerprint of the encoder of its vectors.
        rank: Directions of the background, None for as many as the sample shows.
        hub_weight: Share of a skill's hubness that is subtracted.
        previous: Of the generation before, with the same two settings.

    Attributes:
        basis: Orthonormal rows that span the background.
        reference: Places in the sample from which the spread of sentences is estimated.
        sampled_penalties: What is subtracted from the similarity of each skill of the sample.
    """

    def __init__(
        self,
        sample: Sample,
        encoder: str,
        rank: int | None,
        hub_weight: float,
        previous: SampleCalibration | None = None,
    ) -> None:
        heads = sample.distinct[:BACKGROUND_SAMPLE]
        self._keys = [sample.keys[place] for place in heads.tolist()]
        self._encoder = encoder
        self._hub_weight = hub_weight
        self._lock = ForkSafeLock()
        self._known: OrderedDict[str, float] = OrderedDict()
        self.reference: Positions = sample.distinct
        self._columns: dict[bytes, int] = {}
        if len(sample.distinct) >= SMALL_LIBRARY and hub_weight:
            self.reference = sample.distinct[:HUB_SAMPLE]
            self._columns = {key: n for n, key in enumerate(self._keys[:HUB_SAMPLE])}
        self._hubs = on_grid(sample.vectors[self.reference])
        if previous is not None and previous._keys == self._keys:
            self.basis: Rows = previous.basis
            self._known = previous._remembered()
        else:
            self.basis = background_basis(
                sample.vectors[heads], sample.head.counts_of(heads, 2), rank
            )
        self.sampled_penalties = hub_weight * self._hubness(sample.vectors, sample.keys)

    def calibrated(self, vectors: Rows) -> Rows:
        """Vectors of queries without the background, one a row."""
        return without(vectors, self.basis)

    def penalties(self, heads: Sequence[str], vectors: Rows) -> Floats:
        """What is subtracted from the similarity of each of some skills.

        Args:
            heads: Texts of their heads.
            vectors: Of those.
        """
        if not self._columns:
            return np.zeros(len(heads))
        with self._lock:
            found = np.array([self._known.get(head, np.nan) for head in heads], dtype=np.float64)
        missing = np.flatnonzero(np.isnan(found))
        if len(missing):
            keys = content_keys(self._encoder, (heads[n] for n in missing.tolist()))
            found[missing] = self._hubness(vectors[missing], [key.tobytes() for key in keys])
        self._remember(heads, found)
        return self._hub_weight * found

    def _hubness(self, vectors: Rows, keys: Sequence[bytes]) -> Floats:
        if not self._columns:
            return np.zeros(len(keys))
        similar = on_grid(vectors) @ self._hubs.T
        own = np.array([self._columns.get(key, -1) for key in keys], dtype=np.int64)
        rows = np.flatnonzero(own >= 0)
        similar[rows, own[rows]] = -np.inf  # nobody is near to its own text
        return mean_of_nearest(-np.sort(-similar, axis=1), len(self._hubs))

    def _remember(self, heads: Sequence[str], found: Floats) -> None:
        with self._lock:
            for head, hubness in zip(heads, found.tolist(), strict=True):
                self._known[head] = hubness
                self._known.move_to_end(head)
            while len(self._known) > REMEMBERED_HEADS:
                self._known.popitem(last=False)

    def _remembered(self) -> OrderedDict[str, float]:
        with self._lock:
            return OrderedDict(self._known)
