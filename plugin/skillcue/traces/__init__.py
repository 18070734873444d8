"""Traces: what push decided and what came of it, recorded without the words of the conversation."""

from __future__ import annotations

from skillcue.traces.identity import turn_id, turn_ids
from skillcue.traces.settings import TraceSettings, TraceSink
from skillcue.traces.settings_file import calibrated_gate

__all__ = ["TraceSettings", "TraceSink", "calibrated_gate", "turn_id", "turn_ids"]
