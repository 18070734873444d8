"""Traces: what push decided and what came of it, recorded without the words of the conversation."""

from __future__ import annotations

from skillcue.traces.identity import turn_id, turn_ids
from skillcue.traces.settings import TraceSettings, TraceSink

__all__ = ["TraceSettings", "TraceSink", "turn_id", "turn_ids"]
