"""What pair scorers that run through PyTorch have in common."""

from __future__ import annotations

import importlib.util
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from skillcue_adapters.encoders.per_process import PerProcess
from skillcue_adapters.encoders.rows import checked_texts, encodable, runtime
from skillcue_adapters.encoders.torch_models import folder_digests, prepare_torch
from skillcue_adapters.lazy import cached_property
from skillcue_adapters.rerankers.numbers import checked_scores
from skillcue_hooks.errors import ConfigurationError, MissingExtraError
from skillcue_hooks.fingerprint import fingerprint

__all__ = ["TorchPairScorer", "require"]

Predict = Callable[[str, list[str]], Any]
"""Query and texts to one number a text."""


class TorchPairScorer(ABC):
    """A `PairScorer` over a model folder. Safe to share between threads and to fork.

    The model is loaded when first used and serves one thread at a time.

    Args:
        folder: The model.
        identity: What changes a score besides the files of the model.
    """

    logits = True

    def __init__(self, folder: Path, *identity: Any) -> None:
        self.folder = folder
        self._identity = identity
        self._pid = os.getpid()
        self._loaded = PerProcess(self._load)

    @abstractmethod
    def _open(self) -> Predict:
        """Load the model; may raise anything."""

    @cached_property
    def fingerprint(self) -> str:
        """Files of the model, arguments, and the libraries' versions."""
        return fingerprint(
            *self._identity,
            folder_digests(self.folder),
            runtime("transformers", "torch", "tokenizers"),
        )

    def warm_up(self) -> None:
        """Load the model, unless this process has.

        Raises:
            ConfigurationError: It cannot be loaded.
        """
        self._loaded.get()

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One raw score a text, any finite number; higher is better.

        Raises:
            ConfigurationError: The model cannot be loaded, or gives something else.
            TypeError: `texts` is not a sequence of texts.
        """
        listed = [encodable(text) for text in checked_texts([query, *checked_texts(texts)])]
        if len(listed) == 1:
            return []
        found = self._loaded.get()(listed[0], listed[1:])
        return checked_scores(found, len(listed) - 1, str(self.folder))

    def _load(self) -> Predict:
        prepare_torch(self._pid)
        try:
            predict = self._open()
            predict("a", ["a"])  # a wrong kind of model shows here, and the first pass is slow
        except ConfigurationError:
            raise
        except Exception as error:  # any file of the folder, and any library below, may be at fault
            raise ConfigurationError(
                f"{self.folder} cannot be loaded as a cross-encoder: "
                f"{type(error).__name__}: {error}.",
                "Is it complete, of the right kind, and made for the installed version?",
            ) from error
        lock = Lock()

        def one_at_a_time(query: str, texts: list[str]) -> Any:
            with lock:
                return predict(query, texts)

        return one_at_a_time


def require(module: str, package: str) -> None:
    """Raise unless `package`, which has `module`, is installed; imports nothing.

    Raises:
        MissingExtraError: It is not.
    """
    if importlib.util.find_spec(module) is None:
        raise MissingExtraError(package, "neural")
