"""One spec string or object names a pair scorer."""

from __future__ import annotations

from typing import Any

import pytest
from support.pair_scorers import TableScorer

from skillcue_adapters.rerankers import open_pair_scorer
from skillcue_hooks.errors import ConfigurationError


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("onxx:/model", "Did you mean 'onnx'"),
        ("/models/mine", "'onnx:/models/mine', 'st:/models/mine' or 'lm:/models/mine'"),
        ("C:\\models", r"onnx:C:\\models"),
        ("bge-reranker", "Give onnx:/path, st:model or lm:model"),
        ("", "Unknown cross-encoder ''"),
        ("onnx:", "needs a model"),
        ("st:", "needs a model"),
        ("lm", "needs a model"),
    ],
)
def test_a_wrong_spec_says_what_is_right(spec: str, says: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        open_pair_scorer(spec)
    assert says.replace("\\\\", "\\") in str(caught.value)


@pytest.mark.parametrize("scheme", ["st", "lm"])
def test_without_the_package_the_extra_is_named(scheme: str) -> None:
    import importlib.util

    if importlib.util.find_spec("sentence_transformers") is not None:
        pytest.skip("the neural extra is installed")
    with pytest.raises(ImportError, match=r'pip install "skillcue\[neural\]"'):
        open_pair_scorer(f"{scheme}:some/model")


def test_a_pair_scorer_is_taken_as_it_is() -> None:
    scorer = TableScorer()
    assert open_pair_scorer(scorer) is scorer


class Lazy:
    """Its fingerprint costs a model."""

    @property
    def fingerprint(self) -> str:
        raise AssertionError("read too early")

    def score(self, query: str, texts: Any) -> list[float]:
        return [0.0 for _ in texts]


def test_an_object_is_not_loaded_to_find_out_what_it_is() -> None:
    lazy = Lazy()
    assert open_pair_scorer(lazy) is lazy


class Unnamed:
    """As a LangChain ``BaseCrossEncoder``, whose ``score`` takes pairs."""

    def score(self, pairs: Any) -> list[float]:
        return [0.0 for _ in pairs]


@pytest.mark.parametrize("value", [None, 3, object(), Unnamed()])
def test_what_is_no_pair_scorer(value: object) -> None:
    with pytest.raises(ConfigurationError, match=r"is no cross-encoder.*BaseDocumentCompressor"):
        open_pair_scorer(value)


def test_a_class_is_not_an_object() -> None:
    with pytest.raises(ConfigurationError, match=r"Pass an object: TableScorer\(\)"):
        open_pair_scorer(TableScorer)
