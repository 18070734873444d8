"""``manifest.json``: what a folder of model files holds, and what it was made from and with."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path

from skillcue_adapters.encoders.builder.weights import PACKAGE, PINS
from skillcue_adapters.encoders.pins import file_sha256

__all__ = ["write_manifest"]


def write_manifest(folder: Path, files: tuple[str, ...], dim: int, max_tokens: int) -> None:
    """Write the manifest that `skillcue_adapters.encoders.pins.read_manifest` reads."""
    packages = ("torch", "transformers", "onnx", "onnxruntime", "model2vec", "numpy", PACKAGE)
    record = {
        "dim": dim,
        "max_tokens": max_tokens,
        "files": {
            name: {
                "bytes": (folder / name).stat().st_size,
                "sha256": file_sha256(folder / name),
            }
            for name in files
        },
        "made_from": {"package": PACKAGE, "sha256": dict(PINS)},
        "made_with": {
            "python": platform.python_version(),
            **{package: version(package) for package in packages},
        },
    }
    text = json.dumps(record, indent=2, sort_keys=True)
    (folder / "manifest.json").write_text(f"{text}\n", "utf-8")
