"""Which failures of a model may pass, and how to speak of them without leaking anything."""

from __future__ import annotations

from http.client import HTTPException

__all__ = ["may_pass", "named"]

_PASSING_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
"""HTTP statuses after which the same request may succeed; 529 is "overloaded" at Anthropic."""

_PASSING_NAMES = frozenset(
    {
        "APIConnectionError",
        "APITimeoutError",
        "ConnectError",
        "ConnectionError",
        "DeadlineExceeded",
        "InternalServerError",
        "OverloadedError",
        "RateLimitError",
        "ReadError",
        "RemoteProtocolError",
        "ResourceExhausted",
        "ServiceUnavailable",
        "ServiceUnavailableError",
        "ThrottlingException",
        "Timeout",
        "TimeoutException",
        "TooManyRequests",
    }
)
"""Classes of the clients of model services, which are known by name so that none is imported."""


def may_pass(error: BaseException) -> bool:
    """Whether the same request may succeed a little later.

    A status says more than a class: clients raise one class for what passes and what does not.
    """
    error = _reason(error)
    status = _status(error)
    if status is not None:
        return status in _PASSING_STATUS
    if isinstance(error, TimeoutError | ConnectionError | HTTPException):
        return True
    return any(kind.__name__ in _PASSING_NAMES for kind in type(error).__mro__)


def named(error: BaseException) -> str:
    """The class of `error` and its HTTP status. Its text may hold keys and is never shown."""
    error = _reason(error)
    status = _status(error)
    return type(error).__name__ + (f" (status {status})" if status is not None else "")


def _reason(error: BaseException) -> BaseException:
    """What `urllib` wraps in an error of its own."""
    reason = getattr(error, "reason", None)
    return reason if isinstance(reason, BaseException) else error


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    for holder, field in ((error, "status_code"), (error, "code"), (response, "status_code")):
        value = getattr(holder, field, None)
        if isinstance(value, int) and 100 <= value <= 599:
            return int(value)
    return None
