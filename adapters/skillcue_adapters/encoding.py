"""Vectors of a library's texts: at once where few are new, else in the background."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from skillcue_adapters.batched_work import BatchedWork
from skillcue_adapters.document_vectors import DocumentVectors
from skillcue_adapters.index.keys import Positions
from skillcue_adapters.index.vectors import Located
from skillcue_adapters.text_plan import TextPlan
from skillcue_adapters.threads import is_ending
from skillcue_hooks.protocols import Encoder

__all__ = ["Encoding", "EncodingLimits"]

T = TypeVar("T")

log = logging.getLogger("skillcue.encoding")


@dataclass(frozen=True, slots=True)
class EncodingLimits:
    """When work is done.

    Attributes:
        inline: Up to so many new texts are waited for.
        inline_s: So long, seconds.
        batch: Texts a batch, 1 or more.
    """

    inline: int
    inline_s: float
    batch: int


class Encoding(BatchedWork[T]):
    """Finds or encodes the vectors of a library's texts and makes something of them.

    Making one waits for a while where little is new.

    Args:
        plan: Makes the plan of what is encoded.
        encoder: Encodes.
        vectors: Where vectors are found and kept.
        finish: Makes the result; every text that a skill has is located.
        previous: What the generation before located: of the texts that the plan keeps.
        few: Whether there is little to plan; otherwise even that is done in the background.
        limits: See there.
    """

    def __init__(
        self,
        plan: Callable[[], TextPlan],
        encoder: Encoder,
        vectors: DocumentVectors,
        finish: Callable[[TextPlan, Located], T],
        previous: Located | None,
        few: bool,
        limits: EncodingLimits,
    ) -> None:
        super().__init__("encoding", "loading the index", log)
        self._make_plan: Callable[[], TextPlan] | None = plan
        self._encoder = encoder
        self._vectors = vectors
        self._finish = finish
        self._before = previous
        self._limits = limits
        self._plan: TextPlan | None = None
        self._missing: Positions = np.zeros(0, dtype=np.int64)
        self._start()
        if few:
            self._wait_for_few(limits.inline, limits.inline_s)

    def _prepare(self) -> TextPlan:
        """Make the plan, and find out what is missing."""
        if self._make_plan is None:
            raise RuntimeError("the plan has been made")
        plan = self._make_plan()
        located = self._locate(plan)
        self._missing = np.flatnonzero(~located.known & plan.used())
        self._planned_work(int(np.count_nonzero(plan.used())), len(self._missing))
        self._plan = plan
        return plan

    def _locate(self, plan: TextPlan) -> Located:
        if self._before is None:
            return self._vectors.locate(self._encoder, plan.keys)
        before = self._before.only(np.arange(plan.kept))
        return before.then(self._vectors.locate(self._encoder, plan.keys[plan.kept :]))

    def _work(self) -> None:
        started = time.perf_counter()
        plan = self._plan or self._prepare()
        self._planned.set()
        for start in range(0, self._new, self._limits.batch):
            if self._stopped or is_ending():
                break
            batch = self._missing[start : start + self._limits.batch]
            texts = [plan.new[n] for n in batch.tolist()]
            self._vectors.encode(self._encoder, plan.keys[batch], texts)
            self._left = self._new - start - len(batch)
        if self._new:
            self._vectors.flush()
        if self._left:  # stopped
            return
        self._result = self._finish(replace(plan, new={}), self._locate(plan))
        # The texts need not stay in memory, nor what only the generation before had.
        self._plan = self._before = self._make_plan = None
        elapsed = time.perf_counter() - started
        log.debug("%d of %d texts encoded, %.1f s", self._new, self._total, elapsed)

    def _failed(self) -> None:
        self._vectors.flush()
