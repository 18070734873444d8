"""The file that ``skillcue calibrate`` writes, and the gate it stands for."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skillcue.push.features import SIGNAL_SETS
from skillcue.push.gate import GateSettings
from skillcue.push.refitted import FeatureWeight, GateRefit
from skillcue.push.weights import AGAINST, GATE_VERSION
from skillcue_hooks.errors import ConfigurationError

__all__ = ["SCHEMA", "VERSION", "calibrated_gate", "fitted_fields", "gate_fields"]

SCHEMA = "skillcue-calibration"
VERSION = 1
"""Raised when a field of the file changes its meaning or goes away."""


def gate_fields(threshold: float) -> dict[str, float]:
    """The settings of `GateSettings` with which the gate opens from a confidence on."""
    return {"max_false_push": round(min(1.0, max(0.0, 1.0 - threshold)), 6)}


def fitted_fields(refit: GateRefit) -> dict[str, Any]:
    """The fitted weights as plain JSON values."""
    return {
        "mode": refit.mode,
        "signals": refit.signals,
        "encoder": refit.encoder,
        "intercept": refit.intercept,
        "weights": {
            name: {"weight": weight, "mean": mean, "spread": spread}
            for name, weight, mean, spread in refit.weights
        },
        "levels": list(refit.levels),
        "unmatched": refit.unmatched,
    }


def calibrated_gate(path: str | os.PathLike[str]) -> GateSettings:
    """The gate that a calibration file describes.

    Fitted weights hold for the mode, the signals and the encoder of the recorded turns. Where a turn is
    decided by others, that is logged once and the shipped weights decide.

    Args:
        path: What ``skillcue calibrate --out`` wrote.

    Raises:
        ConfigurationError: The file cannot be read, is no calibration, or was made with another
            version of the gate.

    Example:
        ``SkillCue("skills/", push=PushSettings(gate=calibrated_gate("calibration.json")))``
    """
    try:
        document: Any = json.loads(Path(path).expanduser().read_text("utf-8"))
        if document["schema"] != SCHEMA or document["version"] != VERSION:
            raise ValueError(f"schema {document['schema']} {document['version']}")
        version = document["gate_version"]
        fitted = document["fitted"]
        refit = _refit(fitted) if fitted is not None and version == GATE_VERSION else None
        settings = GateSettings(**document["gate"], fitted=refit)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ConfigurationError(
            f"{os.fspath(path)} is no calibration: {type(error).__name__}: {error}.",
            "Write one with `skillcue calibrate`.",
        ) from error
    if version != GATE_VERSION:
        raise ConfigurationError(
            f"{os.fspath(path)} was made with version {version} of the gate; this is version "
            f"{GATE_VERSION}, whose confidence is another number.",
            "Record traces with this version and run `skillcue calibrate` again.",
        )
    return settings


def _refit(record: Mapping[str, Any]) -> GateRefit:
    """From the file, and sound.

    Raises:
        ValueError: A number or a sign is none that ``skillcue calibrate`` writes.
    """
    refit = GateRefit(
        mode=str(record["mode"]),
        signals=str(record["signals"]),
        encoder=str(record["encoder"]),
        intercept=float(record["intercept"]),
        weights=tuple(
            FeatureWeight(
                str(name), float(item["weight"]), float(item["mean"]), float(item["spread"])
            )
            for name, item in record["weights"].items()
        ),
        levels=tuple(map(float, record["levels"])),
        unmatched=int(record["unmatched"]),
    )
    numbers = [refit.intercept, *refit.levels, *(x for item in refit.weights for x in item[1:])]
    if not all(map(math.isfinite, numbers)) or any(item.spread <= 0 for item in refit.weights):
        raise ValueError("a number is not finite, or a spread not above 0")
    if any(item.weight * (-1 if item.name in AGAINST else 1) < 0 for item in refit.weights):
        raise ValueError("a weight has the sign that its feature forbids")
    if any(low > high for low, high in itertools.pairwise(refit.levels)) or refit.unmatched < 0:
        raise ValueError("the levels are not in order")
    if refit.signals not in SIGNAL_SETS:
        raise ValueError(f"signals are {refit.signals!r}")
    return refit
