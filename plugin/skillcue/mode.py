"""One resolver for the mode of a turn.

Order: explicit argument, runtime context, ``configurable`` (or the LlamaIndex store),
``with skill_mode(...)``, the mode recorded for this turn (resume), the ``skillcue_select_mode``
hook, the default. Every key is called ``skill_mode``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["MODE_KEY", "TASK_KEY", "named_task", "requested_mode", "skill_mode"]

MODE_KEY = "skill_mode"
"""The key in runtime context, ``configurable``, LlamaIndex run arguments and store."""

TASK_KEY = "task_id"
"""The key in runtime context, ``configurable`` and LlamaIndex store that names the task."""

_mode: ContextVar[str | None] = ContextVar(MODE_KEY, default=None)


@contextmanager
def skill_mode(mode: str) -> Iterator[None]:
    """Use `mode` for every agent run, lookup and advice started inside the block.

    The value travels with the context: to tools, subgraphs, sub-agents and worker threads that
    copy it, never to a concurrent run. Whether the mode exists is checked when it is used,
    before the first model call.

    Example:
        >>> with skill_mode("bm25"):
        ...     requested_mode(None)
        'bm25'
    """
    token = _mode.set(mode)
    try:
        yield
    finally:
        _mode.reset(token)


def requested_mode(explicit: str | None, *layers: Any) -> str | None:
    """The mode the user asked for, or None when nobody did.

    Args:
        explicit: The argument of the call; wins.
        layers: Mappings or objects that may hold ``skill_mode``, most specific first; None is
            skipped.
    """
    if explicit:
        return explicit
    for layer in layers:
        mode = layer.get(MODE_KEY) if isinstance(layer, Mapping) else getattr(layer, MODE_KEY, None)
        if mode:
            return str(mode)
    return _mode.get()


def named_task(run_context: Mapping[str, Any] | None) -> str:
    """The name that the user gave the task of this run, "" where there is none."""
    name = (run_context or {}).get(TASK_KEY)
    return "" if name is None else str(name)
