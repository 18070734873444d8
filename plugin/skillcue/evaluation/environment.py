"""What an evaluation was run on: versions and machine."""

from __future__ import annotations

import importlib.metadata
import os
import platform

__all__ = ["PACKAGES", "environment"]

PACKAGES = (
    "skillcue",
    "ir_measures",
    "numpy",
    "onnxruntime",
    "pytrec-eval-terrier",
    "rank-bm25",
    "scipy",
    "sentence-transformers",
    "tokenizers",
)
"""Distributions that change scores or times; those that are not installed are left out."""


def environment() -> dict[str, object]:
    """Versions and machine as plain data; no name of a host or a user."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "versions": versions,
    }


def _processor() -> str:
    """Model of the processor; Linux alone says it in a file, elsewhere Python may know."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()
