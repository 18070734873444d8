"""Dot products whose bits depend on nothing but the two vectors.

A matrix product in BLAS is cut into pieces by the number of threads and by its shape, and its
sums are rounded in another order each time. Two ways round that are used here. One dot product at
a time is computed by one thread whatever the number of rows. And products of numbers on a coarse
grid are exact, so that no order of summation changes them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["GRID", "dots", "dots_of_many", "gram", "on_grid"]

Floats = npt.NDArray[np.float64]

GRID = 2048
"""Steps to 1.0. Products of unit vectors on it are multiples of 2**-22 and at most about 1, and
float32 holds all such numbers up to 4.0 exactly. A similarity is off by about 2e-4."""

GRAM_ROWS = 4096
"""Longest sum that is left to BLAS: above 10,000 numbers it may use threads."""


def dots(matrix: npt.NDArray[Any], vector: npt.NDArray[Any]) -> Floats:
    """Dot product of every row with `vector`, computed in their own precision.

    Args:
        matrix: Shape ``(n, dim)``.
        vector: Shape ``(dim,)``.

    Returns:
        Shape ``(n,)``.
    """
    # A stack of 1 x dim matrices: numpy asks BLAS for one dot product for each of them.
    stacked = matrix[:, None, :] @ vector[:, None]
    return np.asarray(stacked[:, 0, 0], dtype=np.float64)


def dots_of_many(matrix: npt.NDArray[Any], vectors: npt.NDArray[Any]) -> Floats:
    """Dot product of every row of `matrix` with every row of `vectors`.

    Args:
        matrix: Shape ``(n, dim)``.
        vectors: Shape ``(m, dim)``.

    Returns:
        Shape ``(n, m)``.
    """
    stacked = matrix[:, None, None, :] @ vectors[None, :, :, None]
    return np.asarray(stacked[:, :, 0, 0], dtype=np.float64)


def gram(matrix: Floats) -> Floats:
    """``matrix.T @ matrix``, shape ``(dim, dim)`` for a matrix of shape ``(n, dim)``."""
    total = np.zeros((matrix.shape[1], matrix.shape[1]))
    for start in range(0, len(matrix), GRAM_ROWS):
        columns = np.ascontiguousarray(matrix[start : start + GRAM_ROWS].T)
        for position, column in enumerate(columns):  # row by row: the stack would be large
            total[position] += dots(columns, column)
    return total


def on_grid(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """`vectors` with every number rounded to a multiple of ``1 / GRID``."""
    return np.asarray(np.round(vectors * np.float32(GRID)) / np.float32(GRID), dtype=np.float32)
