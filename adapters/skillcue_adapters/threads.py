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
"""At exit the threads are waited for together, seconds: a batch of texts is done by then."""

_running: set[threading.Thread] = set()


def start_background(name: str, work: Callable[[], None]) -> None:
    """Do `work` in a thread that does not keep the process alive.

    Args:
        name: Of the thread.
        work: What is done; asks `is_ending` between its steps.
    """

    def run() -> None:
        try:
            work()
        finally:
            _running.discard(threading.current_thread())

    thread = threading.Thread(target=run, name=name, daemon=True)
    _running.add(thread)
    thread.start()


def is_ending() -> bool:
    """Whether the process is about to end: what fails now fails for that reason."""
    return not threading.main_thread().is_alive()


@atexit.register
def _finish() -> None:
    until = time.monotonic() + EXIT_WAIT_S
    for thread in tuple(_running):  # those of the process that was forked are over here
        thread.join(max(until - time.monotonic(), 0.0))
