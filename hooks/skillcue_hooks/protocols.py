"""The roles a part can play; implement one without inheriting from anything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from skillcue_hooks.contracts import (
    Library,
    Query,
    Ranking,
    RetrieverContext,
    Skill,
    SourceScan,
    Trust,
)
from skillcue_hooks.language import ChatMessage, Completion, ToolSpec

__all__ = [
    "CacheStore",
    "Encoder",
    "LanguageModel",
    "PairScorer",
    "Retriever",
    "RetrieverFactory",
    "SkillSource",
]


@runtime_checkable
class Retriever(Protocol):
    """Ranks the skills of one library generation. Must be safe to call from several threads.

    Attributes:
        fingerprint: Identity of everything but the library that changes a ranking: algorithm,
            version, settings, models (any text; hashed before use).
        generation: The `Library.generation` it was built for.
    """

    @property
    def fingerprint(self) -> str: ...

    @property
    def generation(self) -> str: ...

    def search(self, query: Query) -> Ranking:
        """Rank the library for `query`.

        Hits come best first, ties by id, `query.offset` skipped, at most `query.k`, none that
        `query.filters` or `query.scope` exclude (both applied before the top k). The empty
        library gives an empty ranking. Only skills that match are returned.
        """
        ...


class RetrieverFactory(Protocol):
    """Builds a `Retriever`; what ``register(mode, factory)`` takes."""

    def __call__(self, library: Library, context: RetrieverContext) -> Retriever:
        """Index `library`.

        Raises:
            ConfigurationError: A setting in `context.settings` is wrong.
            MissingExtraError: A package it needs is not installed.
        """
        ...


@runtime_checkable
class Encoder(Protocol):
    """Turns text into vectors.

    Attributes:
        fingerprint: Everything that changes a vector: model, revision, pooling, prompts,
            normalisation.
        dim: Length of a vector.
    """

    @property
    def fingerprint(self) -> str: ...

    @property
    def dim(self) -> int: ...

    def encode_documents(self, texts: Sequence[str]) -> Any:
        """Float32 array of shape ``(len(texts), dim)``, rows L2-normalised."""
        ...

    def encode_queries(self, texts: Sequence[str]) -> Any:
        """Float32 array of shape ``(len(texts), dim)``, rows L2-normalised."""
        ...


@runtime_checkable
class PairScorer(Protocol):
    """Scores (query, text) pairs, such as a cross-encoder does.

    Attributes:
        fingerprint: Everything that changes a score: model, revision, length limit.
    """

    @property
    def fingerprint(self) -> str: ...

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """One raw score a text, higher is better, same order as `texts`."""
        ...


@runtime_checkable
class LanguageModel(Protocol):
    """The smallest chat model a mode may need.

    Attributes:
        fingerprint: Everything that changes an answer: model, revision, sampling settings.
        calls_tools: It can be given tools; otherwise `complete` gets none.
    """

    @property
    def fingerprint(self) -> str: ...

    @property
    def calls_tools(self) -> bool: ...

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSpec] = (),
        max_tokens: int,
        timeout_s: float,
    ) -> Completion:
        """The model's next message.

        Args:
            messages: The conversation, a system message first at most.
            tools: What it may call; empty where it calls none.
            max_tokens: Longest answer, tokens.
            timeout_s: Longest time for the answer, seconds.

        Raises:
            LanguageModelError: There is no answer: out of reach, refused, or too late.
        """
        ...


@runtime_checkable
class CacheStore(Protocol):
    """Where cached rankings live. Text in, text out; a failure is a miss, never an error."""

    def get(self, key: str) -> str | None:
        """The stored text, or None. Never raises."""
        ...

    def put(self, key: str, value: str) -> None:
        """Store `value`; may drop it. Never raises."""
        ...

    def clear(self) -> None:
        """Forget everything."""
        ...

    def close(self) -> None:
        """Release files and locks; the store must not be used afterwards."""
        ...


@runtime_checkable
class SkillSource(Protocol):
    """Where skills come from: a folder, or whatever ``skillcue_open_source`` returns.

    Attributes:
        label: Short name, shown beside skills and used in ids on collision.
        trust: Trust level of everything in it.
    """

    @property
    def label(self) -> str: ...

    @property
    def trust(self) -> Trust: ...

    def scan(self, previous: SourceScan | None) -> SourceScan:
        """What the source holds now; `previous` is its last answer.

        Return `previous` itself when nothing changed. A skill that cannot be read becomes a
        `Diagnostic`, never an exception.
        """
        ...

    def read_body(self, skill: Skill) -> str:
        """The whole body of one of its skills, up to the source's documented limit."""
        ...

    def base_dir(self, skill: Skill) -> Path | None:
        """The local folder of the skill, None where there is none."""
        ...
