"""How long, how often and how many at once a language model is called."""

from __future__ import annotations

import threading
from dataclasses import dataclass, fields

from skillcue_hooks.errors import ConfigurationError

__all__ = ["CallLimits"]


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Limits of the calls of one language model.

    Attributes:
        timeout_s: Longest time for one request, seconds; above 0. What asks may allow less, for
            all tries of a request together.
        tries: How often a request is made at most, 1 or more. Only a failure that may pass is
            tried again: too late, out of reach, too many requests, a fault of the server.
        backoff_s: The wait before the second try is random, up to this many seconds, and doubles
            with each further one.
        longest_backoff_s: No wait is longer, seconds.
        concurrency: Requests under way at once, 1 or more; others wait within their time. One
            that was given up counts until it is over.

    Raises:
        ConfigurationError: A value is out of its range.
    """

    timeout_s: float = 60.0
    tries: int = 3
    backoff_s: float = 0.5
    longest_backoff_s: float = 8.0
    concurrency: int = 4

    def __post_init__(self) -> None:
        for field in fields(self):
            whole = field.type == "int"
            _check(field.name, getattr(self, field.name), whole=whole)


def _check(name: str, value: object, *, whole: bool) -> None:
    kind = int if whole else (int, float)
    number = isinstance(value, kind) and not isinstance(value, bool)
    # Python cannot wait for longer than this maximum.
    if not (number and (value >= 1 if whole else 0 < value <= threading.TIMEOUT_MAX)):  # type: ignore[operator]
        raise ConfigurationError(
            f"CallLimits: {name} is {value!r}.",
            "Give a whole number from 1." if whole else "Give a number of seconds above 0.",
        )
