"""How near one encoder is to another, and how much faster."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from skillcue_adapters.encoders.rows import Rows
from skillcue_hooks.protocols import Encoder

__all__ = ["NEIGHBOURS", "Comparison", "compare", "read_texts", "speed_ratio"]

NEIGHBOURS = 10
"""Nearest texts of a text that are compared."""
_SHORTEST = 40
"""Characters of the shortest paragraph that counts as a text."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two encoders over the same texts.

    Attributes:
        texts: How many.
        mean: Mean cosine of the two vectors of a text.
        least: Smallest one.
        overlap: Mean share of a text's `NEIGHBOURS` nearest texts that both name.
    """

    texts: int
    mean: float
    least: float
    overlap: float

    def __str__(self) -> str:
        return (
            f"{self.texts} texts: cosine mean {self.mean:.4f}, least {self.least:.4f}; "
            f"top-{NEIGHBOURS} overlap {self.overlap:.3f}"
        )


def compare(one: Encoder, other: Encoder, texts: Sequence[str]) -> Comparison:
    """Compare the vectors of `texts`, encoded as documents."""
    a, b = one.encode_documents(texts), other.encode_documents(texts)
    cosines = (a * b).sum(axis=1)
    shared = [
        len(set(mine) & set(theirs)) / NEIGHBOURS
        for mine, theirs in zip(_neighbours(a), _neighbours(b), strict=True)
    ]
    return Comparison(
        len(texts), float(cosines.mean()), float(cosines.min()), float(np.mean(shared))
    )


def speed_ratio(fast: Encoder, slow: Encoder, texts: Sequence[str], rounds: int = 2) -> float:
    """How many times the processor time of `fast` the other one takes.

    Text by text in turn, so that whatever else the machine does falls on both. Processor time of
    the whole process; nothing else may run in it.
    """
    spent = [0.0, 0.0]
    for encoder in (fast, slow):
        encoder.encode_queries(texts[:1])
    for text in [*texts] * rounds:
        for turn, encoder in enumerate((fast, slow)):
            start = time.process_time()
            encoder.encode_queries([text])
            spent[turn] += time.process_time() - start
    return spent[1] / spent[0]


def read_texts(folder: Path, limit: int = 500) -> list[str]:
    """Up to `limit` paragraphs of the Markdown files below `folder`, in the order of their paths,
    spread evenly over them."""
    found = []
    for path in sorted(folder.rglob("*.md")):
        for paragraph in path.read_text("utf-8").split("\n\n"):
            text = " ".join(paragraph.split())
            if len(text) >= _SHORTEST:
                found.append(text)
    return found[:: max(1, len(found) // limit)][:limit]


def _neighbours(vectors: Rows) -> list[list[int]]:
    scores = vectors @ vectors.T
    np.fill_diagonal(scores, -np.inf)
    order: list[list[int]] = np.argsort(-scores, axis=1, kind="stable")[:, :NEIGHBOURS].tolist()
    return order
