"""``onnx:/path``: an exported transformer through onnxruntime, one text at a time.

A dynamically quantised model scales its activations over everything it is given, so a text among
others gets another vector than alone, and padding costs time besides. One text at a time has
neither: the vector of a text is equal to the last bit alone, among others and in any thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skillcue_adapters.encoders.model_folder import ModelFolder, read_model_folder
from skillcue_adapters.encoders.onnx_session import Session, model_digests
from skillcue_adapters.encoders.per_process import PerProcess
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
from skillcue_adapters.lazy import cached_property
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
            self._sha256 = model_digests(self.folder)
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
            found = model_digests(self.folder)
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
        self._session = Session(folder, _OUTPUTS)
        self._pool = _POOL[folder.pooling]
        self.dim = len(self.vector(self.tokens.split("a").ids))

    def vector(self, ids: list[int]) -> Rows:
        """Unit vector of one text."""
        found = self._session.run(ids, [0] * len(ids))
        return unit(found[0] if found.ndim == 2 else self._pool(found[0]))
