"""Small stand-ins for the roles of `skillcue_hooks.protocols`."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from skillcue_hooks.contracts import Library, Query, Ranking, Skill
from skillcue_hooks.fingerprint import fingerprint

__all__ = [
    "FakeEncoder",
    "RaisingRetriever",
    "ScriptedLanguageModel",
    "make_library",
    "make_skill",
]


def make_skill(name: str, description: str = "", body: str = "", **fields: Any) -> Skill:
    """A skill as the reader would produce it, with id, path and content hash filled in."""
    fields.setdefault("id", f"{name}@{name}")
    fields.setdefault("path", Path("/skills") / name / "SKILL.md")
    fields.setdefault("content_hash", fingerprint(name, description, body))
    return Skill(name=name, description=description, body=body, **fields)


def make_library(skills: Iterable[Skill]) -> Library:
    """A library of `skills`, sorted by id, with a generation that any change of one changes."""
    ordered = tuple(sorted(skills, key=lambda skill: skill.id))
    return Library(fingerprint([_plain(skill) for skill in ordered]), ordered)


def _plain(skill: Skill) -> dict[str, Any]:
    record = {field.name: getattr(skill, field.name) for field in fields(skill)}
    return {**record, "path": skill.path.as_posix()}


class FakeEncoder:
    """Deterministic vectors from hashed words: texts that share words have similar vectors.

    Args:
        dim: Length of a vector, 2 or more.
    """

    def __init__(self, dim: int = 32) -> None:
        self.dim = dim
        self.fingerprint = f"fake-encoder:{dim}"

    def encode_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Rows of shape ``(len(texts), dim)``, L2-normalised; zero for texts without words."""
        return [self._vector(text) for text in texts]

    encode_queries = encode_documents

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * self.dim
        for word in text.casefold().split():
            digest = hashlib.sha256(word.encode()).digest()
            vector[digest[0] % self.dim] += 1.0 if digest[1] % 2 else -1.0
        norm = math.sqrt(sum(x * x for x in vector)) or 1.0
        return [x / norm for x in vector]


class ScriptedLanguageModel:
    """Answers from a list, in order, and keeps what it was asked in `prompts`."""

    def __init__(self, answers: Iterable[str]) -> None:
        self._answers = list(answers)
        self.prompts: list[tuple[str, str]] = []
        self.fingerprint = fingerprint("scripted", self._answers)

    def complete(self, system: str, prompt: str, max_tokens: int) -> str:
        """The next answer.

        Raises:
            IndexError: The script is used up.
        """
        self.prompts.append((system, prompt))
        return self._answers[len(self.prompts) - 1]


class RaisingRetriever:
    """A retriever that must not be called: proves that an answer came from a cache.

    Args:
        fingerprint: The identity it pretends to have.
        generation: The library generation it pretends to index.
    """

    def __init__(self, fingerprint: str, generation: str) -> None:
        self.fingerprint = fingerprint
        self.generation = generation

    def search(self, query: Query) -> Ranking:
        """Always raises `AssertionError`."""
        raise AssertionError(f"the retriever was called for {query.text!r}")
