"""Libraries, encoders and retrievers for tests of the index."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from skillcue_adapters import bm25, dense, hybrid, skillsight
from skillcue_hooks.contracts import RetrieverContext, Skill
from skillcue_hooks.testing import FakeEncoder, make_library, make_skill

WORDS = [
    "pdf",
    "form",
    "invoice",
    "bread",
    "soup",
    "csv",
    "git",
    "bisect",
    "table",
    "merge",
    "split",
    "clean",
    "draft",
    "mail",
    "cloud",
    "deploy",
    "test",
    "review",
    "chart",
    "python",
    "secret",
    "audit",
    "plan",
    "budget",
    "travel",
    "image",
    "video",
    "audio",
    "model",
    "train",
]


class CountingEncoder(FakeEncoder):
    """Counts what it encodes, and takes its time if it must."""

    def __init__(self, dim: int = 64, seconds: float = 0.0) -> None:
        super().__init__(dim)
        self.encoded: list[str] = []
        self.seconds = seconds

    def encode_documents(self, texts: Sequence[str]) -> list[list[float]]:
        time.sleep(self.seconds)
        self.encoded += texts
        return super().encode_documents(texts)


def make_skills(count: int, seed: int = 0, bodies: bool = False) -> list[Skill]:
    """Skills of a few words each."""
    choice = np.random.default_rng(seed)

    def text(words: int) -> str:
        return " ".join(choice.choice(WORDS, words))

    return [
        make_skill(f"skill-{seed}-{n}", text(8), f"# Steps\n\n{text(30)}" if bodies else "")
        for n in range(count)
    ]


def build_retriever(
    mode: str,
    skills: Sequence[Skill],
    encoder: Any,
    cache_dir: Path | None = None,
    previous: Any = None,
    **settings: Any,
) -> Any:
    """A retriever as skillcue would build it.

    Args:
        mode: Its mode; first stages are built as well.
        skills: The library.
        encoder: An encoder.
        cache_dir: The user's cache folder.
        previous: What an earlier call returned.
        settings: Of that mode.
    """
    library = make_library(skills)
    modules = {"bm25": bm25, "dense": dense, "hybrid": hybrid, "skillsight": skillsight}
    before = {} if previous is None else previous.built
    built: dict[str, Any] = {}

    def get(name: str) -> Any:
        if name not in built:
            own = settings if name == mode else {}
            context = RetrieverContext(
                name, own, before.get(name), get, cache_dir, lambda spec: encoder
            )
            built[name] = modules[name].build(library, context)
        return built[name]

    made = get(mode)
    made.built = built
    return made
