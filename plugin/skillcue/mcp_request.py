"""What a request to the MCP server says: the mode it asks for, and who is asking.

Both are client input. The mode is harmless, since every mode obeys the same policy. Who is asking
is never read from a request here: the application that embeds the server says it, with a function
that it gives.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp.server.context import ServerRequestContext

from skillcue_hooks.errors import ConfigurationError

__all__ = ["MODE_HEADER", "MODE_META", "RunContext", "asked_mode", "policy_values"]

MODE_HEADER = "X-Skill-Method"
"""HTTP header that names the retrieval mode of all requests of a client."""
MODE_META = "skillcue/method"
"""Key in the ``_meta`` of one request that names its retrieval mode."""
MODE_CHARS = 100
"""Longest mode that is looked at, characters."""

RunContext = Callable[
    [ServerRequestContext[Any, Any]], Mapping[str, Any] | Awaitable[Mapping[str, Any]]
]
"""Gives the values that policy plugins see for one request."""

log = logging.getLogger("skillcue.mcp")


def asked_mode(argument: Any, request: ServerRequestContext[Any, Any]) -> str | None:
    """The mode that the argument, the ``_meta`` or the header names, in that order; None without.

    Args:
        argument: ``mode`` of the tool call, as a model sent it.
        request: The request.
    """
    meta: Mapping[str, Any] = request.meta or {}
    headers: Mapping[str, str] = getattr(request.request, "headers", None) or {}
    named = argument or meta.get(MODE_META) or headers.get(MODE_HEADER)
    return str(named).strip()[:MODE_CHARS] or None if named else None


async def policy_values(
    run_context: RunContext | None, request: ServerRequestContext[Any, Any]
) -> Mapping[str, Any]:
    """What policy plugins see: nothing, unless the application says who is asking.

    Raises:
        ConfigurationError: The function failed or gave no mapping; nothing may be shown then.
    """
    if run_context is None:
        return {}
    try:
        values = run_context(request)
        if inspect.isawaitable(values):
            values = await values
    except Exception as error:  # the application's own code; the client is told no detail
        log.exception("run_context failed; the request is refused")
        raise ConfigurationError("It is not known who is asking.", "Tell the operator.") from error
    if not isinstance(values, Mapping):
        log.error("run_context gave a %s; the request is refused", type(values).__name__)
        raise ConfigurationError("It is not known who is asking.", "Tell the operator.")
    return values
