"""``lm:model``: language models that answer yes or no; small ones of random weights."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys

import pytest

pytest.importorskip("transformers")

from skillcue_adapters.rerankers import open_pair_scorer
from skillcue_adapters.rerankers.lm_pairs import INSTRUCTION, LanguageModelPairScorer
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.protocols import PairScorer

pytestmark = [
    pytest.mark.neural,
    pytest.mark.filterwarnings("default"),  # of PyTorch and transformers, while they load
]

QUERY = "fill in a form"
TEXTS = ["pdf-forms: Fill in PDF forms.", "bread", "", "\ud800 lone", "契約書"]
# The prompt of the model card, in one piece.
PROMPT = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and "
    'the Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n'
    "<|im_start|>user\n<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {text}<|im_end|>\n"
    "<|im_start|>assistant\n<think>\n\n</think>\n\n"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from support.torch_models import save_yes_no_model

    return save_yes_no_model(tmp_path_factory.mktemp("lm") / "model")


@pytest.fixture(scope="module")
def scorer(folder):
    return open_pair_scorer(f"lm:{folder}")


@pytest.fixture(scope="module")
def scores(scorer):
    return scorer.score(QUERY, TEXTS)


def log_yes(folder, text, instruction=INSTRUCTION):
    """The same from the whole prompt and all logits, in 64 bits."""
    import torch
    from transformers import AutoTokenizer, Qwen3ForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = Qwen3ForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    prompt = PROMPT.format(instruction=instruction, query=QUERY, text=text)
    with torch.no_grad():
        logits = model(**tokenizer(prompt, return_tensors="pt")).logits[0][-1].tolist()
    yes, no = (logits[tokenizer.get_vocab()[word]] for word in ("yes", "no"))
    return math.log(math.exp(yes) / (math.exp(yes) + math.exp(no)))


def log_sigmoid(score):
    return -math.log1p(math.exp(-score))


def test_the_score_is_the_logit_of_the_probability_of_yes(scorer, scores, folder):
    assert isinstance(scorer, PairScorer)
    for index in (0, 1, 2, 4):
        assert log_sigmoid(scores[index]) == pytest.approx(log_yes(folder, TEXTS[index]), abs=1e-4)
    assert len({round(score, 3) for score in scores}) > 3
    assert scorer.score(QUERY, []) == []


def test_a_score_is_the_same_alone_and_among_others(scorer, scores):
    assert [scorer.score(QUERY, [text])[0] for text in TEXTS] == scores


def test_the_instruction_counts(folder, scorer):
    other = LanguageModelPairScorer(str(folder), instruction="Find a recipe")
    assert other.fingerprint != scorer.fingerprint
    (score,) = other.score(QUERY, TEXTS[:1])
    expected = log_yes(folder, TEXTS[0], "Find a recipe")
    assert log_sigmoid(score) == pytest.approx(expected, abs=1e-4)


def test_the_fingerprint_covers_files_and_device(folder, scorer, tmp_path):
    from support.torch_models import save_yes_no_model

    others = [
        LanguageModelPairScorer(str(save_yes_no_model(tmp_path / "other", seed=1))),
        LanguageModelPairScorer(str(folder), device="cuda"),
    ]
    same = save_yes_no_model(tmp_path / "same")
    assert LanguageModelPairScorer(str(same)).fingerprint == scorer.fingerprint
    assert len({scorer.fingerprint, *(other.fingerprint for other in others)}) == 3


def test_a_long_text_loses_its_end_and_the_question_stays(tmp_path):
    from support.torch_models import save_yes_no_model

    scorer = LanguageModelPairScorer(str(save_yes_no_model(tmp_path / "short", positions=512)))
    long, longer = ("a" * count for count in (3000, 9000))
    assert scorer.score(QUERY, [long]) == scorer.score(QUERY, [longer])
    assert scorer.score(QUERY, [long]) != scorer.score(QUERY, ["a"])


def test_a_model_that_cannot_hold_the_prompt_is_refused(tmp_path):
    from support.torch_models import save_yes_no_model

    folder = save_yes_no_model(tmp_path / "tiny", positions=32)
    with pytest.raises(ConfigurationError, match="reads 32 tokens"):
        open_pair_scorer(f"lm:{folder}").warm_up()


def test_a_model_without_the_answers_is_refused(tmp_path):
    from support.torch_models import save_yes_no_model

    folder = save_yes_no_model(tmp_path / "maybe", answers=("no", "maybe"))
    with pytest.raises(ConfigurationError, match="has no token 'yes'"):
        open_pair_scorer(f"lm:{folder}").warm_up()


def test_a_model_of_another_kind_is_refused(tmp_path):
    from support.torch_models import save_cross_encoder

    folder = save_cross_encoder(tmp_path / "bert")
    with pytest.raises(ConfigurationError, match=r"holds a BertForSequenceClassification.*st:"):
        open_pair_scorer(f"lm:{folder}").warm_up()


def test_it_can_be_pickled(scorer, scores):
    other = pickle.loads(pickle.dumps(scorer))
    assert other.fingerprint == scorer.fingerprint
    assert other.score(QUERY, TEXTS) == scores


def test_it_loads_late_and_needs_no_network(folder, tmp_path):
    code = (
        "import socket, sys\n"
        "def refuse(*a, **k): raise AssertionError('network')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from skillcue_adapters.rerankers import open_pair_scorer\n"
        "scorer = open_pair_scorer(sys.argv[1])\n"
        "print(len(scorer.fingerprint), 'torch' in sys.modules, len(scorer.score('a', ['b'])))"
    )

    def run(model):
        return subprocess.run(
            [sys.executable, "-c", code, f"lm:{model}"],
            env={**os.environ, "HF_HUB_CACHE": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    done = run(folder)
    assert done.stdout.strip() == "64 False 1", done.stderr
    missing = run("mine/other").stderr
    assert "hf download mine/other" in missing
    assert "network" not in missing
