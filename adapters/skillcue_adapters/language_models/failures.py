"""Which failures of a model may pass, and how to speak of them without leaking anything."""

from __future__ import annotations

from http.client import HTTPException

__all__ = ["bears_name", "causes", "may_pass", "named", "reason_of", "status_of"]

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

_LONGEST_CHAIN = 8


def may_pass(error: BaseException) -> bool:
    """Whether the same request may succeed a little later.

    A status says more than a class: clients raise one class for what passes and what does not.
    """
    error = reason_of(error)
    status = status_of(error)
    if status is not None:
        return status in _PASSING_STATUS
    if isinstance(error, TimeoutError | ConnectionError | HTTPException):
        return True
    return bears_name(error, _PASSING_NAMES)


def named(error: BaseException) -> str:
    """The class of `error` and its HTTP status. Its text may hold keys and is never shown."""
    error = reason_of(error)
    status = status_of(error)
    return type(error).__name__ + (f", status {status}" if status is not None else "")


def reason_of(error: BaseException) -> BaseException:
    """What `urllib` wraps in an error of its own; else `error`."""
    reason = _field(error, "reason")
    return reason if isinstance(reason, BaseException) else error


def status_of(error: BaseException) -> int | None:
    """The HTTP status that a client's error carries, None where it carries none."""
    error = reason_of(error)
    response = _field(error, "response")
    for holder, field in ((error, "status_code"), (error, "code"), (response, "status_code")):
        value = _field(holder, field)
        if isinstance(value, int) and 100 <= value <= 599:
            return int(value)
    return None


def bears_name(error: BaseException, names: frozenset[str]) -> bool:
    """Whether `error` is of a class with one of `names`, or of a subclass of one."""
    return any(kind.__name__ in names for kind in type(error).__mro__)


def causes(error: BaseException) -> list[BaseException]:
    """`error` and what it was raised from, outermost first: clients wrap what the network says."""
    found: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in found and len(found) < _LONGEST_CHAIN:
        found.append(current)
        inner = reason_of(current)
        hidden = current.__suppress_context__
        behind = current.__cause__ or (None if hidden else current.__context__)
        current = inner if inner is not current else behind
    return found


def _field(holder: object, name: str) -> object:
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001  # a property of a client's error may raise anything
        return None
