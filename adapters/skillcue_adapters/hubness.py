"""Hubness: some documents are near to everything, and come first whatever is asked.

How near a document is to its nearest neighbours among other documents is subtracted from its
similarity, in part (cross-domain similarity local scaling, Conneau et al. 2018,
https://arxiv.org/abs/1710.04087, section 2.3). Neighbours are looked for in a sample that is drawn
by content.

All similarities are exact sums (see `skillcue_adapters.similarity.on_grid`), the same whether they
are computed now or taken from the generation before. Some more neighbours than are needed are
remembered, so that a change of the sample costs one comparison with each document, not hundreds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from skillcue_adapters.index.keys import Positions
from skillcue_adapters.index.vectors import Located, Rows
from skillcue_adapters.similarity import on_grid

__all__ = ["HUB_SAMPLE", "NEIGHBOURS", "REMEMBERED", "Hubness", "hubness", "mean_of_nearest"]

HUB_SAMPLE = 500
"""Documents among which neighbours are looked for."""

NEIGHBOURS = 10
"""Nearest neighbours whose mean similarity is a document's hubness."""

REMEMBERED = 16
"""Neighbours that are remembered."""

_BLOCK_ROWS = 4096
_NOBODY = -1

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Hubness:
    """How near documents are to their nearest neighbours.

    Attributes:
        sampled: Numbers of the texts among which neighbours were looked for.
        similar: By number of a text, similarity to the nearest of them, descending, its own text
            left out; float32, shape ``(texts, REMEMBERED)``, -inf where there are no more.
        nearest: Numbers of those texts; -1 where there are no more.
        known: Texts that were looked at: the heads.
    """

    sampled: Positions
    similar: Rows
    nearest: Numbers
    known: npt.NDArray[np.bool_]

    @property
    def values(self) -> Floats:
        """Mean similarity to the nearest, by number of a text; 0.0 where there are none."""
        nearest = np.where(self.known[:, None], self.similar, np.float32(0.0))
        return mean_of_nearest(nearest, len(self.sampled))


def mean_of_nearest(similar: Rows, sampled: int) -> Floats:
    """Hubness of each document; 0.0 where there is no neighbour.

    Args:
        similar: Similarities to its nearest neighbours, descending, one document a row.
        sampled: Documents among which they were looked for.
    """
    count = min(NEIGHBOURS, sampled - 1)
    if count < 1:
        return np.zeros(len(similar))
    return np.asarray(similar[:, :count].astype(np.float64).mean(axis=1))


def hubness(
    located: Located, heads: Positions, sampled: Positions, previous: Hubness | None, kept: int
) -> Hubness:
    """Nearest neighbours of each head among `sampled`.

    Args:
        located: Where texts are.
        heads: Numbers of the texts that are heads, all different.
        sampled: Numbers of those among which neighbours are looked for.
        previous: Of the generation before.
        kept: So many texts at the beginning are the same as in `previous`.
    """
    texts = len(located.addresses)
    similar = np.full((texts, REMEMBERED), -np.inf, dtype=np.float32)
    nearest = np.full((texts, REMEMBERED), _NOBODY, dtype=np.int32)
    known = np.zeros(texts, dtype=np.bool_)
    if previous is not None:
        similar[:kept] = previous.similar[:kept]
        nearest[:kept] = previous.nearest[:kept]
        known[:kept] = previous.known[:kept]
        if not np.array_equal(previous.sampled, sampled):
            _resample(located, similar, nearest, known, previous.sampled, sampled)
    fresh = heads[~known[heads]]
    vectors = on_grid(located.take(sampled))
    for start in range(0, len(fresh), _BLOCK_ROWS):
        block = fresh[start : start + _BLOCK_ROWS]
        found = _similarities(located, block, sampled, vectors)
        similar[block], nearest[block] = _best(found, np.broadcast_to(sampled, found.shape))
    known[fresh] = True
    return Hubness(sampled, similar, nearest, known)


def _resample(
    located: Located,
    similar: Rows,
    nearest: Numbers,
    known: npt.NDArray[np.bool_],
    before: Positions,
    now: Positions,
) -> None:
    """Take neighbours out that left the sample, and put in those that came.

    What is remembered of a document stays true as far as its last neighbour reaches: of those who
    came, only the nearer ones can be ranked among the others. Documents of which too little is
    left are forgotten.
    """
    came = np.setdiff1d(now, before)
    rows = np.flatnonzero(known)
    if len(came) > REMEMBERED:
        known[rows] = False
        return
    reach = np.where(nearest[rows] == _NOBODY, np.inf, similar[rows]).min(axis=1)
    listed = (nearest[rows] != _NOBODY).sum(axis=1)
    reach[listed == len(before) - np.isin(rows, before)] = -np.inf  # nobody was left out
    gone = ~np.isin(nearest[rows], now)
    similar[rows] = np.where(gone, -np.inf, similar[rows])
    nearest[rows] = np.where(gone, _NOBODY, nearest[rows])
    found = _similarities(located, rows, came, on_grid(located.take(came)))
    found[found < reach[:, None]] = -np.inf
    names = np.where(np.isneginf(found), _NOBODY, np.broadcast_to(came, found.shape))
    similar[rows], nearest[rows] = _best(
        np.concatenate([similar[rows], found], axis=1),
        np.concatenate([nearest[rows], names], axis=1),
    )
    others = len(now) - np.isin(rows, now)
    left = (nearest[rows] != _NOBODY).sum(axis=1)
    known[rows[left < np.minimum(others, NEIGHBOURS)]] = False


def _similarities(located: Located, rows: Positions, others: Positions, vectors: Rows) -> Rows:
    found = np.empty((len(rows), len(others)), dtype=np.float32)
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        found[block] = on_grid(located.take(rows[block])) @ vectors.T
    found[rows[:, None] == others[None, :]] = -np.inf
    return found


def _best(similar: Rows, names: npt.NDArray[Any]) -> tuple[Rows, Numbers]:
    """The `REMEMBERED` largest of each row, descending."""
    count = min(REMEMBERED, similar.shape[1])
    order = np.argpartition(-similar, count - 1, axis=1)[:, :count]
    inside = np.take_along_axis(similar, order, axis=1)
    order = np.take_along_axis(order, np.argsort(-inside, axis=1, kind="stable"), axis=1)
    best = np.full((len(similar), REMEMBERED), -np.inf, dtype=np.float32)
    best[:, :count] = np.take_along_axis(similar, order, axis=1)
    who = np.full(best.shape, _NOBODY, dtype=np.int32)
    who[:, :count] = np.take_along_axis(names, order, axis=1)
    who[np.isneginf(best)] = _NOBODY
    return best, who
