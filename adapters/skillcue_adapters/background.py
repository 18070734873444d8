"""Semantic background calibration: what all skill descriptions share is taken out of similarity.

Skill descriptions are written to a pattern ("use when ...", "helps with ..."). Vectors carry the
pattern as well as the content, and documents more of it than queries, so that the descriptions
that are most like a description come first (SkillSight, https://arxiv.org/abs/2607.18785,
eq. 2-5). The background subspace is spanned by the mean vectors of generic terms. It is projected
out of the query, which is the same as out of query and documents.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skillcue_adapters.index.vectors import Rows
from skillcue_adapters.similarity import dots, dots_of_many, gram
from skillcue_adapters.term_index import SMALL_LIBRARY, TermCounts, generic_terms

__all__ = [
    "MAX_AUTOMATIC_RANK",
    "automatic_rank",
    "background_basis",
    "generic_means",
    "leading_directions",
    "without",
]

Floats = npt.NDArray[np.float64]

MAX_AUTOMATIC_RANK = 4
"""More directions than this take content away, in small libraries much of it."""

_SPARE = 4
"""Further directions that are iterated along, so that the wanted ones converge fast."""

_MAX_ITERATIONS = 300
_CONVERGED = 1e-11


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


def without(vectors: Rows, basis: Rows) -> Rows:
    """Each row of `vectors` minus its part in the span of `basis` (orthonormal rows)."""
    left = vectors.astype(np.float64)
    for direction in basis.astype(np.float64):
        left = left - dots(left, direction)[:, None] * direction
    return left.astype(np.float32)


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
