"""Mode ``dense``: similarity of meaning, exact.

``score = cos(query, head) + context_weight * cos(context, head)``, over every skill, without an
approximate index: 34,000 skills take a millisecond or two. With ``bodies="all"`` the cosine of a
skill is the largest of its head's and its body chunks'.

Every skill has some similarity to every query, and no number separates those that fit from those
that do not: it differs from encoder to encoder and from query to query. So every skill matches,
unless the query says nothing, that is, has no letter or digit, or the zero vector.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from skillcue_adapters.document_vectors import DocumentVectors, open_vectors
from skillcue_adapters.index.vectors import Located, Rows
from skillcue_adapters.normalization import spread
from skillcue_adapters.scoring import Scored, says_something
from skillcue_adapters.semantic_index import SemanticIndex
from skillcue_adapters.semantic_retriever import SemanticRetriever, SemanticSettings
from skillcue_adapters.settings import read_settings
from skillcue_adapters.stages import semantic_inputs
from skillcue_adapters.text_plan import TextPlan
from skillcue_adapters.vector_stores.retriever import StoreRetriever, build_over_store
from skillcue_hooks.contracts import Library, Query, RetrieverContext
from skillcue_hooks.protocols import Encoder, Retriever

__all__ = ["DenseRetriever", "build", "build_in_memory"]

VERSION = 1
"""Part of the fingerprint; raised whenever the same settings give other scores."""


class DenseRetriever(SemanticRetriever[SemanticIndex]):
    """Exact cosine similarity.

    Hits carry these signals, about the text alone, never about the context:

    semantic
        Cosine of the skill, -1 to 1.
    z
        Standard deviations of that above its mean over the whole library.

    Args:
        library: What is indexed.
        encoder: Gives the vectors.
        settings: Settings of the mode.
        previous: The retriever of the generation before.
        vectors: Where vectors are looked up and put.
        fallback: Gives the retriever that answers while vectors are missing.
        mode: Name it is registered under.
    """

    def __init__(
        self,
        library: Library,
        encoder: Encoder,
        settings: SemanticSettings,
        previous: DenseRetriever | None,
        vectors: DocumentVectors,
        fallback: Callable[[], Retriever],
        mode: str = "dense",
    ) -> None:
        self.settings = settings
        kind = ("dense", VERSION)
        super().__init__(kind, library, encoder, settings, previous, vectors, fallback, mode)

    def _index(self, plan: TextPlan, located: Located) -> SemanticIndex:
        return SemanticIndex(plan, located)

    def _vectors_of(self, index: SemanticIndex) -> SemanticIndex:
        return index

    def _score(self, index: SemanticIndex, query: Query) -> Scored:
        vector = self.query_vector(query.text)
        own = _similar(index, vector)
        scores = own
        if self.settings.context_weight and says_something(query.context):
            context = _similar(index, self.query_vector(query.context))
            scores = own + self.settings.context_weight * context
        mean, deviation = spread(own)

        def signals(position: int) -> Mapping[str, float]:
            value = float(own[position])
            z = (value - mean) / deviation if deviation > 0.0 else 0.0
            return {"semantic": value, "z": z}

        return Scored(scores, np.full(len(own), bool(vector.any())), signals)


def build(library: Library, context: RetrieverContext) -> Retriever:
    """Factory of mode ``dense``.

    Settings are those of `SemanticSettings`, and ``encoder``: a spec or an object. Where the user
    gave a vector store, see `skillcue_adapters.vector_stores.retriever`.

    Raises:
        UnknownSettingError: `context.settings` holds another name.
        ConfigurationError: A setting is out of range, or the encoder cannot be opened.
        MissingExtraError: The encoder needs a package that is not installed.
    """
    if library.index is not None:
        from skillcue_adapters.indexed.dense import build as build_indexed

        return build_indexed(library, context)
    return build_in_memory(library, context)


def build_in_memory(library: Library, context: RetrieverContext) -> DenseRetriever | StoreRetriever:
    """`build` for a library in memory."""
    if context.defaults.get("vectors") is not None:
        return build_over_store(context.defaults["vectors"], library, context)
    encoder, given = semantic_inputs(context)
    settings = read_settings(SemanticSettings, given, context.mode, others=("encoder",))
    return DenseRetriever(
        library,
        encoder,
        settings,
        context.previous if isinstance(context.previous, DenseRetriever) else None,
        open_vectors(encoder, context.cache_dir),
        lambda: context.retriever("bm25"),
        context.mode,
    )


def _similar(index: SemanticIndex, vector: Rows) -> npt.NDArray[np.float64]:
    heads, bodies = index.similarities(vector)
    return heads if bodies is None else np.maximum(heads, bodies)
