"""What everything that runs an exported model through onnxruntime has in common."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skillcue_adapters.encoders.model_folder import ModelFolder
from skillcue_adapters.encoders.pins import file_sha256
from skillcue_hooks.errors import ConfigurationError

__all__ = ["Session", "model_digests"]

_INT_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}

_FEEDS: dict[str, Callable[[Sequence[int], Sequence[int], Any], NDArray[Any]]] = {
    "input_ids": lambda ids, segments, kind: np.array([ids], dtype=kind),
    "attention_mask": lambda ids, segments, kind: np.ones((1, len(ids)), dtype=kind),
    "token_type_ids": lambda ids, segments, kind: np.array([segments], dtype=kind),
    "position_ids": lambda ids, segments, kind: np.arange(len(ids), dtype=kind)[None],
}


class Session:
    """A loaded model that reads one text, or one pair, at a time. Safe to share between threads.

    Args:
        folder: The model.
        outputs: Names of outputs, the first that the model has is used; else its first output.

    Raises:
        ConfigurationError: The model cannot be loaded, or wants an input that is not known.
    """

    def __init__(self, folder: ModelFolder, outputs: Sequence[str]) -> None:
        self._session = _session(folder.model)
        self._inputs = [(i.name, _int_type(folder.model, i)) for i in self._session.get_inputs()]
        names = [output.name for output in self._session.get_outputs()]
        self._output = next((name for name in outputs if name in names), names[0])

    def run(self, ids: Sequence[int], segments: Sequence[int]) -> NDArray[Any]:
        """The output for these tokens, of which there is at least one; a batch of one."""
        feeds = {name: _FEEDS[name](ids, segments, kind) for name, kind in self._inputs}
        (found,) = self._session.run([self._output], feeds)
        return np.asarray(found)


def model_digests(folder: ModelFolder) -> dict[str, str]:
    """sha256 of every file of `folder`, by name.

    Raises:
        ConfigurationError: A file is gone.
    """
    try:
        return {path.name: file_sha256(path) for path in folder.files}
    except OSError as error:
        raise ConfigurationError(
            f"A file of {folder.name} cannot be read: {error}.", "Is the model still there?"
        ) from error


def _session(model: Path) -> Any:
    import onnxruntime  # 0.2 s, so not before the first text

    options = onnxruntime.SessionOptions()
    # Texts run side by side instead; one thread a text is what keeps results equal to the bit.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors; below are hints about the graph
    try:
        return onnxruntime.InferenceSession(
            os.fspath(model), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime has a dozen unrelated ones, for one cause
        raise ConfigurationError(
            f"{model} cannot be loaded: {error}.",
            "Is it a complete ONNX file, with its weights beside it?",
        ) from error


def _int_type(model: Path, declared: Any) -> type[Any]:
    if declared.name not in _FEEDS or declared.type not in _INT_TYPES:
        raise ConfigurationError(
            f"{model} wants the input {declared.name!r} of type {declared.type}.",
            f"It can be given {', '.join(sorted(_FEEDS))}, all of them integers.",
        )
    return _INT_TYPES[declared.type]
