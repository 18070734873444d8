"""``st:model``: any sentence-transformers model that is on disk, through PyTorch.

Importing PyTorch takes seconds and hundreds of megabytes, so it happens when the first text is
encoded. The model is used by one thread at a time. Nothing is ever downloaded: an id is looked up
in the Hugging Face cache of this machine.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from skillcue_adapters.encoders.model_folder import read_json
from skillcue_adapters.encoders.per_process import PerProcess
from skillcue_adapters.encoders.pins import file_sha256
from skillcue_adapters.encoders.prompts import prompts_from
from skillcue_adapters.encoders.rows import Rows, checked_texts, encodable, runtime, unit
from skillcue_hooks.errors import ConfigurationError, MissingExtraError
from skillcue_hooks.fingerprint import fingerprint

__all__ = ["SentenceTransformersEncoder", "build"]

_VERSION = 1
"""Raised whenever the code here changes a vector."""

_CACHE_ENV = "SENTENCE_TRANSFORMERS_HOME"
_NOT_READ = {".md", ".h5", ".ot", ".msgpack"}
"""Files of a model folder that PyTorch does not read: documentation, other frameworks' weights."""
_NOT_ENTERED = {"onnx", "openvino"}

log = logging.getLogger("skillcue.encoders")


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
        self._folder = _folder_of(model)
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
            _digests(self._folder),
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
        forked = self._pid != os.getpid() and "torch" in sys.modules
        _, device, batch_size = self._args
        return _Model(self._folder, device, batch_size, one_thread=forked)


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

    def __init__(self, folder: Path, device: str, batch_size: int, one_thread: bool) -> None:
        import torch
        from sentence_transformers import SentenceTransformer

        if one_thread:
            # PyTorch's worker threads stayed in the parent; a child that calls for them waits
            # for ever. DataLoader workers of PyTorch do the same.
            torch.set_num_threads(1)
            log.info("encoding in a forked process: PyTorch uses one thread here")
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


def _folder_of(model: str) -> Path:
    folder = Path(model).expanduser()
    if not folder.is_dir():
        folder = _cached(model)
    if not any((folder / name).is_file() for name in ("modules.json", "config.json")):
        raise ConfigurationError(
            f"{folder} holds no model.", "It must have a modules.json or a config.json."
        )
    return folder


def _cached(model: str) -> Path:
    """Folder of a model id in the Hugging Face cache; asks no server."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    model_id = model if "/" in model else f"sentence-transformers/{model}"
    try:
        return Path(
            snapshot_download(model_id, cache_dir=os.environ.get(_CACHE_ENV), local_files_only=True)
        )
    except (LocalEntryNotFoundError, HFValidationError) as error:
        raise ConfigurationError(
            f"There is no model {model!r} on this machine: no such folder, and {model_id} is not "
            "in the Hugging Face cache.",
            f"skillcue downloads no models. Fetch it once: hf download {model_id}",
        ) from error


def _digests(folder: Path) -> dict[str, str]:
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix not in _NOT_READ and not path.name.startswith(".")
    ]
    named = {path.relative_to(folder): path for path in files}
    return {
        name.as_posix(): file_sha256(path)
        for name, path in named.items()
        if not _NOT_ENTERED & {*name.parts[:-1]}
    }
