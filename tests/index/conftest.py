"""Libraries, encoders and processes for tests of the index."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skillcue_adapters import bm25, dense, hybrid, skillsight
from skillcue_hooks.contracts import Library, RetrieverContext, Skill
from skillcue_hooks.testing import FakeEncoder, make_library, make_skill

WORDS = (
    "pdf form invoice bread soup csv git bisect table merge split clean draft mail cloud deploy "
    "test review chart python secret audit plan budget travel image video audio model train"
).split()


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


@pytest.fixture
def retriever() -> Callable[..., Any]:
    """``retriever(mode, skills, encoder, cache_dir, previous)`` as skillcue would build it.

    `previous` is what an earlier call returned; its first stages are followed as well.
    """

    def build(
        mode: str,
        skills: Sequence[Skill],
        encoder: Any,
        cache_dir: Path | None = None,
        previous: Any = None,
        **settings: Any,
    ) -> Any:
        library = make_library(skills)
        modules = {"bm25": bm25, "dense": dense, "hybrid": hybrid, "skillsight": skillsight}
        before = {} if previous is None else previous.built
        built: dict[str, Any] = {}

        def get(name: str) -> Any:
            if name not in built:
                context = RetrieverContext(
                    name,
                    settings if name == mode else {},
                    before.get(name),
                    get,
                    cache_dir,
                    lambda spec: encoder,
                )
                built[name] = modules[name].build(Library(library.generation, library.skills), context)
            return built[name]

        made = get(mode)
        made.built = built
        return made

    return build


@pytest.fixture
def python(tmp_path: Path) -> Callable[[str], subprocess.Popen[str]]:
    """Starts a process that runs a script; what it imports from here is `conftest`."""

    def start(script: str) -> subprocess.Popen[str]:
        folder = str(Path(__file__).parent)
        return subprocess.Popen(
            [sys.executable, "-c", f"import sys; sys.path.insert(0, {folder!r})\n{script}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env=dict(os.environ),
        )

    return start
