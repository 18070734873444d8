"""Small stand-ins for the roles of `skillcue_hooks.protocols`."""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from skillcue_hooks.contracts import Library, Query, Ranking, Skill
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.language import ChatMessage, Completion, ToolSpec, Usage

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
            digest = hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()
            vector[digest[0] % self.dim] += 1.0 if digest[1] % 2 else -1.0
        norm = math.sqrt(sum(x * x for x in vector)) or 1.0
        return [x / norm for x in vector]


class ScriptedLanguageModel:
    """Answers from a list, in order, and keeps what it was asked in `asked`.

    Args:
        answers: A text, a `Completion`, an exception to raise, or a function of the messages that
            gives one of these. A text costs 10 input tokens and 5 output tokens.
        calls_tools: It says that it can be given tools.
    """

    def __init__(self, answers: Iterable[Any], *, calls_tools: bool = False) -> None:
        self._answers = list(answers)
        self._lock = threading.Lock()
        self.asked: list[tuple[ChatMessage, ...]] = []
        self.tools: list[tuple[ToolSpec, ...]] = []
        self.calls_tools = calls_tools
        self.fingerprint = fingerprint("scripted", [str(a) for a in self._answers], calls_tools)

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSpec] = (),
        max_tokens: int,
        timeout_s: float,
    ) -> Completion:
        """The next answer.

        Raises:
            IndexError: The script is used up.
            Exception: What the script says.
        """
        with self._lock:
            self.asked.append(tuple(messages))
            self.tools.append(tuple(tools))
            answer = self._answers[len(self.asked) - 1]
        if callable(answer):
            answer = answer(messages)
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, Completion):
            return answer
        return Completion(str(answer), usage=Usage(1, 10, 5, None))


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
