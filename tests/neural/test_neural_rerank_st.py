"""``st:model``: sentence-transformers cross-encoders from disk."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("sentence_transformers")

from skillcue_adapters.rerankers import open_pair_scorer
from skillcue_adapters.rerankers.st_pairs import CrossEncoderPairScorer
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.protocols import PairScorer

pytestmark = [
    pytest.mark.neural,
    pytest.mark.filterwarnings("default"),  # of PyTorch and transformers, while they load
]

QUERY = "fill in a form"
TEXTS = ["pdf-forms: Fill in PDF forms.", "bread", "", "\ud800 lone", "契約書", "word " * 5000]
OPEN = (
    "import sys\n"
    "from skillcue_adapters.rerankers import open_pair_scorer\n"
    "scorer = open_pair_scorer(sys.argv[1])\n"
)
BLOCKED = (
    "import socket\n"
    "def refuse(*a, **k): raise AssertionError('network')\n"
    "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from support.torch_models import save_cross_encoder

    return save_cross_encoder(tmp_path_factory.mktemp("st") / "model")


@pytest.fixture(scope="module")
def scorer(folder):
    return open_pair_scorer(f"st:{folder}")


@pytest.fixture(scope="module")
def scores(scorer):
    return scorer.score(QUERY, TEXTS)


def run(code, *arguments, check=True, **environ):
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=check,
        timeout=300,
    )


def test_scores_are_the_logits_of_the_model(scorer, scores, folder):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    assert isinstance(scorer, PairScorer)
    assert scorer.score(QUERY, []) == []
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for index in (0, 1, 4, 5):  # an empty text is no second text to the tokenizer alone
        given = tokenizer(
            QUERY, TEXTS[index], truncation="longest_first", max_length=64, return_tensors="pt"
        )
        with torch.no_grad():
            logit = float(model(**given).logits[0, 0])
        assert scores[index] == pytest.approx(logit, abs=1e-4)
    assert min(scores) < 0 or max(scores) > 1  # no sigmoid


def test_an_activation_written_into_the_model_is_not_applied(folder, scores, tmp_path):
    linked = tmp_path / "sigmoid"
    linked.mkdir()
    for path in folder.iterdir():
        (linked / path.name).symlink_to(path)
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config["sentence_transformers"] = {"activation_fn": "torch.nn.modules.activation.Sigmoid"}
    (linked / "config.json").unlink()
    (linked / "config.json").write_text(json.dumps(config), "utf-8")
    other = open_pair_scorer(f"st:{linked}")
    assert other.score(QUERY, TEXTS) == scores


def test_a_score_is_the_same_alone_among_others_and_in_threads(scorer, scores):
    assert [scorer.score(QUERY, [text])[0] for text in TEXTS] == scores
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(lambda _: scorer.score(QUERY, TEXTS), range(6))) == [scores] * 6


def test_one_thread_at_a_time_uses_the_model(folder, monkeypatch):
    from sentence_transformers import CrossEncoder

    own = CrossEncoder.predict
    inside, most = [], []

    def watched(*arguments, **options):
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.01)
        found = own(*arguments, **options)
        inside.pop()
        return found

    monkeypatch.setattr(CrossEncoder, "predict", watched)
    scorer = open_pair_scorer(f"st:{folder}")
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: scorer.score(QUERY, ["text"]), range(6)))
    assert most == [1] * 7  # one of them while it loads


def test_it_can_be_pickled(scorer, scores):
    other = pickle.loads(pickle.dumps(scorer))
    assert other.fingerprint == scorer.fingerprint
    assert other.score(QUERY, TEXTS) == scores


def test_the_fingerprint_covers_files_and_arguments(scorer, folder, tmp_path):
    from support.torch_models import save_cross_encoder

    same = save_cross_encoder(tmp_path / "same")
    others = [
        CrossEncoderPairScorer(str(save_cross_encoder(tmp_path / "other", seed=1))),
        CrossEncoderPairScorer(str(folder), device="cuda"),
        CrossEncoderPairScorer(str(folder), batch_size=8),
    ]
    assert CrossEncoderPairScorer(str(same)).fingerprint == scorer.fingerprint
    assert len({scorer.fingerprint, *(other.fingerprint for other in others)}) == 4


def test_opening_and_naming_it_does_not_import_pytorch(folder):
    code = OPEN + "print(len(scorer.fingerprint), 'torch' in sys.modules)"
    assert run(code, f"st:{folder}").stdout.strip() == "64 False"


def test_a_model_on_disk_needs_no_network(folder):
    code = BLOCKED + OPEN + "print(len(scorer.score('a', ['b', 'c'])))"
    done = run(code, f"st:{folder}", check=False)
    assert done.stdout.strip() == "2", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_scores_and_does_not_wait_for_ever(folder):
    code = OPEN + (
        "import os, signal\n"
        "texts = ['hello world ' * 20] * 4\n"
        "before = scorer.score('a', texts)\n"
        "if os.fork() == 0:\n"
        "    signal.alarm(120)\n"
        "    again = scorer.score('a', texts)\n"
        "    os._exit(0 if max(abs(a - b) for a, b in zip(again, before)) < 1e-5 else 3)\n"
        "print(os.waitstatus_to_exitcode(os.wait()[1]))"
    )
    assert run(code, f"st:{folder}").stdout.strip() == "0"


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("mine/other", "hf download mine/other"),
        ("ms-marco-other", "hf download cross-encoder/ms-marco-other"),
        ("/no/such/folder", "no such folder"),
    ],
)
def test_a_model_that_is_not_on_disk_is_an_error_and_no_download(model, says, tmp_path):
    done = run(BLOCKED + OPEN, f"st:{model}", check=False, HF_HUB_CACHE=str(tmp_path))
    assert "ConfigurationError" in done.stderr
    assert says in done.stderr
    assert "network" not in done.stderr


def test_a_model_of_several_numbers_is_refused(tmp_path):
    from support.torch_models import save_cross_encoder

    folder = save_cross_encoder(tmp_path / "labels", labels=3)
    with pytest.raises(ConfigurationError, match="gives 3 numbers for one pair"):
        open_pair_scorer(f"st:{folder}").warm_up()


def test_a_damaged_model_is_an_error(tmp_path):
    from support.torch_models import save_cross_encoder

    folder = save_cross_encoder(tmp_path / "damaged")
    (folder / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(ConfigurationError, match="cannot be loaded as a cross-encoder"):
        open_pair_scorer(f"st:{folder}").warm_up()


def test_mode_two_stage_ranks_with_it(scorer):
    from support.pair_scorers import FixedStage, numbered

    from skillcue_adapters.two_stage import TwoStageRetriever, TwoStageSettings
    from skillcue_hooks.contracts import Query

    library = numbered(25)
    first = {skill.name: 25.0 - n for n, skill in enumerate(library.skills)}
    settings = TwoStageSettings(weight=1.0, budget_ms=600_000)
    mode = TwoStageRetriever(library, FixedStage(library, first), scorer, settings)
    ranking = mode.search(Query("number seven", k=20))
    assert ranking.degraded is None
    logits = [hit.signals["cross_encoder"] for hit in ranking.hits]
    assert logits == sorted(logits, reverse=True)
    assert len(set(logits)) > 10
