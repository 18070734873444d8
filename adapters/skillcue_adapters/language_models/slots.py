"""How many requests are under way at once."""

from __future__ import annotations

import os
import threading

__all__ = ["Slots"]


class Slots:
    """A number of places, taken and given back; all free in a forked child.

    Args:
        count: How many there are.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._renew()

    def take(self, timeout_s: float) -> threading.BoundedSemaphore | None:
        """A place, to be given back with ``release()``; None where none is free in time.

        Args:
            timeout_s: How long to wait, seconds.
        """
        if self._pid != os.getpid():  # whoever holds a place does not exist in this process
            self._renew()
        places = self._places
        return places if places.acquire(timeout=timeout_s) else None

    def _renew(self) -> None:
        self._places = threading.BoundedSemaphore(self._count)
        self._pid = os.getpid()
