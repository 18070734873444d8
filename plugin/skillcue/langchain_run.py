"""What a LangGraph run passes along: mode, policy context, stream."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from langgraph.config import get_config
from langgraph.runtime import get_runtime

from skillcue.allowed_tools import tools_by_skill
from skillcue.mode import requested_mode
from skillcue.push.advisor import Plan

__all__ = ["RunView", "advice_event", "current_run"]


@dataclass(frozen=True, slots=True)
class RunView:
    """The run that the calling code is part of.

    Attributes:
        mode: The mode the user asked for, None when nobody did.
        context: Run-time values for policy plugins: ``configurable`` and runtime context.
        write: Writes to ``stream_mode="custom"``; does nothing outside a run.
    """

    mode: str | None
    context: Mapping[str, Any]
    write: Callable[[Any], None]


def current_run() -> RunView:
    """The run the calling code is part of; empty outside of one."""
    runtime = _inside(get_runtime)
    config = _inside(get_config) or {}
    configurable = {
        key: value
        for key, value in (config.get("configurable") or {}).items()
        if not key.startswith("__")
    }
    context = getattr(runtime, "context", None)
    return RunView(
        mode=requested_mode(None, context, configurable),
        context={**configurable, **_as_mapping(context)},
        write=getattr(runtime, "stream_writer", None) or _write_nothing,
    )


def advice_event(plan: Plan) -> dict[str, Any]:
    """What the custom stream tells about a decision; plain data."""
    advice = plan.advice
    return {
        "type": "skill_advice",
        "decision": advice.decision,
        "mode": advice.mode,
        "skills": [hit.skill.name for hit in advice.hits],
        "ids": [hit.skill.id for hit in advice.hits],
        "tokens": advice.tokens,
        "confidence": round(advice.confidence, 4),
        "threshold": round(advice.threshold, 4),
        "reason": advice.reason,
        "elapsed_ms": round(advice.elapsed_s * 1000, 3),
        "shadow": plan.shadow,
        "allowed_tools": tools_by_skill(hit.skill for hit in advice.hits),
    }


def _inside(getter: Callable[[], Any]) -> Any:
    """What `getter` gives inside a run, None outside, where it raises."""
    try:
        return getter()
    except (RuntimeError, KeyError):
        return None


def _as_mapping(context: Any) -> Mapping[str, Any]:
    if isinstance(context, Mapping):
        return context
    if dataclasses.is_dataclass(context) and not isinstance(context, type):
        return {f.name: getattr(context, f.name) for f in dataclasses.fields(context)}
    dump = getattr(context, "model_dump", None)
    return dump() if callable(dump) else {}


def _write_nothing(_event: Any) -> None:
    return None
