"""``st:model``: any sentence-transformers model that is on disk, through PyTorch.

Importing PyTorch takes seconds and hundreds of megabytes, so it happens when the first text is
encoded. The model is used by one thread at a time. Nothing is ever downloaded: an id is looked up
in the Hugging Face cache of this machine.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from skillcue_adapters.encoders.model_folder import read_json
from skillcue_adapters.encoders.per_process import PerProcess
from skillcue_adapters.encoders.prompts import prompts_from
from skillcue_adapters.encoders.rows import Rows, checked_texts, encodable, runtime, unit
from skillcue_adapters.encoders.torch_models import (
    folder_digests,
    folder_on_disk,
    prepare_torch,
)
from skillcue_adapters.lazy import cached_property
from skillcue_hooks.errors import ConfigurationError, MissingExtraError
from skillcue_hooks.fingerprint import fingerprint

__all__ = ["SentenceTransformersEncoder", "build"]

_VERSION = 1
"""Raised whenever the code here changes a vector."""


class SentenceTransformersEncoder:
    """An `Encoder` over a sentence-transformers model. Safe to share between threads, to fork and
    to pickle.

    Args:
        model: A folder, or the id of a model in the Hugging Face cache (``org/name``; without
            ``org`` it is sentence-transformers).
        device: Where PyTorch computes. ``cpu`` by default, so that vectors do not depend on what
            the machine has.
        batch_size: Texts in one forward pass. With 1, a vector is equal to the last bit alone and
            among others; more is faster on a GPU and differs in the last digits.

    Raises:
        ConfigurationError: The model is not on disk.
        MissingExtraError: sentence-transformers is not installed.
    """

    def __init__(self, model: str, device: str = "cpu", batch_size: int = 1) -> None:
        if importlib.util.find_spec("sentence_transformers") is None:
            raise MissingExtraError("sentence-transformers", "neural")
        self._args = (model, device, batch_size)
        self._folder = folder_on_disk(model, "sentence-transformers")
        config = read_json(self._folder / "config_sentence_transformers.json", {})
        self._prompts = prompts_from(config, model)
        self._pid = os.getpid()
        self._loaded = PerProcess(self._load)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._args

    @cached_property
    def fingerprint(self) -> str:
        """Files of the model, prompts, device, batch size, libraries' versions."""
        return fingerprint(
            "sentence-transformers",
            _VERSION,
            folder_digests(self._folder),
            [self._prompts.query, self._prompts.document],
            self._args[1:],
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
        found = model.encode(method, [encodable(listed[i]) for i in filled], prompt)
        for index, vector in zip(filled, found, strict=True):
            rows[index] = unit(vector)
        return rows

    def _load(self) -> _Model:
        prepare_torch(self._pid)
        _, device, batch_size = self._args
        return _Model(self._folder, device, batch_size)


def build(argument: str) -> SentenceTransformersEncoder:
    """Factory of ``st:model``; a path may begin with ``~``.

    Raises:
        ConfigurationError: The model is not on disk.
        MissingExtraError: sentence-transformers is not installed.
    """
    if not argument:
        raise ConfigurationError(
            "Encoder 'st' needs a model.", "Name its folder or its id: st:org/name."
        )
    return SentenceTransformersEncoder(argument)


class _Model:
    """A loaded model: what exists once in a process."""

    def __init__(self, folder: Path, device: str, batch_size: int) -> None:
        from sentence_transformers import SentenceTransformer

        self._lock = Lock()
        self._batch_size = batch_size
        try:
            self._model = SentenceTransformer(str(folder), device=device, local_files_only=True)
        except Exception as error:  # any file of the folder, and any library below, may be at fault
            raise ConfigurationError(
                f"{folder} cannot be loaded as a sentence-transformers model: "
                f"{type(error).__name__}: {error}.",
                "Is it complete, and made for the installed version?",
            ) from error
        self.dim = len(self.encode("encode_query", ["a"], "")[0])

    def encode(self, method: str, texts: list[str], prompt: str) -> Any:
        """Array of shape ``(len(texts), dim)``; not normalised."""
        if not texts:
            return []
        with self._lock:
            return getattr(self._model, method)(
                texts, prompt=prompt, batch_size=self._batch_size, show_progress_bar=False
            )
