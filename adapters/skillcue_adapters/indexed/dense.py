"""Mode ``dense`` over an index: see `skillcue_adapters.dense` for the formula."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from skillcue_adapters.dense import VERSION
from skillcue_adapters.index.vectors import Rows
from skillcue_adapters.indexed.panel import Panel
from skillcue_adapters.indexed.retriever import Asked, IndexedRetriever
from skillcue_adapters.query_vectors import QueryNotEncodedError, query_vector
from skillcue_adapters.scoring import Pending, Scored, says_something
from skillcue_adapters.semantic_retriever import SemanticSettings
from skillcue_adapters.settings import read_settings
from skillcue_adapters.stages import semantic_inputs
from skillcue_hooks.contracts import Library, Query, RetrieverContext
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.protocols import Encoder, Retriever
from skillcue_hooks.skill_index import View

__all__ = [
    "IndexedDenseRetriever",
    "IndexedSemanticRetriever",
    "build",
    "heads_only",
    "summed",
]

log = logging.getLogger("skillcue.encoding")


class IndexedSemanticRetriever(IndexedRetriever):
    """A retriever that needs vectors of queries, and an index that holds those of skills.

    Args:
        kind: See `SemanticRetriever`.
        library: Whose index is asked.
        encoder: Gives the vectors.
        settings: Settings of the mode.
        fallback: Gives the retriever that answers where a query cannot be encoded.
        mode: Name it is registered under.

    Attributes:
        encoder: As given.
    """

    def __init__(
        self,
        kind: tuple[Any, ...],
        library: Library,
        encoder: Encoder,
        settings: SemanticSettings,
        fallback: Callable[[], Retriever],
        mode: str,
    ) -> None:
        identity = fingerprint("indexed", *kind, encoder.fingerprint, asdict(settings))
        super().__init__(identity, library, mode, fallback)
        self.encoder = encoder

    def ask(self, query: Query) -> Asked | Pending:
        """See `IndexedRetriever.ask`."""
        try:
            return self._ask(query)
        except QueryNotEncodedError as failure:
            log.warning("a query could not be encoded; its answer is lexical", exc_info=failure)
            return Pending(f"encoding the query failed: {failure}")

    def query_vector(self, text: str) -> Rows:
        """Vector of a query; see `skillcue_adapters.query_vectors.query_vector`.

        Raises:
            QueryNotEncodedError: The encoder failed.
        """
        vector: Rows = query_vector(self.encoder, text)
        return vector

    def check(self) -> None:
        """See `IndexedRetriever.check`."""
        self.facts.check_encoder(self.encoder)
        super().check()

    @abstractmethod
    def _ask(self, query: Query) -> Asked:
        """See `IndexedRetriever.ask`.

        Raises:
            QueryNotEncodedError: The encoder failed.
        """


class IndexedDenseRetriever(IndexedSemanticRetriever):
    """Exact cosine similarity of the candidates. Signals are those of `DenseRetriever`.

    Args:
        library: Whose index is asked.
        encoder: Gives the vectors.
        settings: Settings of the mode.
        fallback: Gives the retriever that answers where a query cannot be encoded.
        mode: Name it is registered under.
    """

    def __init__(
        self,
        library: Library,
        encoder: Encoder,
        settings: SemanticSettings,
        fallback: Callable[[], Retriever],
        mode: str = "dense",
    ) -> None:
        super().__init__(("dense", VERSION), library, encoder, settings, fallback, mode)
        self.settings = settings

    def _ask(self, query: Query) -> Asked:
        vectors = self.vectors(query)

        def score(panel: Panel) -> Scored:
            return self.score(panel, vectors)

        views = (View(vector=summed(vectors, self.settings.context_weight)),)
        return Asked(views, score, 0, None, every=bool(vectors[0].any()))

    def vectors(self, query: Query) -> tuple[Rows, ...]:
        """Of the text, and of the context where it counts.

        Raises:
            QueryNotEncodedError: The encoder failed.
        """
        texts = [query.text]
        if self.settings.context_weight and says_something(query.context):
            texts.append(query.context)
        return tuple(self.query_vector(text) for text in texts)

    def score(self, panel: Panel, vectors: tuple[Rows, ...]) -> Scored:
        """Scores of the rows of a panel."""
        own = panel.products(vectors[0])
        scores = own
        for vector in vectors[1:]:
            scores = own + self.settings.context_weight * panel.products(vector)
        mean, deviation = panel.spread(own)

        def signals(row: int) -> Mapping[str, float]:
            value = float(own[row])
            z = (value - mean) / deviation if deviation > 0.0 else 0.0
            return {"semantic": value, "z": z}

        return Scored(scores, np.full(len(own), bool(vectors[0].any())), signals)


def summed(vectors: Iterable[Rows], context_weight: float) -> Rows:
    """The vector whose inner products are the weighted sums of those of text and context.

    Args:
        vectors: Of the text, and of the context where it counts.
        context_weight: Weight of the context.
    """
    text, *context = vectors
    return np.asarray(text + sum(context_weight * vector for vector in context), dtype=np.float32)


def heads_only(given: Mapping[str, Any], mode: str) -> None:
    """Refuse what an index cannot do.

    Raises:
        ConfigurationError: Bodies are to be encoded.
    """
    if given.get("bodies", "lexical") != "lexical":
        raise ConfigurationError(
            f"Mode {mode!r} cannot encode bodies: an index holds vectors of names, descriptions "
            "and tags.",
            'Use bodies="lexical" (the default); bodies are searched by their words.',
        )


def build(library: Library, context: RetrieverContext) -> IndexedDenseRetriever:
    """Factory of mode ``dense`` for a library in an index; settings as in memory.

    Raises:
        UnknownSettingError: `context.settings` holds another name.
        ConfigurationError: A setting is out of range, bodies are to be encoded, or the encoder
            cannot be opened.
        MissingExtraError: The encoder needs a package that is not installed.
    """
    encoder, given = semantic_inputs(context)
    heads_only(given, context.mode)
    settings = read_settings(SemanticSettings, given, context.mode, others=("encoder",))
    return IndexedDenseRetriever(
        library, encoder, settings, lambda: context.retriever("bm25"), context.mode
    )
