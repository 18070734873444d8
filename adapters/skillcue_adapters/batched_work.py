"""Work on the texts of a library, batch by batch, while answers go on without it."""

from __future__ import annotations

import logging
import os
import threading
import time
from abc import ABC, abstractmethod
from functools import partial
from typing import Generic, TypeVar

from skillcue_adapters.locks import ForkSafeLock
from skillcue_adapters.scoring import EncodingProgress
from skillcue_adapters.threads import is_ending, start_background
from skillcue_hooks.errors import ConfigurationError

__all__ = ["RETRY_S", "STOP_WAIT_S", "BatchedWork"]

T = TypeVar("T")

RETRY_S = 30.0
"""After a failure the encoder or store is left alone for so long, seconds; then it is asked again."""

STOP_WAIT_S = 10.0
"""How long `BatchedWork.stop` waits for the batch at hand, seconds."""


class BatchedWork(ABC, Generic[T]):
    """Makes a result in the background, in batches, each of which is kept.

    A daemon thread works. A forked child, where that thread does not exist, goes on with a thread
    of its own when it is first asked. What fails, a server that is down as well as an encoder that
    gives nonsense, is tried again `RETRY_S` later, when a result is asked for.

    Args:
        doing: What is done, one word, for `pending`.
        ending: What is done when all batches are through.
        log: Where a failure is reported.
    """

    def __init__(self, doing: str, ending: str, log: logging.Logger) -> None:
        self._doing = doing
        self._ending = ending
        self._log = log
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

    @property
    def result(self) -> T | None:
        """What the work made; None while there is none."""
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
            return f"{self._doing} failed: {type(self._failure).__name__}"
        if not self._left:
            return self._ending
        # A share, no numbers: who may see a part of the library is not told how large it is.
        done = f"{100 * (self._total - self._left) // self._total}%"
        return (
            f"{self._doing} stopped at {done}" if self._stopped else f"{self._doing}, {done} done"
        )

    def stop(self) -> None:
        """Stop after the batch at hand; what is done is kept."""
        self._stopped = True
        if self._pid == os.getpid() and not self._done.wait(STOP_WAIT_S):
            self._log.warning("%s is still at its last batch", self._doing)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until there is a result.

        Args:
            timeout: Seconds; None waits as long as it takes.

        Returns:
            Whether there is one; False at once when the work failed.

        Raises:
            ConfigurationError: It failed because of a mistake: the model cannot be loaded, or
                what the encoder gives are no vectors.
        """
        self._survive_fork()
        self._done.wait(timeout)
        if isinstance(self._failure, ConfigurationError):
            raise self._failure
        return self._result is not None

    @abstractmethod
    def _work(self) -> None:
        """Do it, and set `_result` unless it was stopped.

        Sets `_planned` once it is known how much there is, and takes `_left` down.
        """

    def _failed(self) -> None:
        """What is to be done at once when `_work` has raised."""

    def _planned_work(self, total: int, new: int) -> None:
        self._total = total
        self._new = self._left = new

    def _wait_for_few(self, most: int, seconds: float) -> None:
        if self._planned.wait(seconds) and self._new <= most:
            self._done.wait(seconds)

    def _start(self) -> None:
        # A thread ends its own event: by then another may have begun anew.
        start_background(f"skillcue-{self._doing}", partial(self._guarded, self._done))

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
            self._begin_again()

    def _begin_again(self) -> None:
        """For whoever holds `_retrying`."""
        self._failure = None
        self._done = threading.Event()
        self._start()

    def _guarded(self, done: threading.Event) -> None:
        try:
            self._work()
        except (Exception, SystemExit) as error:  # noqa: BLE001  an encoder may raise anything
            if not is_ending():
                self._log.exception("%s failed; answers are lexical", self._doing)
            self._failed()
            self._failed_at = time.monotonic()  # first: a failure without its time is retried
            self._failure = error
        finally:
            self._planned.set()
            done.set()
