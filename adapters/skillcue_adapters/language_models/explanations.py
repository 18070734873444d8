"""What a failure of a model means and what to do about it, without a word of its own text."""

from __future__ import annotations

import errno
import os
import socket
import ssl
from dataclasses import dataclass
from http.client import HTTPException
from urllib.parse import urlsplit

from skillcue_adapters.language_models.backend import Service
from skillcue_adapters.language_models.failures import (
    bears_name,
    causes,
    named,
    reason_of,
    status_of,
)
from skillcue_adapters.language_models.limits import CallLimits

__all__ = ["RAISED_CURE", "Asked", "EarlyError", "NoPlaceError", "explained"]

RAISED_CURE = (
    "Call the model without skillcue to read the error; it may hold keys and is not shown."
)

_AS_IF = (
    (400, frozenset({"BadRequest", "BadRequestError", "InvalidArgument"})),
    (401, frozenset({"AuthenticationError", "Unauthenticated", "Unauthorized"})),
    (403, frozenset({"Forbidden", "PermissionDenied", "PermissionDeniedError"})),
    (404, frozenset({"NotFound", "NotFoundError"})),
    (429, frozenset({"RateLimitError", "ResourceExhausted", "ThrottlingException"})),
    (429, frozenset({"TooManyRequests"})),
    (503, frozenset({"InternalServerError", "OverloadedError"})),
    (503, frozenset({"ServiceUnavailable", "ServiceUnavailableError"})),
)
"""Classes of clients that mean the same as a status, where they carry none."""

_LATE = frozenset({"APITimeoutError", "DeadlineExceeded", "Timeout", "TimeoutException"})
_APART = frozenset({"APIConnectionError", "ConnectError", "ConnectionError"})
_BROKEN = frozenset({"ReadError", "RemoteProtocolError"})
_UNREACHABLE = frozenset(
    {
        errno.EADDRNOTAVAIL,
        errno.EHOSTDOWN,
        errno.EHOSTUNREACH,
        errno.ENETDOWN,
        errno.ENETUNREACH,
        errno.ETIMEDOUT,
    }
)


class NoPlaceError(TimeoutError):
    """No place among the requests under way became free in time."""


class EarlyError(Exception):
    """A model raised `TimeoutError` while there was time left.

    Args:
        reason: What it raised.
    """

    def __init__(self, reason: TimeoutError) -> None:
        super().__init__()
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of whom, as far as an explanation depends on it.

    Attributes:
        model: Its name.
        service: Where the request went.
        tools: The request held tools.
        max_tokens: Longest answer, tokens.
        timeout_s: Longest time for all tries together, seconds.
        limits: Of the model.
    """

    model: str
    service: Service
    tools: bool
    max_tokens: int
    timeout_s: float
    limits: CallLimits


def explained(error: BaseException, asked: Asked) -> tuple[str, str]:
    """(what `error` means, what to do about it); nothing of its text, which may hold keys."""
    status = status_of(error)
    if status is None:
        status = next((code for code, names in _AS_IF if bears_name(error, names)), None)
    found = _of_network(error, asked) if status is None else _of_status(status, asked)
    if found is None:
        return f"it raised {named(error)}", RAISED_CURE
    cause, cure = found
    return f"{cause} ({named(error)})", cure


def _of_status(status: int, asked: Asked) -> tuple[str, str] | None:
    limits = asked.limits
    match status:
        case 400 | 422:
            return "the service refuses the request", _refused_cure(asked)
        case 401 | 403:
            return "the key is missing or wrong, or may not use the model", _key_cure(asked)
        case 402 | 429:
            cure = f"Wait, lower CallLimits(concurrency={limits.concurrency}), or raise the quota."
            return "too many requests, or the quota is used up", cure
        case 404 | 405 | 410:
            return "the address or the model is not known there", _place_cure(asked)
        case 408 | 504 | 524:
            cure = "Raise its own time limit, or take a faster model."
            return "the service, or a proxy before it, gave up waiting", cure
        case 413:
            cure = "Raise its limit, or that of a proxy before it."
            return "the request is too large for the service", cure
    if 300 <= status < 400:
        cure = f"Give the final address {_given(asked)}, with https:// where it has that."
        return "a redirection, which is not followed", cure
    if status >= 500:
        cure = "Its log or status page says whether it is starting, overloaded or broken."
        return "the service has trouble", cure
    return None


def _of_network(error: BaseException, asked: Asked) -> tuple[str, str] | None:
    """What went wrong on the way to the service."""
    for cause in causes(error):
        if isinstance(cause, ConnectionRefusedError):
            cure = f"Start the service, or correct the address {_given(asked)}."
            return f"nothing listens at {_host(asked)}", cure
        if isinstance(cause, socket.gaierror):
            cure = f"Is it spelt right {_given(asked)}, and is the network up?"
            return f"the name of {_host(asked)} cannot be resolved", cure
        if isinstance(cause, ssl.SSLError):
            return _of_tls(cause)
    reason = reason_of(error)
    if isinstance(reason, TimeoutError) and not isinstance(error, EarlyError):
        return _of_time(reason, asked)
    if bears_name(reason, _LATE):
        return "its client gave up waiting", "Raise the timeout of the model object."
    if isinstance(reason, OSError) and reason.errno in _UNREACHABLE:
        return _out_of_reach(asked)
    if isinstance(reason, HTTPException | ConnectionError) or bears_name(reason, _BROKEN):
        cure = "Does it speak http at this address, or https? Its log may say more."
        return "the service broke off the connection", cure
    return _out_of_reach(asked) if bears_name(reason, _APART) else None


def _of_tls(error: ssl.SSLError) -> tuple[str, str]:
    if isinstance(error, ssl.SSLCertVerificationError):
        cure = "Name the file of its authority in the environment variable SSL_CERT_FILE."
        return "the certificate of the service is not trusted", cure
    cure = "Does the address speak https? A service of this machine mostly has http://."
    return "TLS does not come about", cure


def _of_time(error: TimeoutError, asked: Asked) -> tuple[str, str]:
    limits = asked.limits
    if isinstance(error, NoPlaceError):
        cure = (
            f"Raise CallLimits(concurrency={limits.concurrency}). "
            "A request that was given up keeps its place until it is over."
        )
        return "other requests took all places for too long", cure
    if limits.timeout_s < asked.timeout_s:
        cure = f"Raise CallLimits(timeout_s={limits.timeout_s:g}), or take a faster model."
        return f"no answer in time, {limits.timeout_s:g} s", cure
    cure = "Raise the time limit of the mode or judge that asks, or take a faster model."
    return f"no answer in time, {_rounded(asked.timeout_s)} s", cure


def _rounded(seconds: float) -> str:
    """Whole from ten on, else two digits: what is left of a limit is 59.9999 s."""
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.2g}"


def _out_of_reach(asked: Asked) -> tuple[str, str]:
    cure = f"Is the address right {_given(asked)}, the service running and the network up?"
    return f"{_host(asked)} is out of reach", cure


def _key_cure(asked: Asked) -> str:
    service = asked.service
    if not service.key_env:
        return "Correct the key of the model object, or what it may use."
    if not os.environ.get(service.key_env, "").strip():
        return f"Set {service.variable} to the key; it is not set."
    return f"Correct {service.variable}, which holds the key, or take a model it may use."


def _place_cure(asked: Asked) -> str:
    path = urlsplit(asked.service.url).path
    if not path:
        return f"Is {asked.model!r} a model there, and the address right {_given(asked)}?"
    if "/v1/" not in path:
        return f"The path asked for is {path}: does the address have to end in /v1?"
    return f"Is {asked.model!r} a model there? The path asked for is {path}."


def _refused_cure(asked: Asked) -> str:
    sent = [*(["tools"] if asked.tools else []), *asked.service.options]
    taken = ", ".join([*sent, f"max_tokens={asked.max_tokens}"])
    return f"Does the model take {taken}, and is its context large enough? Its log may say more."


def _host(asked: Asked) -> str:
    parts = urlsplit(asked.service.url)
    if not parts.netloc:
        return "the address of the model object"
    port = parts.port or {"https": 443}.get(parts.scheme, 80)
    host = parts.netloc.rpartition(":")[0] if parts.port else parts.netloc.rstrip(":")
    return f"{host}:{port}"


def _given(asked: Asked) -> str:
    return "in llm=" if asked.service.url else "of the model object"
