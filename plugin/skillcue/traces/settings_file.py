"""The file that ``skillcue calibrate`` writes, and the gate it stands for."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from skillcue.push.gate import GateSettings
from skillcue_hooks.errors import ConfigurationError

__all__ = ["SCHEMA", "VERSION", "calibrated_gate", "gate_fields"]

SCHEMA = "skillcue-calibration"
VERSION = 1
"""Raised when a field of the file changes its meaning or goes away."""


def gate_fields(threshold: float) -> dict[str, float]:
    """The settings of `GateSettings` with which the gate opens from a confidence on."""
    return {"max_false_push": round(min(1.0, max(0.0, 1.0 - threshold)), 6)}


def calibrated_gate(path: str | os.PathLike[str]) -> GateSettings:
    """The gate that a calibration file describes.

    Args:
        path: What ``skillcue calibrate --out`` wrote.

    Raises:
        ConfigurationError: The file cannot be read, or is no calibration.

    Example:
        ``SkillCue("skills/", push=PushSettings(gate=calibrated_gate("calibration.json")))``
    """
    try:
        document: Any = json.loads(Path(path).expanduser().read_text("utf-8"))
        if document["schema"] != SCHEMA or document["version"] != VERSION:
            raise ValueError(f"schema {document['schema']} {document['version']}")
        return GateSettings(**document["gate"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ConfigurationError(
            f"{os.fspath(path)} is no calibration: {type(error).__name__}: {error}.",
            "Write one with `skillcue calibrate`.",
        ) from error
