"""Scores of different scales on one: pure functions over arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["min_max", "sigmoid", "spread", "z_scores"]

Floats = npt.NDArray[np.float64]


def spread(values: Floats) -> tuple[float, float]:
    """Mean and population standard deviation; the deviation of equal numbers is exactly 0.0.

    Args:
        values: At least one number, finite.
    """
    if values.min() == values.max():  # the mean of equal numbers is rounded
        return float(values[0]), 0.0
    return float(values.mean()), float(values.std())


def z_scores(values: Floats) -> Floats:
    """``(x - mean) / std`` with the population standard deviation; 0.0 where all are equal."""
    mean, deviation = spread(values)
    return (values - mean) / deviation if deviation > 0.0 else np.zeros(len(values))


def min_max(values: Floats) -> Floats:
    """``(x - min) / (max - min)``, from 0 to 1; 0.0 where all are equal."""
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low) if high > low else np.zeros(len(values))


def sigmoid(values: Floats) -> Floats:
    """``1 / (1 + exp(-x))``, from 0 to 1, for numbers of any size."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -values)), dtype=np.float64)
