"""``static``: a vector for each token, averaged; no transformer runs. English only.

A model2vec distillation (https://github.com/MinishLab/model2vec) of all-MiniLM-L6-v2: every token
of the vocabulary went through the model once, the vectors were reduced to 256 dimensions by PCA
and weighted by an estimate of how rare the token is (SIF, Arora et al. 2017). A text is the mean
over its first 512 tokens. Thousands of texts a second; good enough where queries share words with
the skills, poor where they do not.

The table is kept as int8 with one scale a token: the weights of tokens differ so much that one
scale for all would erase the frequent ones. Reading it takes numpy and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skillcue_adapters.encoders.per_process import PerProcess
from skillcue_adapters.encoders.pins import Manifest, read_manifest
from skillcue_adapters.encoders.rows import Rows, checked_texts, report_cut, runtime, unit
from skillcue_adapters.encoders.tokens import CHARS_PER_TOKEN, Tokens
from skillcue_adapters.lazy import cached_property
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.fingerprint import fingerprint

__all__ = ["FOLDER", "StaticEncoder", "build"]

FOLDER = Path(__file__).parent / "data" / "static"

_VERSION = 1
"""Raised whenever the code here changes a vector."""


class StaticEncoder:
    """An `Encoder` over a table of token vectors. Safe to share between threads, fork and pickle.

    Args:
        folder: Holds ``table.npy`` (int8, one row a token), ``scales.npy`` (float32, one number a
            token), ``tokenizer.json`` and ``manifest.json``.

    Raises:
        ConfigurationError: The manifest is missing or damaged.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self._manifest = read_manifest(folder)
        self._loaded = PerProcess(self._load)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._manifest.folder,)

    @cached_property
    def fingerprint(self) -> str:
        """Table, tokenizer, length limit, and the libraries' versions."""
        manifest = self._manifest
        return fingerprint(
            "static",
            _VERSION,
            manifest.sha256,
            manifest.max_tokens,
            CHARS_PER_TOKEN,
            runtime("tokenizers", "numpy"),
        )

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._manifest.dim

    def encode_documents(self, texts: Sequence[str]) -> Rows:
        """Unit vectors of shape ``(len(texts), dim)``; zero for a text without known tokens.

        Raises:
            ConfigurationError: A shipped file is damaged.
            TypeError: `texts` is not a sequence of texts.
        """
        listed = checked_texts(texts)
        rows = np.zeros((len(listed), self.dim), dtype=np.float32)
        if not listed:
            return rows
        table = self._loaded.get()
        cut = 0
        for index, text in enumerate(listed):
            pieces = table.tokens.split(text)
            cut += pieces.cut
            if pieces.ids:
                rows[index] = table.vector(pieces.ids)
        report_cut("static", cut, len(listed), self._manifest.max_tokens)
        return rows

    encode_queries = encode_documents

    def _load(self) -> _Table:
        self._manifest.check()
        return _Table.load(self._manifest)


@dataclass(frozen=True, slots=True)
class _Table:
    """What exists once in a process."""

    tokens: Tokens
    rows: NDArray[np.int8]
    scales: NDArray[np.float32]

    @classmethod
    def load(cls, manifest: Manifest) -> _Table:
        folder = manifest.folder
        return cls(
            Tokens(folder / "tokenizer.json", manifest.max_tokens, special=False),
            # Mapped: shared by processes, and read from disk as tokens are met.
            np.asarray(np.load(folder / "table.npy", mmap_mode="r")),
            np.load(folder / "scales.npy"),
        )

    def vector(self, ids: list[int]) -> Rows:
        """Unit vector of one text. A sum has the direction of the mean, and length goes anyway."""
        return unit((self.rows[ids] * self.scales[ids, None]).sum(axis=0))


def build(argument: str) -> StaticEncoder:
    """Factory of ``static``.

    Raises:
        ConfigurationError: An argument was given, or the shipped manifest is damaged.
    """
    if argument:
        raise ConfigurationError(
            f"Encoder 'static' takes no argument, not {argument!r}.",
            "Another model is onnx:/path or st:model.",
        )
    return _shared()


@cache
def _shared() -> StaticEncoder:
    """One for the whole process."""
    return StaticEncoder()
