"""Observers for those who operate agents: log lines, OpenTelemetry, a local store of events."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillcue.telemetry.logs import LogEvents
    from skillcue.telemetry.otel import OpenTelemetry
    from skillcue.telemetry.settings import EventSettings

__all__ = ["EventSettings", "LogEvents", "OpenTelemetry"]

_LAZY = {
    "EventSettings": "skillcue.telemetry.settings",
    "LogEvents": "skillcue.telemetry.logs",
    "OpenTelemetry": "skillcue.telemetry.otel",
}


def __getattr__(name: str) -> Any:
    """Import on first use: who logs needs no OpenTelemetry, and the other way round."""
    if name not in _LAZY:
        raise AttributeError(f"module 'skillcue.telemetry' has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
