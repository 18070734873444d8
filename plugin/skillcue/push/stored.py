"""Calibrations on disk: JSON, written whole or not at all, never unpickled."""

from __future__ import annotations

import json
import logging
import math
from pathlib import Path
from typing import Any

from skillcue.push.calibration import Calibration
from skillcue.push.features import SIGNAL_SETS
from skillcue_adapters.whole_files import write_whole

__all__ = ["load_calibration", "store_calibration"]

log = logging.getLogger("skillcue.push")

MOST_BYTES = 1_000_000
"""A larger file was not written by this module."""


def store_calibration(folder: Path, key: str, calibration: Calibration) -> None:
    """Keep `calibration`; a folder that cannot be written to is no reason to fail.

    Args:
        folder: Made when it does not exist.
        key: Identity of library, retriever and gate (hex).
        calibration: What is kept.
    """
    record = {
        "key": key,
        "signals": calibration.signals,
        "scale": {name: list(pair) for name, pair in sorted(calibration.scale.items())},
        "nothing": calibration.nothing,
        "foreign": calibration.foreign,
    }
    try:
        write_whole(_path(folder, key), json.dumps(record, allow_nan=False))
    except OSError:
        log.warning("the fitted gate could not be stored in %s", folder, exc_info=True)


def load_calibration(folder: Path, key: str) -> Calibration | None:
    """What is kept under `key`; None where it is missing, damaged or of something else."""
    path = _path(folder, key)
    try:
        if path.stat().st_size > MOST_BYTES:
            return None
        record = json.loads(path.read_text("utf-8"))
        return _checked(record, key)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        log.warning("the fitted gate in %s is damaged and is made again", path)
        return None


def _checked(record: Any, key: str) -> Calibration:
    pairs = record["scale"].items()
    scale = {str(name): (float(mean), float(spread)) for name, (mean, spread) in pairs}
    nothing, foreign = float(record["nothing"]), float(record["foreign"])
    sound = (
        record["key"] == key
        and record["signals"] in SIGNAL_SETS
        and all(math.isfinite(mean) and 0.0 < spread < math.inf for mean, spread in scale.values())
        and math.isfinite(nothing)
        and nothing < foreign < math.inf
    )
    if not sound:
        raise ValueError("not a calibration")
    return Calibration(record["signals"], scale, nothing, foreign)


def _path(folder: Path, key: str) -> Path:
    return folder / f"{key}.json"
