"""Threads that work in the background and are over before the process is.

A daemon thread that is inside a native library while the interpreter shuts down ends the process with
an abort. So at exit they are waited for, for a short time, and work that asks `is_ending` stops early.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable

__all__ = ["EXIT_WAIT_S", "is_ending", "start_background"]

EXIT_WAIT_S = 10.0
"""At exit a thread is waited for so long, seconds: a batch of texts is done by then."""

_running: dict[threading.Thread, float] = {}
"""Those under way, with how long each is waited for at exit, seconds."""


def start_background(
    name: str, work: Callable[[], None], exit_wait_s: float = EXIT_WAIT_S
) -> threading.Thread:
    """Do `work` in a thread that does not keep the process alive.

    Args:
        name: Of the thread.
        work: What is done; asks `is_ending` between its steps.
        exit_wait_s: How long it is waited for at exit, seconds. Less is enough for what waits for a
            socket and not in a native library.

    Returns:
        The thread, which has begun.
    """

    def run() -> None:
        try:
            work()
        finally:
            _running.pop(threading.current_thread(), None)

    thread = threading.Thread(target=run, name=name, daemon=True)
    _running[thread] = exit_wait_s
    thread.start()
    return thread


def is_ending() -> bool:
    """Whether the process is about to end: what fails now fails for that reason."""
    return not threading.main_thread().is_alive()


@atexit.register
def _finish() -> None:
    began = time.monotonic()
    # Those of the process that was forked are over here.
    for thread, exit_wait_s in _running.copy().items():
        thread.join(max(began + exit_wait_s - time.monotonic(), 0.0))
