"""What failed a short while ago, so that it is not tried again at once."""

from __future__ import annotations

from collections import OrderedDict

from skillcue_adapters.locks import ForkSafeLock

__all__ = ["RecentFailures"]

KEPT = 256
"""Failures that are kept, the oldest dropped first."""


class RecentFailures:
    """Reasons by key, in memory only. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._failed: OrderedDict[str, tuple[float, str]] = OrderedDict()

    def put(self, key: str, now: float, reason: str) -> None:
        """Keep in mind that `key` failed at the time `now`, in seconds of any one clock."""
        with self._lock:
            self._failed[key] = (now, reason)
            self._failed.move_to_end(key)
            while len(self._failed) > KEPT:
                self._failed.popitem(last=False)

    def get(self, key: str, now: float, seconds: float) -> str | None:
        """Why `key` failed within the last `seconds`; None where it did not."""
        with self._lock:
            at, reason = self._failed.get(key, (0.0, None))
        return reason if now - at < seconds else None
