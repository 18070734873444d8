"""Rerankers of LangChain and LlamaIndex as pair scorers, known by their methods.

Their results are matched with the texts that went in, and what they leave out comes last: many
return only the best few, so tell yours to return all (``top_n``).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from inspect import getattr_static
from typing import Any, cast

from skillcue_adapters.encoders.describe import check_fingerprint, describe
from skillcue_adapters.encoders.rows import checked_texts
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.fingerprint import fingerprint as fingerprint_of
from skillcue_hooks.protocols import PairScorer

__all__ = [
    "CompressorPairScorer",
    "FrameworkPairScorer",
    "PostprocessorPairScorer",
    "pair_scorer_of",
    "scores_of_results",
]

Result = tuple[int, float | None]
"""Position of a text that a reranker returned, and the score it gave, if any."""

_POSITION = "skillcue_position"


class FrameworkPairScorer(ABC):
    """A `PairScorer` over a reranker object of a framework.

    As safe to share between threads as the object itself. Scores are those of the object where it
    gives one with every result, else minus the rank, so they compare within one call only.

    Args:
        reranker: The object.
        fingerprint: Names its scores. By default the object's class and the plain values it holds,
            keys and passwords apart. Give one when a score depends on something else, such as a
            model that a server chooses.
    """

    all_at_once = True

    def __init__(self, reranker: Any, fingerprint: str = "") -> None:
        self._reranker = reranker
        # Now, and not when asked for: counters and caches in the object change while it works.
        self.fingerprint = fingerprint_of(type(self).__name__, fingerprint or describe(reranker))

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score a text, higher is better; see `scores_of_results`.

        Raises:
            ConfigurationError: The object returned something else than what it was given.
            Exception: Whatever the object raises.
        """
        listed = checked_texts(texts)
        return scores_of_results(self._results(query, listed), len(listed)) if listed else []

    @abstractmethod
    def _results(self, query: str, texts: list[str]) -> list[Result]:
        """What the object returned, in its order."""

    def _unknown(self) -> ConfigurationError:
        return ConfigurationError(
            f"{type(self._reranker).__name__} returned a text that it was not given.",
            "A reranker must return the documents it gets, in another order.",
        )


class CompressorPairScorer(FrameworkPairScorer):
    """A `PairScorer` over a LangChain ``BaseDocumentCompressor``.

    The score of a document is its ``relevance_score`` in the metadata.
    """

    def _results(self, query: str, texts: list[str]) -> list[Result]:
        from langchain_core.documents import Document

        documents = [
            Document(text, metadata={_POSITION: position}) for position, text in enumerate(texts)
        ]
        found = self._reranker.compress_documents(documents, query)
        return [
            (self._position(document, texts), _number(document.metadata.get("relevance_score")))
            for document in found
        ]

    def _position(self, document: Any, texts: list[str]) -> int:
        position = document.metadata.get(_POSITION)
        if isinstance(position, int) and 0 <= position < len(texts):
            return position
        if document.page_content in texts:  # rebuilt without its metadata
            return texts.index(document.page_content)
        raise self._unknown()


class PostprocessorPairScorer(FrameworkPairScorer):
    """A `PairScorer` over a LlamaIndex ``BaseNodePostprocessor``."""

    def _results(self, query: str, texts: list[str]) -> list[Result]:
        from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

        nodes = [
            NodeWithScore(node=TextNode(text=text, id_=f"{_POSITION}:{position}"))
            for position, text in enumerate(texts)
        ]
        positions = {node.node.node_id: position for position, node in enumerate(nodes)}
        found = self._reranker.postprocess_nodes(nodes, query_bundle=QueryBundle(query))
        if any(node.node.node_id not in positions for node in found):
            raise self._unknown()
        return [(positions[node.node.node_id], _number(node.score)) for node in found]


def scores_of_results(results: Sequence[Result], count: int) -> list[float]:
    """One score a text from what a reranker returned.

    The scores that came along, where each result has one; else ``-0, -1, -2, ...`` in the order of
    the results. Texts that are missing share a score below the worst, as far below as the worst is
    below the best (by 1 where there is no difference). Of a text that came twice the first counts.

    Args:
        results: Best first.
        count: Texts that went in.
    """
    scored = all(score is not None for _, score in results)
    given: dict[int, float] = {}
    for rank, (position, score) in enumerate(results):
        given.setdefault(position, score if scored and score is not None else float(-rank))
    if not given:
        return [0.0] * count
    low, high = min(given.values()), max(given.values())
    missing = low - ((high - low) or 1.0)
    return [given.get(position, missing) for position in range(count)]


def pair_scorer_of(value: object) -> PairScorer:
    """`value` itself where it is a `PairScorer`, else a `FrameworkPairScorer` around it.

    Raises:
        ConfigurationError: It is neither, or a class instead of an object.
    """
    if isinstance(value, type):
        raise ConfigurationError(
            f"{value.__name__} is a class, not a cross-encoder.",
            f"Pass an object: {value.__name__}().",
        )
    if callable(getattr(value, "compress_documents", None)):
        return CompressorPairScorer(value)
    if callable(getattr(value, "postprocess_nodes", None)):
        return PostprocessorPairScorer(value)
    if callable(getattr(value, "score", None)) and _has(value, "fingerprint"):
        check_fingerprint(value)
        return cast(PairScorer, value)
    raise ConfigurationError(
        f"A {type(value).__name__} is no cross-encoder.",
        "Pass a spec such as 'onnx:/path', a PairScorer (score and fingerprint), a LangChain "
        "BaseDocumentCompressor or a LlamaIndex BaseNodePostprocessor.",
    )


def _has(value: object, name: str) -> bool:
    missing = object()
    # Not hasattr: that reads it, which may load a model.
    return getattr_static(value, name, missing) is not missing


def _number(value: object) -> float | None:
    # numpy's numbers are registered as numbers, but a bool is one as well
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        return None
    number = float(value)
    return number if math.isfinite(number) else None
