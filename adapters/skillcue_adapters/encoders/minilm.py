"""``minilm``: all-MiniLM-L6-v2, int8, in the wheel; the default encoder. English only.

Sentence-BERT (Reimers and Gurevych 2019, https://arxiv.org/abs/1908.10084) on MiniLM (Wang et al.
2020, https://arxiv.org/abs/2002.10957). 384 dimensions, the first 256 tokens of a text, no
prompts. How the file is made, and from what, stands in ``data/minilm/NOTICE``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from skillcue_adapters.encoders.model_folder import ModelFolder
from skillcue_adapters.encoders.onnx_model import OnnxEncoder
from skillcue_adapters.encoders.pins import read_manifest
from skillcue_hooks.errors import ConfigurationError

__all__ = ["FOLDER", "build", "pinned_folder"]

FOLDER = Path(__file__).parent / "data" / "minilm"


def pinned_folder(folder: Path = FOLDER) -> ModelFolder:
    """The shipped model; its files are compared with their pins when they are loaded.

    Raises:
        ConfigurationError: The manifest is missing or damaged.
    """
    manifest = read_manifest(folder)
    return ModelFolder(
        name="minilm",
        model=folder / "model.onnx",
        tokenizer=folder / "tokenizer.json",
        pooling="mean",
        max_tokens=manifest.max_tokens,
        manifest=manifest,
    )


def build(argument: str) -> OnnxEncoder:
    """Factory of ``minilm``.

    Raises:
        ConfigurationError: An argument was given, or the shipped files are damaged.
    """
    if argument:
        raise ConfigurationError(
            f"Encoder 'minilm' takes no argument, not {argument!r}.",
            "Another model is onnx:/path or st:model.",
        )
    return _shared()


@cache
def _shared() -> OnnxEncoder:
    """One for the whole process: a loaded session takes some 50 MB and a tenth of a second."""
    return OnnxEncoder(pinned_folder())
