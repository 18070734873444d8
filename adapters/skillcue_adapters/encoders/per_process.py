"""A value that every process makes for itself: once, by whichever thread comes first."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["PerProcess"]

T = TypeVar("T")


class PerProcess(Generic[T]):
    """Makes a value when it is first asked for, and anew in a forked child.

    Native sessions hold threads and locks that do not survive a fork.

    Args:
        make: Makes the value; what it raises goes to the caller, and the next call tries again.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._made: list[T] = []

    def get(self) -> T:
        """The value of this process."""
        if self._pid != os.getpid():  # the parent's lock may be held by a thread we do not have
            self._made, self._lock, self._pid = [], threading.Lock(), os.getpid()
        made = self._made
        if not made:
            with self._lock:
                if not made:
                    made.append(self._make())
        return made[0]
