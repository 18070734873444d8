"""``st:model``: any sentence-transformers model that is on disk, through PyTorch.

Importing PyTorch takes seconds and hundreds of megabytes, so it happens when the first text is
encoded. The model is used by one thread at a time. Nothing is ever downloaded: an id is looked up
in the Hugging Face cache of this machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from skillcue_adapters.encoders.model_folder import read_json
from skillcue_adapters.encoders.per_process import PerProcess
from skillcue_adapters.encoders.pins import sha256_of
from skillcue_adapters.encoders.prompts import Prompts, prompts_from
from skillcue_adapters.encoders.rows import Rows, checked_texts, runtime, unit
from skillcue_hooks.errors import ConfigurationError, MissingExtraError
from skillcue_hooks.fingerprint import fingerprint

__all__ = ["SentenceTransformersEncoder", "build"]

_VERSION = 1
"""Raised whenever the code here changes a vector."""

_CACHE_ENV = "SENTENCE_TRANSFORMERS_HOME"
_HOME_ORGANISATION = "sentence-transformers"
_SNAPSHOT = re.compile(r"[0-9a-f]{40}")
_NOT_READ = {".md", ".h5", ".ot", ".msgpack", ".gitattributes"}
"""Files beside a model that PyTorch does not load: documentation, weights of other frameworks."""
_NOT_ENTERED = {"onnx", "openvino", ".cache", ".git"}


class SentenceTransformersEncoder:
    """An `Encoder` over a sentence-transformers model. Safe to share between threads.

    It can be pickled, and used in a forked child as long as the parent had not encoded anything
    before the fork: PyTorch's threads do not survive one.

    Args:
        model: A folder, or the id of a model in the Hugging Face cache (``org/name``; without
            ``org`` it is sentence-transformers).
        device: Where PyTorch computes. ``cpu`` by default, so that vectors do not depend on
            the machine.
        batch_size: Texts in one forward pass. With 1 a vector is equal to the bit alone and among
            others; more is faster on a GPU and differs in the last digits.

    Raises:
        ConfigurationError: The model is not on disk.
        MissingExtraError: sentence-transformers is not installed.
    """

    def __init__(self, model: str, device: str = "cpu", batch_size: int = 1) -> None:
        self._folder, self._revision = _found(model)
        self._args = (model, device, batch_size)
        self._device = device
        self._batch_size = batch_size
        config = read_json(self._folder / "config_sentence_transformers.json", {})
        self._prompts = prompts_from(config, model)
        self._loaded = PerProcess(self._load)
        self._loading_pid: int | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._args

    @cached_property
    def fingerprint(self) -> str:
        """Revision or files of the model, prompts, device, batch size, libraries' versions."""
        return fingerprint(
            "sentence-transformers",
            _VERSION,
            self._revision or _digests(self._folder),
            [self._prompts.query, self._prompts.document],
            self._device,
            self._batch_size,
            runtime("sentence-transformers", "transformers", "torch", "tokenizers"),
        )

    @property
    def dim(self) -> int:
        """Length of a vector; loads the model."""
        return self._loaded.get().dim

    def encode_documents(self, texts: Sequence[str]) -> Rows:
        """Unit vectors of shape ``(len(texts), dim)``; zero for a blank text.

        Raises:
            ConfigurationError: The model cannot be loaded.
            TypeError: `texts` is not a sequence of texts.
        """
        return self._encode(texts, "encode_document", self._prompts.document)

    def encode_queries(self, texts: Sequence[str]) -> Rows:
        """As `encode_documents`, with the query prompt of the model where it has one."""
        return self._encode(texts, "encode_query", self._prompts.query)

    def _encode(self, texts: Sequence[str], method: str, prompt: str) -> Rows:
        listed = checked_texts(texts)
        model = self._loaded.get()
        rows = np.zeros((len(listed), model.dim), dtype=np.float32)
        filled = [index for index, text in enumerate(listed) if text.strip()]
        if filled:
            found = model.encode(method, [listed[i] for i in filled], prompt, self._batch_size)
            for index, vector in zip(filled, found, strict=True):
                rows[index] = unit(vector)
        return rows
