"""Rerankers of LangChain and LlamaIndex, with the base classes of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.documents import BaseDocumentCompressor, Document
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from pydantic import Field, PrivateAttr
from support.pair_scorers import FixedStage, numbered

from skillcue_adapters.rerankers import open_pair_scorer
from skillcue_adapters.rerankers.objects import (
    CompressorPairScorer,
    PostprocessorPairScorer,
    scores_of_results,
)
from skillcue_adapters.two_stage import TwoStageRetriever, TwoStageSettings
from skillcue_hooks.contracts import Query
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.protocols import PairScorer

TEXTS = ["cold water", "bake bread", "bread", "bake bread and cake"]


def shared(query: str, text: str) -> float:
    return len({*query.split()} & {*text.split()}) / len(text.split())


class Compressor(BaseDocumentCompressor):
    """As those of the integrations: copies of the best, with or without a score."""

    model_name: str = "small"
    api_key: str = Field(default="sk-1", exclude=True)
    top_n: int = 99
    scored: bool = True
    keeps_metadata: bool = True
    _calls: list[str] = PrivateAttr(default_factory=list)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        self._calls.append(query)
        best = sorted(documents, key=lambda d: -shared(query, d.page_content))[: self.top_n]
        found = []
        for document in best:
            metadata = dict(document.metadata) if self.keeps_metadata else {}
            if self.scored:
                metadata["relevance_score"] = shared(query, document.page_content)
            found.append(Document(document.page_content, metadata=metadata))
        return found


class Postprocessor(BaseNodePostprocessor):
    """As those of the integrations: the same nodes, with or without a new score."""

    top_n: int = 99
    scored: bool = True

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        assert query_bundle is not None
        query = query_bundle.query_str
        ranked = sorted(nodes, key=lambda n: -shared(query, n.node.get_content()))[: self.top_n]
        if self.scored:
            for node in ranked:
                node.score = shared(query, node.node.get_content())
        return ranked


Make = Callable[..., Any]
BOTH = pytest.mark.parametrize("make", [Compressor, Postprocessor])


@BOTH
def test_scores_are_those_of_the_object(make: Make) -> None:
    scorer = open_pair_scorer(make())
    assert isinstance(scorer, PairScorer)
    assert scorer.score("bake bread", TEXTS) == [0.0, 1.0, 1.0, 0.5]
    assert scorer.score("bake bread", []) == []


@BOTH
def test_without_scores_the_order_counts(make: Make) -> None:
    scorer = open_pair_scorer(make(scored=False))
    assert scorer.score("bake bread", TEXTS) == [-3.0, 0.0, -1.0, -2.0]


@BOTH
def test_what_is_left_out_comes_last(make: Make) -> None:
    scores = open_pair_scorer(make(top_n=3)).score("bake bread", TEXTS)
    assert scores == [0.0, 1.0, 1.0, 0.5]
    scores = open_pair_scorer(make(top_n=2)).score("bake bread", TEXTS)
    assert scores == [0.0, 1.0, 1.0, 0.0]
    scores = open_pair_scorer(make(top_n=2, scored=False)).score("bake bread", TEXTS)
    assert scores == [-2.0, 0.0, -1.0, -2.0]
    assert open_pair_scorer(make(top_n=0)).score("bake bread", TEXTS) == [0.0] * 4


def test_documents_without_their_metadata_are_known_by_their_text() -> None:
    scorer = open_pair_scorer(Compressor(keeps_metadata=False))
    assert scorer.score("bake bread", TEXTS) == [0.0, 1.0, 1.0, 0.5]


class Rewriter(Compressor):
    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        return [Document("something else")]


class Inventor(Postprocessor):
    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(text="something else"), score=1.0)]


@pytest.mark.parametrize("make", [Rewriter, Inventor])
def test_what_was_not_given_is_an_error(make: Make) -> None:
    with pytest.raises(ConfigurationError, match="returned a text that it was not given"):
        open_pair_scorer(make()).score("bake", TEXTS)


@pytest.mark.parametrize(
    ("results", "scores"),
    [
        ([(1, 0.9), (0, 0.4)], [0.4, 0.9, -0.1]),
        ([(1, 0.9), (0, None)], [-1.0, 0.0, -2.0]),
        ([(2, 0.5)], [-0.5, -0.5, 0.5]),
        ([(2, 0.5), (2, 0.1), (0, 0.3)], [0.3, 0.1, 0.5]),
        ([], [0.0, 0.0, 0.0]),
    ],
)
def test_results_to_scores(results: Any, scores: list[float]) -> None:
    assert scores_of_results(results, 3) == pytest.approx(scores, abs=1e-12)


@pytest.mark.parametrize("score", [float("nan"), "high", True, None])
def test_a_relevance_that_is_no_number_does_not_count(score: Any) -> None:
    class Odd(BaseDocumentCompressor):
        def compress_documents(
            self, documents: Sequence[Document], query: str, callbacks: Any = None
        ) -> Sequence[Document]:
            for document in documents:
                document.metadata["relevance_score"] = score
            return documents[::-1]

    assert open_pair_scorer(Odd()).score("bake", ["a", "b"]) == [-1.0, 0.0]


@BOTH
def test_the_fingerprint_tells_models_apart_and_not_keys_or_use(make: Make) -> None:
    scorer = open_pair_scorer(make())
    scorer.score("bake bread", TEXTS)
    assert open_pair_scorer(make()).fingerprint == scorer.fingerprint
    assert open_pair_scorer(make(top_n=3)).fingerprint != scorer.fingerprint
    assert (
        open_pair_scorer(Compressor(api_key="sk-2")).fingerprint
        == CompressorPairScorer(Compressor()).fingerprint
    )


def test_a_fingerprint_can_be_given() -> None:
    one, other = (CompressorPairScorer(Compressor(), name) for name in ("one", "other"))
    assert one.fingerprint != other.fingerprint
    assert PostprocessorPairScorer(Postprocessor(), "one").fingerprint != one.fingerprint


@BOTH
def test_mode_two_stage_asks_such_an_object_once(make: Make) -> None:
    library = numbered(25)
    first = {skill.name: 25.0 - n for n, skill in enumerate(library.skills)}
    reranker = make()
    mode = TwoStageRetriever(
        library,
        FixedStage(library, first),
        open_pair_scorer(reranker),
        TwoStageSettings(weight=1.0, budget_ms=1),
    )
    ranking = mode.search(Query("7: 13.", k=3))
    assert ranking.degraded is None
    assert [hit.skill.name for hit in ranking.hits] == ["s13", "s00", "s01"]
    if make is Compressor:
        assert reranker._calls == ["7: 13."]
