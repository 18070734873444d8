"""Semantic background calibration: what all skill descriptions share is taken out of similarity.

Skill descriptions are written to a pattern ("use when ...", "helps with ..."). Vectors carry the
pattern as well as the content, and documents more of it than queries, so that the descriptions
that are most like a description come first (SkillSight, https://arxiv.org/abs/2607.18785,
eq. 2-5). Two corrections, both properties of the library alone:

- The background subspace, spanned by the mean vectors of generic terms. It is projected out of
  the query, which is the same as out of query and documents.
- Hubness: some documents are near to everything. How near a document is to its nearest
  neighbours among other documents is subtracted, in part (cross-domain similarity local scaling,
  Conneau et al. 2018, https://arxiv.org/abs/1710.04087, section 2.3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skillcue_adapters.index.keys import Keys, Positions
from skillcue_adapters.index.vectors import Located, Rows
from skillcue_adapters.similarity import dots, dots_of_many, gram, on_grid
from skillcue_adapters.term_index import SMALL_LIBRARY, TermCounts, generic_terms

__all__ = [
    "HUB_SAMPLE",
    "MAX_AUTOMATIC_RANK",
    "NEIGHBOURS",
    "Hubness",
    "automatic_rank",
    "background_basis",
    "generic_means",
    "hubness",
    "leading_directions",
    "without",
]

Floats = npt.NDArray[np.float64]

MAX_AUTOMATIC_RANK = 4
"""More directions than this take content away, in small libraries much of it."""

HUB_SAMPLE = 500
"""Documents among which neighbours are looked for."""

NEIGHBOURS = 10
"""Nearest neighbours whose mean similarity is a document's hubness."""

_SPARE = 4
"""Further directions that are iterated along, so that the wanted ones converge fast."""

_MAX_ITERATIONS = 300
_CONVERGED = 1e-11
_BLOCK_ROWS = 4096


def background_basis(vectors: Rows, counts: TermCounts, rank: int | None) -> Rows:
    """Orthonormal rows that span the background of a library, shape ``(rank, dim)``.

    Args:
        vectors: Vectors of distinct heads, shape ``(n, dim)``. Copies of a skill must not count:
            what they have in common is content.
        counts: Terms of the same heads.
        rank: Number of directions; None takes `automatic_rank`, and no direction where there are
            fewer than 30 heads: their idf distribution has no valley and the subspace would be
            noise.
    """
    documents = len(vectors)
    if rank == 0 or (rank is None and documents < SMALL_LIBRARY):
        return np.zeros((0, vectors.shape[1]), dtype=np.float32)
    frequency = np.bincount(counts.matrix.indices, minlength=counts.matrix.shape[1])
    generic = generic_terms(frequency, documents)
    return leading_directions(generic_means(vectors, counts, generic), rank)


def generic_means(vectors: Rows, counts: TermCounts, generic: npt.NDArray[np.bool_]) -> Floats:
    """Mean vector of the documents that contain each generic term, and last the mean of all.

    Args:
        vectors: Shape ``(n, dim)``.
        counts: Terms of the same documents.
        generic: Which columns of `counts` are generic; each occurs in some document.

    Returns:
        Shape ``(generic terms + 1, dim)``.
    """
    contains = counts.matrix[:, np.flatnonzero(generic)].astype(np.float32)
    contains.data[:] = 1.0
    everywhere = sparse.csr_matrix(np.ones((len(vectors), 1), dtype=np.float32))
    members = sparse.hstack([contains, everywhere]).T.tocsr()
    members.sort_indices()
    sums = np.asarray(members @ vectors, dtype=np.float64)
    return np.asarray(sums / np.diff(members.indptr)[:, None])


def leading_directions(rows: Floats, rank: int | None) -> Rows:
    """The first right singular vectors of `rows`, orthonormal, shape ``(rank, dim)``.

    By subspace iteration with Rayleigh-Ritz on the Gram matrix (Golub and Van Loan, Matrix
    Computations, section 8.2), written without matrix products whose rounding depends on the
    number of threads.

    Args:
        rows: Shape ``(n, dim)``, n 1 or more.
        rank: Number of directions; None takes `automatic_rank`. Never more than `rows` span.
    """
    square = gram(rows)
    total = float(np.trace(square))
    if total == 0.0:
        return np.zeros((0, rows.shape[1]), dtype=np.float32)
    wanted = MAX_AUTOMATIC_RANK if rank is None else rank
    energies, directions = _largest(square, min(wanted, *rows.shape))
    if rank is None:
        rank = automatic_rank(float(energies[0]) / total)
    spanned = int(np.count_nonzero(energies > 1e-12 * total))
    return directions[: min(rank, spanned)].astype(np.float32)


def automatic_rank(largest_share: float) -> int:
    """Effective rank of a spectrum, rounded down, at most `MAX_AUTOMATIC_RANK`.

    1 divided by the largest share of energy, which is the exponential of the min-entropy. That
    of the Shannon entropy counts the long tail as well: it takes 13 directions out of 189 skills,
    much more than background.

    Args:
        largest_share: Energy of the first direction as a share of the whole, above 0, at most 1.
    """
    return min(int(1.0 / largest_share + 1e-9), MAX_AUTOMATIC_RANK)


def without(vector: Rows, basis: Rows) -> Rows:
    """`vector` minus its part in the span of `basis` (orthonormal rows)."""
    left = vector.astype(np.float64)
    for direction in basis.astype(np.float64):
        left = left - float(direction @ left) * direction
    return left.astype(np.float32)


@dataclass(frozen=True, slots=True)
class Hubness:
    """How near documents are to their nearest neighbours.

    Attributes:
        sample: Keys of the documents among which neighbours were looked for, ascending.
        values: By number of a text, mean similarity to the nearest of them, its own text left
            out; NaN for texts that are no heads.
    """

    sample: Keys
    values: Floats


def hubness(
    located: Located,
    heads: Positions,
    sampled: Positions,
    sample: Keys,
    previous: Hubness | None,
    kept: int,
) -> Hubness:
    """Mean similarity of each head to its nearest neighbours in a sample of the others.

    The sample is drawn by content, so that it seldom changes when the library does; values of
    `previous` are taken where it is the same. They are exact sums (see `similarity.on_grid`),
    the same whether they are computed now or taken.

    Args:
        located: Where texts are.
        heads: Numbers of the texts that are heads, all different.
        sampled: Numbers of those among which neighbours are looked for.
        sample: Their keys.
        previous: Of the generation before.
        kept: So many texts at the beginning are the same as in `previous`.
    """
    values = np.full(len(located.addresses), np.nan)
    if previous is not None and np.array_equal(previous.sample, sample):
        values[:kept] = previous.values[:kept]
    fresh = heads[np.isnan(values[heads])]
    neighbours = on_grid(located.take(sampled))
    for start in range(0, len(fresh), _BLOCK_ROWS):
        block = fresh[start : start + _BLOCK_ROWS]
        own = block[:, None] == sampled[None, :]
        values[block] = _nearness(on_grid(located.take(block)), neighbours, own)
    return Hubness(sample, values)


def _nearness(vectors: Rows, neighbours: Rows, own: npt.NDArray[np.bool_]) -> Floats:
    """Mean similarity to the nearest neighbours, those that are `own` left out."""
    count = min(NEIGHBOURS, len(neighbours) - 1)
    if count < 1:
        return np.zeros(len(vectors))
    similar = vectors @ neighbours.T
    similar[own] = -np.inf
    nearest = np.partition(similar, len(neighbours) - count, axis=1)[:, -count:]
    return np.asarray(nearest.astype(np.float64).mean(axis=1))


def _largest(square: Floats, count: int) -> tuple[Floats, Floats]:
    """The `count` largest eigenvalues of a symmetric matrix and their vectors (rows)."""
    start = np.random.default_rng(0).standard_normal((count + _SPARE, len(square)))
    basis = _orthonormal(start)
    for _ in range(_MAX_ITERATIONS):
        turned = _orthonormal(dots_of_many(basis, square))
        moved = [np.abs(row - _combined(dots(basis, row), basis)).max() for row in turned[:count]]
        basis = turned
        if max(moved) < _CONVERGED:
            break
    energies, mixing = np.linalg.eigh(dots_of_many(basis, dots_of_many(basis, square)))
    directions = np.array([_combined(weights, basis) for weights in mixing.T[::-1]])
    return energies[::-1][:count], directions[:count]


def _orthonormal(rows: Floats) -> Floats:
    """Gram-Schmidt, twice, which is enough; rows that are combinations of others are dropped."""
    kept: list[Floats] = []
    for row in rows:
        left = row
        for other in [*kept, *kept]:
            left = left - float(other @ left) * other
        length = float(np.sqrt(left @ left))
        if length > 1e-10 * float(np.sqrt(row @ row)):
            kept.append(left / length)
    return np.array(kept)


def _combined(weights: Floats, rows: Floats) -> Floats:
    return np.asarray((weights[:, None] * rows).sum(axis=0))
