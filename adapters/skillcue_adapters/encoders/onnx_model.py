"""``onnx:/path``: an exported transformer through onnxruntime, one text at a time.

A dynamically quantised model scales its activations over everything it is given, so a text among
others gets another vector than alone, and padding costs time besides. One text at a time has
neither: the vector of a text is equal to the last bit alone, among others and in any thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skillcue_adapters.encoders.model_folder import ModelFolder, read_model_folder
from skillcue_adapters.encoders.per_process import PerProcess
from skillcue_adapters.encoders.pins import file_sha256
from skillcue_adapters.encoders.rows import (
    Rows,
    available_threads,
    checked_texts,
    fill_rows,
    report_cut,
    runtime,
    unit,
)
from skillcue_adapters.encoders.tokens import CHARS_PER_TOKEN, Tokens
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.fingerprint import fingerprint

__all__ = ["OnnxEncoder", "build"]

_VERSION = 1
"""Raised whenever the code here changes a vector."""

_POOL: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "mean": lambda tokens: tokens.mean(axis=0, dtype=np.float32),
    "cls": lambda tokens: tokens[0],
    "lasttoken": lambda tokens: tokens[-1],
}
_OUTPUTS = ("sentence_embedding", "last_hidden_state", "token_embeddings")
_INT_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


class OnnxEncoder:
    """An `Encoder` over an exported model. Safe to share between threads, to fork and to pickle.

    Args:
        folder: The model.
        threads: Threads that encode documents; a single text is encoded by the caller's. None
            is one for each processor, at most `MAX_THREADS`. It changes no vector.
    """

    def __init__(self, folder: ModelFolder, threads: int | None = None) -> None:
        self.folder = folder
        self.threads = threads or available_threads()
        self._sha256 = dict(folder.manifest.sha256) if folder.manifest else None
        self._loaded = PerProcess(self._load)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.folder, self.threads)

    @cached_property
    def fingerprint(self) -> str:
        """Model and tokenizer files, pooling, length limit, prompts, and the libraries' versions.

        Raises:
            ConfigurationError: A model file is gone.
        """
        if self._sha256 is None:
            self._sha256 = _digests(self.folder)
        return fingerprint(
            "onnx",
            _VERSION,
            sorted(self._sha256.values()),
            self.folder.pooling,
            self.folder.max_tokens,
            CHARS_PER_TOKEN,
            [self.folder.prompts.query, self.folder.prompts.document],
            runtime("onnxruntime", "tokenizers", "numpy"),
        )

    @property
    def dim(self) -> int:
        """Length of a vector; loads the model unless it comes with skillcue."""
        manifest = self.folder.manifest
        return manifest.dim if manifest else self._loaded.get().dim

    def encode_documents(self, texts: Sequence[str]) -> Rows:
        """Unit vectors of shape ``(len(texts), dim)``; zero for a text without tokens.

        Raises:
            ConfigurationError: The model cannot be loaded or does not fit this encoder.
            TypeError: `texts` is not a sequence of texts.
        """
        return self._encode(texts, self.folder.prompts.document)

    def encode_queries(self, texts: Sequence[str]) -> Rows:
        """As `encode_documents`, with the query prompt of the model where it has one."""
        return self._encode(texts, self.folder.prompts.query)

    def _encode(self, texts: Sequence[str], prompt: str) -> Rows:
        listed = checked_texts(texts)
        rows = np.zeros((len(listed), self.dim), dtype=np.float32)
        if not listed:
            return rows
        model = self._loaded.get()
        pieces = [model.tokens.split(text, prompt) for text in listed]
        filled = [index for index, piece in enumerate(pieces) if piece.ids]
        fill_rows(rows, filled, lambda index: model.vector(pieces[index].ids), self.threads)
        cut = sum(piece.cut for piece in pieces)
        report_cut(self.folder.name, cut, len(listed), self.folder.max_tokens)
        return rows

    def _load(self) -> _Model:
        if self.folder.manifest:
            self.folder.manifest.check()
        else:
            found = _digests(self.folder)
            if self._sha256 not in (None, found):
                raise ConfigurationError(
                    f"The files of {self.folder.name} have changed since they were hashed.",
                    "Open the encoder again, so that what was made with the old ones is not used.",
                )
            self._sha256 = found
        return _Model(self.folder)


def build(argument: str) -> OnnxEncoder:
    """Factory of ``onnx:/path``; the path may begin with ``~``.

    Raises:
        ConfigurationError: There is no such model, or it does not fit.
    """
    if not argument:
        raise ConfigurationError(
            "Encoder 'onnx' needs a model.", "Name its folder: onnx:/path/to/model."
        )
    return OnnxEncoder(read_model_folder(Path(argument).expanduser()))


class _Model:
    """A loaded model: what exists once in a process."""

    def __init__(self, folder: ModelFolder) -> None:
        self.tokens = Tokens(folder.tokenizer, folder.max_tokens, special=True)
        self._session = _session(folder)
        self._inputs = [(i.name, _int_type(folder, i)) for i in self._session.get_inputs()]
        outputs = [output.name for output in self._session.get_outputs()]
        self._output = next((name for name in _OUTPUTS if name in outputs), outputs[0])
        self._pool = _POOL[folder.pooling]
        self.dim = len(self.vector(self.tokens.split("a").ids))

    def vector(self, ids: list[int]) -> Rows:
        """Unit vector of one text."""
        feeds = {name: _FEEDS[name](ids, kind) for name, kind in self._inputs}
        (found,) = self._session.run([self._output], feeds)
        return unit(found[0] if found.ndim == 2 else self._pool(found[0]))


_FEEDS: dict[str, Callable[[list[int], Any], NDArray[Any]]] = {
    "input_ids": lambda ids, kind: np.array([ids], dtype=kind),
    "attention_mask": lambda ids, kind: np.ones((1, len(ids)), dtype=kind),
    "token_type_ids": lambda ids, kind: np.zeros((1, len(ids)), dtype=kind),
    "position_ids": lambda ids, kind: np.arange(len(ids), dtype=kind)[None],
}


def _digests(folder: ModelFolder) -> dict[str, str]:
    try:
        return {path.name: file_sha256(path) for path in folder.files}
    except OSError as error:
        raise ConfigurationError(
            f"A file of {folder.name} cannot be read: {error}.", "Is the model still there?"
        ) from error


def _session(folder: ModelFolder) -> Any:
    import onnxruntime  # 0.2 s, so not before the first text

    options = onnxruntime.SessionOptions()
    # Texts run side by side instead; one thread a text is what keeps vectors equal to the bit.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors; below are hints about the graph
    try:
        return onnxruntime.InferenceSession(
            os.fspath(folder.model), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime has a dozen unrelated ones, for one cause
        raise ConfigurationError(
            f"{folder.model} cannot be loaded: {error}.",
            "Is it a complete ONNX file, with its weights beside it?",
        ) from error


def _int_type(folder: ModelFolder, declared: Any) -> type[Any]:
    if declared.name not in _FEEDS or declared.type not in _INT_TYPES:
        raise ConfigurationError(
            f"{folder.model} wants the input {declared.name!r} of type {declared.type}.",
            f"The onnx encoder gives {', '.join(sorted(_FEEDS))} as integers.",
        )
    return _INT_TYPES[declared.type]
