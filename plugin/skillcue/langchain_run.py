"""What a LangGraph run passes along: mode, policy context, stream."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.config import get_config
from langgraph.runtime import get_runtime

from skillcue.allowed_tools import tools_by_skill
from skillcue.mode import requested_mode
from skillcue.push.advisor import Plan

__all__ = ["RunView", "advice_event", "current_run", "merged_config"]


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


def merged_config(config: RunnableConfig | None) -> RunnableConfig:
    """`config`, and of the run around it what it says nothing about."""
    around = _inside(get_config) or {}
    own = ensure_config(config)
    values = {**(around.get("configurable") or {}), **(own.get("configurable") or {})}
    return RunnableConfig(**{**own, "configurable": values})


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
    """The values of a runtime context by name, as they are: a mapping, a dataclass, a pydantic
    model, a named tuple or any object with attributes.

    Nothing is turned into plain data on the way: a policy may go by the type of a value, and a
    field that is left out of dumps may be the one that it goes by.
    """
    if isinstance(context, Mapping):
        return context
    if dataclasses.is_dataclass(context) and not isinstance(context, type):
        return {f.name: getattr(context, f.name) for f in dataclasses.fields(context)}
    if hasattr(type(context), "model_fields"):
        return dict(context)
    if hasattr(context, "_asdict"):
        return dict(context._asdict())
    return {k: v for k, v in getattr(context, "__dict__", {}).items() if not k.startswith("_")}


def _write_nothing(_event: Any) -> None:
    return None
