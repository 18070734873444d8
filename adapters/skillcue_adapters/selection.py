"""Which skills a query may see, and the best of a list of scores."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from skillcue_adapters.locks import ForkSafeLock
from skillcue_hooks.contracts import Query, Scope, Skill
from skillcue_hooks.errors import ConfigurationError

__all__ = ["FILTER_FIELDS", "MAX_MASKS", "SkillMasks", "top_k"]

Mask = npt.NDArray[np.bool_]

MAX_MASKS = 128
"""Filters and scopes whose answer over the whole library is remembered, least recent dropped."""

log = logging.getLogger("skillcue.selection")

FILTER_FIELDS: dict[str, Callable[[Skill, str], bool]] = {
    "category": lambda skill, value: f"{skill.category}/".startswith(f"{value.strip('/')}/"),
    "source": lambda skill, value: skill.source == value,
    "tag": lambda skill, value: value in skill.tags,
    "trust": lambda skill, value: skill.trust == value,
}
"""What `Query.filters` can ask for; a category also holds those below it."""


class SkillMasks:
    """Filters and scopes as boolean arrays over one list of skills. Safe to share by threads.

    Args:
        skills: The skills, in the order of the scores.
    """

    def __init__(self, skills: Sequence[Skill]) -> None:
        self._skills = skills
        self._masks: OrderedDict[tuple[str, ...], Mask] = OrderedDict()
        self._lock = ForkSafeLock()

    def of(self, query: Query) -> Mask | None:
        """True for each skill that all filters and the scope of `query` let through.

        None means that the query asks for no restriction.

        Raises:
            ConfigurationError: A filter names a field that cannot be filtered by.
        """
        masks = [self._filtered(field, value) for field, value in query.filters]
        if query.scope is not None:
            masks.append(self._scoped(query.scope))
        return np.logical_and.reduce(masks) if masks else None

    def _filtered(self, field: str, value: str) -> Mask:
        if field not in FILTER_FIELDS:
            raise ConfigurationError(
                f"Skills cannot be filtered by {field!r}.",
                f"Fields: {', '.join(sorted(FILTER_FIELDS))}.",
            )
        key = ("filter", field, value)
        mask = self._remembered(key)
        if mask is None:
            fits = FILTER_FIELDS[field]
            mask = np.array([fits(skill, value) for skill in self._skills], dtype=np.bool_)
            self._remember(key, mask)
        return mask

    def _scoped(self, scope: Scope) -> Mask:
        key = ("scope", scope.key, scope.answers)
        mask = self._remembered(key)
        if mask is None:
            mask, whole = self._ask(scope)
            if whole:
                self._remember(key, mask)
        return mask

    def _ask(self, scope: Scope) -> tuple[Mask, bool]:
        """The policy's answers, and whether it gave them all."""
        mask = np.zeros(len(self._skills), dtype=np.bool_)
        whole = True
        for position, skill in enumerate(self._skills):
            try:
                mask[position] = bool(scope.allows(skill))
            except Exception:  # a policy may raise anything; what it cannot judge stays hidden
                if whole:
                    log.exception("scope %r raised; skills it cannot judge are hidden", scope.key)
                whole = False
        return mask, whole

    def _remembered(self, key: tuple[str, ...]) -> Mask | None:
        with self._lock:
            mask = self._masks.get(key)
            if mask is not None:
                self._masks.move_to_end(key)
            return mask

    def _remember(self, key: tuple[str, ...], mask: Mask) -> None:
        with self._lock:
            self._masks[key] = mask
            while len(self._masks) > MAX_MASKS:
                self._masks.popitem(last=False)


def top_k(scores: npt.NDArray[np.float64], allowed: Mask, k: int) -> npt.NDArray[np.int64]:
    """Positions of the `k` best allowed scores, best first, equal scores in order of position.

    Exact at the cut: of scores that tie for the last place the first positions win.

    Args:
        scores: One score a position, finite.
        allowed: Same length; False keeps a position out.
        k: 0 or more; clipped to what is allowed.
    """
    candidates = np.flatnonzero(allowed)
    if 0 < k < len(candidates):
        cut = len(candidates) - k
        threshold = np.partition(scores[candidates], cut)[cut]
        candidates = candidates[scores[candidates] >= threshold]
    # A stable sort keeps ascending positions among equal scores.
    order = np.argsort(-scores[candidates], kind="stable")
    return candidates[order][:k]
