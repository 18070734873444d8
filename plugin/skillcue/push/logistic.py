"""Logistic regression that is pulled towards weights believed in beforehand, within their signs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize

__all__ = ["Floats", "fit_logistic", "log_losses"]

Floats = np.ndarray[Any, np.dtype[np.float64]]


def fit_logistic(
    table: Floats,
    need: Floats,
    *,
    anchor: Floats,
    signs: Sequence[int],
    ridge: float,
    counts: Floats | None = None,
) -> tuple[float, Floats]:
    """Intercept and weights that are most likely, given a normal prior on the weights.

    The prior has the mean `anchor` and the variance ``1 / ridge``, so that this is ridge regression
    towards `anchor` (Hoerl and Kennard, 1970); the intercept is free. L-BFGS-B keeps every weight at
    0 or on the side of its sign.

    Args:
        table: Features, of shape (turns, features).
        need: 1 where a turn needed a skill, else 0.
        anchor: Weights that without any turn would come out.
        signs: 1 or -1 for each feature.
        ridge: How many turns' worth of evidence the prior is, roughly times four.
        counts: How much each turn counts; 1 without.
    """
    counts = np.ones(len(need)) if counts is None else counts

    def loss(w: Floats) -> tuple[float, Floats]:
        z = table @ w[1:] + w[0]
        error = counts * (1.0 / (1.0 + np.exp(-z)) - need)
        away = w[1:] - anchor
        value = np.sum(counts * log_losses(z, need)) + 0.5 * ridge * away @ away
        return float(value), np.concatenate([[error.sum()], table.T @ error + ridge * away])

    bounds = [(None, None)] + [(0.0, None) if sign > 0 else (None, 0.0) for sign in signs]
    start = np.zeros(table.shape[1] + 1)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return float(found[0]), found[1:]


def log_losses(z: Floats, need: Floats) -> Floats:
    """What each turn costs, nats, when its log-odds are `z`."""
    losses: Floats = np.logaddexp(0.0, z) - need * z
    return losses
