"""``onnx:/path``: a real cross-encoder graph that counts shared tokens.

Its logit is the number of pairs of equal tokens, one in each text, minus a tenth of all tokens and
a hundredth of those of the second text: ``[CLS] query [SEP] text [SEP]``. The two ``[SEP]`` are a pair of equal tokens, too.
"""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skillcue_adapters.rerankers import open_pair_scorer
from skillcue_adapters.rerankers.onnx_pairs import OnnxPairScorer, build
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.protocols import PairScorer


def by_hand(query: str, text: str) -> float:
    """For words that are one token each."""
    first, second = ([*part.split(), "[SEP]"] for part in (query, text))
    shared = sum(a == b for a in first for b in second)
    return shared - 0.1 * (1 + len(first) + len(second)) - 0.01 * len(second)


PAIRS = [
    ("make bread", "bread"),
    ("make bread", "cold water"),
    ("bread", "bread bread and bread"),
    ("water", ""),
]


@pytest.fixture
def scorer(overlap_folder: Path) -> OnnxPairScorer:
    return build(str(overlap_folder))


@pytest.mark.parametrize(("query", "text"), PAIRS)
def test_logits_by_hand(query: str, text: str, scorer: OnnxPairScorer) -> None:
    assert scorer.score(query, [text]) == pytest.approx([by_hand(query, text)], abs=1e-5)


def test_it_fills_the_role(scorer: OnnxPairScorer) -> None:
    assert isinstance(scorer, PairScorer)
    assert scorer.score("bread", []) == []
    found = scorer.score("bread", ["bread", "water"])
    assert [type(score) for score in found] == [float, float]
    assert found[0] > found[1]


def test_odd_texts_have_a_score(scorer: OnnxPairScorer) -> None:
    texts = ["", " \n", "\x00", "\ud800 lone", "契約書", "x" * 300_000, "word " * 100_000]
    assert np.isfinite(scorer.score("\udfff bread", texts)).all()


def test_a_score_is_the_same_alone_among_others_and_in_any_number_of_threads(
    overlap_folder: Path,
) -> None:
    texts = [f"bread and water number {n} " * (n % 7 + 1) for n in range(30)]
    scorers = [OnnxPairScorer(build(str(overlap_folder)).folder, threads) for threads in (1, 2, 5)]
    alone = [scorers[0].score("make bread", [text])[0] for text in texts]
    for scorer in scorers:
        assert scorer.score("make bread", texts) == alone
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: scorers[1].score("make bread", texts), range(12)))
    assert found == [alone] * 12


def test_the_longer_text_is_cut_to_what_the_model_reads(cross_encoder: Any) -> None:
    scorer = build(str(cross_encoder(config={"max_position_embeddings": 8})))
    # [CLS] make bread [SEP] water water water [SEP]
    long = scorer.score("make bread", ["water " * 50])
    assert long == scorer.score("make bread", ["water water water"])
    assert long == pytest.approx([1 - 0.8 - 0.04], abs=1e-5)


@pytest.mark.parametrize("texts", ["bread", [1], [None]])
def test_what_is_no_list_of_texts(texts: Any, scorer: OnnxPairScorer) -> None:
    with pytest.raises(TypeError):
        scorer.score("bread", texts)
    with pytest.raises(TypeError):
        scorer.score(3, ["bread"])  # type: ignore[arg-type]


def test_a_model_of_several_numbers_is_refused(cross_encoder: Any) -> None:
    with pytest.raises(ConfigurationError, match="gives 2 numbers for one pair"):
        build(str(cross_encoder("labels"))).warm_up()


def test_the_model_of_an_encoder_is_refused() -> None:
    from skillcue_adapters.encoders.minilm import FOLDER

    with pytest.raises(ConfigurationError, match="numbers for one pair"):
        build(str(FOLDER)).warm_up()


def test_nan_is_an_error(cross_encoder: Any) -> None:
    scorer = build(str(cross_encoder("nan")))
    assert len(scorer.score("a", ["a"])) == 1
    with pytest.raises(ConfigurationError, match="NaN or infinite"):
        scorer.score("bread", ["some more words than five"])


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda folder: (folder / "model.onnx").unlink(), r"holds no model\.onnx"),
        (lambda folder: (folder / "tokenizer.json").unlink(), r"no tokenizer\.json"),
        (lambda folder: (folder / "model.onnx").write_bytes(b"x"), "cannot be loaded"),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), "cannot be read"),
    ],
)
def test_a_folder_that_is_not_whole(spoil: Any, says: str, cross_encoder: Any) -> None:
    folder = cross_encoder()
    spoil(folder)
    with pytest.raises(ConfigurationError, match=says):
        build(str(folder)).warm_up()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="There is no model at"):
        open_pair_scorer(f"onnx:{tmp_path}/none")


def test_the_fingerprint_covers_files_and_length(overlap_folder: Path, cross_encoder: Any) -> None:
    same = build(str(overlap_folder)).fingerprint
    assert build(str(cross_encoder(name="same"))).fingerprint == same
    folder = cross_encoder(name="tokens")
    text = (folder / "tokenizer.json").read_text("utf-8")
    (folder / "tokenizer.json").write_text(text + "\n", "utf-8")
    others = [
        build(str(folder)).fingerprint,
        build(str(cross_encoder("nan", name="model"))).fingerprint,
        build(str(cross_encoder(name="short", config={"max_position_embeddings": 9}))).fingerprint,
    ]
    assert len({same, *others}) == 4


def test_files_that_change_after_they_were_hashed_are_not_used(cross_encoder: Any) -> None:
    folder = cross_encoder()
    scorer = build(str(folder))
    assert scorer.fingerprint
    (folder / "model.onnx").write_bytes((cross_encoder("nan", "nan") / "model.onnx").read_bytes())
    with pytest.raises(ConfigurationError, match="have changed"):
        scorer.score("bread", ["bread"])


def test_it_can_be_pickled(scorer: OnnxPairScorer) -> None:
    other = pickle.loads(pickle.dumps(scorer))
    assert other.fingerprint == scorer.fingerprint
    assert other.score("bread", ["bread"]) == scorer.score("bread", ["bread"])


def test_opening_one_loads_no_library(overlap_folder: Path) -> None:
    code = (
        "import sys\n"
        "from skillcue_adapters.rerankers import open_pair_scorer\n"
        "scorer = open_pair_scorer(sys.argv[1])\n"
        "print(sorted({'onnxruntime', 'tokenizers', 'torch'} & set(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, f"onnx:{overlap_folder}"],
        env=os.environ,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "[]"


def test_nothing_is_said_about_pooling(
    overlap_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        build(str(overlap_folder)).warm_up()
    assert caplog.messages == []
