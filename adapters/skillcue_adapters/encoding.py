"""Vectors of a library's texts: at once where few are new, else in the background."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

import numpy as np

from skillcue_adapters.document_vectors import DocumentVectors
from skillcue_adapters.index.keys import Positions
from skillcue_adapters.index.vectors import Located
from skillcue_adapters.locks import ForkSafeLock
from skillcue_adapters.scoring import EncodingProgress
from skillcue_adapters.text_plan import TextPlan
from skillcue_adapters.threads import is_ending, start_background
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.protocols import Encoder

__all__ = ["RETRY_S", "STOP_WAIT_S", "Encoding", "EncodingLimits"]

T = TypeVar("T")

RETRY_S = 30.0
"""After a failure the encoder is left alone for so long, seconds; then it is asked again."""

STOP_WAIT_S = 10.0
"""How long `Encoding.stop` waits for the batch at hand, seconds."""

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


class Encoding(Generic[T]):
    """Finds or encodes the vectors of a library's texts and makes something of them.

    In the background a daemon thread works in batches, each of which is kept. A forked child,
    where that thread does not exist, goes on with a thread of its own when it is first asked.
    Making one waits for a while where little is new. What fails, a server that is down as well as
    an encoder that gives nonsense, is tried again `RETRY_S` later, when a result is asked for.

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
        self._make_plan: Callable[[], TextPlan] | None = plan
        self._encoder = encoder
        self._vectors = vectors
        self._finish = finish
        self._before = previous
        self._limits = limits
        self._plan: TextPlan | None = None
        self._missing: Positions = np.zeros(0, dtype=np.int64)
        self._total = 0
        self._new = 0
        self._left = 0
        self._stopped = False
        self._result: T | None = None
        self._failure: BaseException | None = None
        self._failed_at = 0.0
        self._retrying = ForkSafeLock()
        self._done = threading.Event()
        self._pid = os.getpid()
        self._planned = threading.Event()
        self._start()
        if few and self._planned.wait(limits.inline_s) and self._new <= limits.inline:
            self._done.wait(limits.inline_s)

    @property
    def result(self) -> T | None:
        """What `finish` made; None while there is none."""
        if self._result is None:
            self._survive_fork()
            self._try_again()
        return self._result

    @property
    def progress(self) -> EncodingProgress:
        """How far the work is."""
        failure = None if self._failure is None else str(self._failure)
        return EncodingProgress(self._total, self._new, self._new - self._left, failure)

    @property
    def pending(self) -> str:
        """Why there is no result: how far the work is, or what went wrong."""
        if self._failure is not None:
            # The message may hold a key or a page of HTML, and a model reads this.
            return f"encoding failed: {type(self._failure).__name__}"
        if not self._left:
            return "loading the index"
        # A share, no numbers: who may see a part of the library is not told how large it is.
        done = f"{100 * (self._total - self._left) // self._total}%"
        return f"encoding stopped at {done}" if self._stopped else f"encoding, {done} done"

    def stop(self) -> None:
        """Stop after the batch at hand; what is encoded is kept."""
        self._stopped = True
        if self._pid == os.getpid() and not self._done.wait(STOP_WAIT_S):
            log.warning("the encoder is still at its last batch")

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until there is a result.

        Args:
            timeout: Seconds; None waits as long as it takes.

        Returns:
            Whether there is one; False at once when encoding failed.

        Raises:
            ConfigurationError: It failed because of a mistake: the model cannot be loaded, or
                what the encoder gives are no vectors.
        """
        self._survive_fork()
        self._done.wait(timeout)
        if isinstance(self._failure, ConfigurationError):
            raise self._failure
        return self._result is not None

    def _prepare(self) -> TextPlan:
        """Make the plan, and find out what is missing."""
        if self._make_plan is None:
            raise RuntimeError("the plan has been made")
        plan = self._make_plan()
        located = self._locate(plan)
        self._missing = np.flatnonzero(~located.known & plan.used())
        self._total = int(np.count_nonzero(plan.used()))
        self._new = self._left = len(self._missing)
        self._plan = plan
        return plan

    def _locate(self, plan: TextPlan) -> Located:
        if self._before is None:
            return self._vectors.locate(self._encoder, plan.keys)
        before = self._before.only(np.arange(plan.kept))
        return before.then(self._vectors.locate(self._encoder, plan.keys[plan.kept :]))

    def _start(self) -> None:
        # A thread ends its own event: by then another may have begun anew.
        start_background("skillcue-encoding", partial(self._guarded, self._done))

    def _survive_fork(self) -> None:
        if self._pid == os.getpid() or self._done.is_set():
            return
        # The parent's thread is not in this process, and its locks may be held for ever.
        self._pid = os.getpid()
        self._done = threading.Event()
        self._start()

    def _try_again(self) -> None:
        if self._failure is None or time.monotonic() - self._failed_at < RETRY_S:
            return
        with self._retrying:
            if self._failure is None or self._stopped:
                return
            self._failure = None
            self._done = threading.Event()
            self._start()

    def _guarded(self, done: threading.Event) -> None:
        try:
            self._work()
        except (Exception, SystemExit) as error:  # an encoder may raise anything
            if not is_ending():
                log.exception("encoding failed; answers are lexical")
            self._vectors.flush()
            self._failed_at = time.monotonic()  # first: a failure without its time is retried
            self._failure = error
        finally:
            self._planned.set()
            done.set()

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
