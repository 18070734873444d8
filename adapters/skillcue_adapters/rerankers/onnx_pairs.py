"""``onnx:/path``: an exported cross-encoder through onnxruntime, one pair at a time.

As with the ``onnx`` encoder: a quantised model scales its activations over everything it is given,
so a pair among others would get another score than alone, and padding costs time. One pair at a
time in each of several threads has neither. Measured with 20 pairs of a 12-layer int8 MiniLM:
half the processor time of one padded batch, whose logits differ by up to 0.08.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from skillcue_adapters.encoders.model_folder import ModelFolder, read_pair_folder
from skillcue_adapters.encoders.onnx_session import Session, model_digests
from skillcue_adapters.encoders.per_process import PerProcess
from skillcue_adapters.encoders.rows import (
    available_threads,
    checked_texts,
    encodable,
    fill_rows,
    runtime,
)
from skillcue_adapters.encoders.tokens import CHARS_PER_TOKEN, read_tokenizer
from skillcue_adapters.lazy import cached_property
from skillcue_adapters.rerankers.numbers import checked_scores
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.fingerprint import fingerprint

__all__ = ["OnnxPairScorer", "build"]

_VERSION = 1
"""Raised whenever the code here changes a score."""


class OnnxPairScorer:
    """A `PairScorer` over an exported model. Safe to share between threads, to fork and to pickle.

    Scores are the model's logits. Pairs that are longer than the model reads lose the end of the
    longer text.

    Args:
        folder: The model; it must give one number a pair.
        threads: Threads that score pairs. None is one for each processor, at most 8. It changes
            no score.
    """

    logits = True

    def __init__(self, folder: ModelFolder, threads: int | None = None) -> None:
        self.folder = folder
        self.threads = threads or available_threads()
        self._sha256: dict[str, str] | None = None
        self._loaded = PerProcess(self._load)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.folder, self.threads)

    @cached_property
    def fingerprint(self) -> str:
        """Model and tokenizer files, length limit, and the libraries' versions.

        Raises:
            ConfigurationError: A model file is gone.
        """
        if self._sha256 is None:
            self._sha256 = model_digests(self.folder)
        return fingerprint(
            "onnx pairs",
            _VERSION,
            sorted(self._sha256.values()),
            self.folder.max_tokens,
            CHARS_PER_TOKEN,
            runtime("onnxruntime", "tokenizers", "numpy"),
        )

    def warm_up(self) -> None:
        """Load the model, unless this process has.

        Raises:
            ConfigurationError: It cannot be loaded, or is no cross-encoder.
        """
        self._loaded.get()

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """The logit of each pair, any finite number; higher is better.

        Raises:
            ConfigurationError: The model cannot be loaded, or gives NaN.
            TypeError: `texts` is not a sequence of texts.
        """
        listed = checked_texts([query, *checked_texts(texts)])[1:]
        model = self._loaded.get()
        scores = np.zeros(len(listed), dtype=np.float32)
        every = range(len(listed))
        fill_rows(scores, every, lambda n: model.logit(query, listed[n]), self.threads)
        return checked_scores(scores.tolist(), len(listed), self.folder.name)

    def _load(self) -> _Model:
        found = model_digests(self.folder)
        if self._sha256 not in (None, found):
            raise ConfigurationError(
                f"The files of {self.folder.name} have changed since they were hashed.",
                "Open the cross-encoder again, so that what was ranked by the old one is not used.",
            )
        self._sha256 = found
        return _Model(self.folder)


def build(argument: str) -> OnnxPairScorer:
    """Factory of ``onnx:/path``; the path may begin with ``~``.

    Raises:
        ConfigurationError: There is no such model.
    """
    return OnnxPairScorer(read_pair_folder(Path(argument).expanduser()))


class _Model:
    """A loaded model: what exists once in a process."""

    def __init__(self, folder: ModelFolder) -> None:
        self._tokenizer = read_tokenizer(folder.tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(folder.max_tokens)
        self._max_chars = folder.max_tokens * CHARS_PER_TOKEN
        self._session = Session(folder, ("logits",))
        found = self._logits("a", "a")
        if found.size != 1:
            raise ConfigurationError(
                f"{folder.model} gives {found.size} numbers for one pair.",
                "A cross-encoder gives one; is this the model of an encoder?",
            )

    def logit(self, query: str, text: str) -> Any:
        """The logit of one pair."""
        return self._logits(query, text).reshape(())

    def _logits(self, query: str, text: str) -> Any:
        first, second = (encodable(part[: self._max_chars]) for part in (query, text))
        encoding = self._tokenizer.encode(first, second)
        return self._session.run(encoding.ids, encoding.type_ids)
