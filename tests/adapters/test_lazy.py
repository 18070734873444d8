"""Properties that are computed once, in a forked child as well."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings

import pytest

from skillcue_adapters.lazy import cached_property


class Slow:
    computed = 0

    def __init__(self, wait: threading.Event | None = None) -> None:
        self._wait = wait
        self.begun = threading.Event()

    @cached_property
    def value(self) -> int:
        """Documented."""
        self.begun.set()
        if self._wait is not None:
            self._wait.wait()
        self.computed += 1
        return 7


def test_it_is_computed_once() -> None:
    one = Slow()
    assert (one.value, one.value, one.computed) == (7, 7, 1)
    assert Slow.value.__doc__ == "Documented."
    del one.value
    assert (one.value, one.computed) == (7, 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_can_compute_what_a_thread_of_the_parent_was_computing() -> None:
    go_on = threading.Event()
    busy = Slow(go_on)
    thread = threading.Thread(target=lambda: busy.value)
    thread.start()
    assert busy.begun.wait(30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads is the point
        child = os.fork()
    if child == 0:
        os._exit(0 if Slow().value == 7 else 1)
    end, status = time.monotonic() + 20, (0, 0)
    while time.monotonic() < end and status[0] == 0:
        status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)
    go_on.set()
    thread.join()
    if status[0] == 0:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert status == (child, 0)
