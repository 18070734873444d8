"""``st:model``: sentence-transformers from disk."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("sentence_transformers")

from skillcue_adapters.encoders import open_encoder
from skillcue_adapters.encoders.st import SentenceTransformersEncoder
from skillcue_hooks import Encoder
from skillcue_hooks.errors import ConfigurationError

pytestmark = [
    pytest.mark.neural,
    pytest.mark.filterwarnings("default"),  # of PyTorch and transformers, while they load
]

TEXTS = ["fill in a PDF form", "", "bake bread " * 50, "\ud800 lone", "契約書", "  "]
OPEN = (
    "import sys\n"
    "from skillcue_adapters.encoders import open_encoder\n"
    "registry = {'st': 'skillcue_adapters.encoders.st:build'}\n"
    "encoder = open_encoder(sys.argv[1], registry)\n"
)
BLOCKED = (
    "import socket\n"
    "def refuse(*a, **k): raise AssertionError('network')\n"
    "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
)


@pytest.fixture(scope="module")
def encoder(weights, registry):
    return open_encoder(f"st:{weights}", registry)


@pytest.fixture(scope="module")
def rows(encoder):
    return encoder.encode_documents(TEXTS)


def run(code, *arguments, check=True, **environ):
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=check,
        timeout=300,
    )


def test_rows_are_unit_vectors_or_zero(encoder, rows):
    assert isinstance(encoder, Encoder)
    assert (rows.dtype, rows.shape, encoder.dim) == (np.float32, (6, 384), 384)
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 0, 1, 1, 1, 0], atol=1e-5)
    assert encoder.encode_queries([]).shape == (0, 384)


def test_vectors_are_those_of_the_library(encoder, rows, weights):
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(weights), device="cpu")
    own = model.encode([TEXTS[0], TEXTS[2]], normalize_embeddings=True)
    assert np.allclose(rows[[0, 2]], own, atol=1e-5)


def test_a_text_has_the_same_vector_alone_and_among_others_and_in_threads(encoder, rows):
    for text, row in zip(TEXTS, rows, strict=True):
        assert encoder.encode_queries([text])[0].tobytes() == row.tobytes()
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: encoder.encode_documents(TEXTS).tobytes(), range(6)))
    assert set(found) == {rows.tobytes()}


def test_one_thread_at_a_time_uses_the_model(encoder, monkeypatch):
    model = encoder._loaded.get()._model
    own = model.encode_document
    inside, most = [], []

    def watched(*arguments, **options):
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.01)
        found = own(*arguments, **options)
        inside.pop()
        return found

    monkeypatch.setattr(model, "encode_document", watched)
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: encoder.encode_documents(["text"]), range(6)))
    assert most == [1] * 6


def test_it_can_be_pickled(encoder, rows):
    other = pickle.loads(pickle.dumps(encoder))
    assert other.fingerprint == encoder.fingerprint
    assert other.encode_documents(TEXTS).tobytes() == rows.tobytes()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_encodes_and_does_not_wait_for_ever(weights):
    code = OPEN + (
        "import os, signal\n"
        "texts = ['hello world ' * 100] * 4\n"
        "before = encoder.encode_documents(texts)\n"
        "if os.fork() == 0:\n"
        "    signal.alarm(120)\n"
        "    os._exit(0 if abs(encoder.encode_documents(texts) - before).max() < 1e-5 else 3)\n"
        "print(os.waitstatus_to_exitcode(os.wait()[1]))"
    )
    assert run(code, f"st:{weights}").stdout.strip() == "0"


def test_opening_and_naming_it_does_not_import_pytorch(weights):
    code = OPEN + "print(len(encoder.fingerprint), 'torch' in sys.modules)"
    assert run(code, f"st:{weights}").stdout.strip() == "64 False"


def test_a_model_on_disk_needs_no_network(weights):
    code = BLOCKED + OPEN + "print(encoder.encode_queries(['text']).shape)"
    done = run(code, f"st:{weights}", check=False)
    assert done.stdout.strip() == "(1, 384)", done.stderr


def cached(linked, tmp_path):
    """A Hugging Face cache that holds the model as mine/model."""
    commit = "0123456789" * 4
    repository = tmp_path / "hub" / "models--mine--model"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit, "utf-8")
    (repository / "snapshots").mkdir()
    (repository / "snapshots" / commit).symlink_to(linked("snapshot"))
    return tmp_path / "hub"


def test_the_id_of_a_model_in_the_cache_needs_no_network(linked, tmp_path, weights, encoder):
    code = BLOCKED + OPEN + "print(encoder.encode_queries(['text']).shape, encoder.fingerprint)"
    cache = cached(linked, tmp_path)
    done = run(code, "st:mine/model", check=False, HF_HUB_CACHE=str(cache))
    assert done.stdout.strip() == f"(1, 384) {encoder.fingerprint}", done.stderr


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("mine/other", "hf download mine/other"),
        ("all-other-model", "hf download sentence-transformers/all-other-model"),
        ("/no/such/folder", "no such folder"),
    ],
)
def test_a_model_that_is_not_on_disk_is_an_error_and_no_download(model, says, tmp_path):
    done = run(BLOCKED + OPEN, f"st:{model}", check=False, HF_HUB_CACHE=str(tmp_path))
    assert "ConfigurationError" in done.stderr
    assert says in done.stderr
    assert "network" not in done.stderr


def test_an_empty_folder_is_an_error(tmp_path, registry):
    with pytest.raises(ConfigurationError, match="holds no model"):
        open_encoder(f"st:{tmp_path}", registry)


def test_a_spec_without_a_model_is_an_error(registry):
    with pytest.raises(ConfigurationError, match="st:org/name"):
        open_encoder("st:", registry)


def test_a_damaged_model_is_an_error(linked, registry):
    folder = linked("damaged")
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(ConfigurationError, match="cannot be loaded"):
        open_encoder(f"st:{folder}", registry).encode_queries(["text"])


def test_pooling_is_the_models_own(linked, rows):
    pooling = {"word_embedding_dimension": 384, "pooling_mode_cls_token": True}
    encoder = SentenceTransformersEncoder(str(linked("cls", pooling=json.dumps(pooling))))
    found = encoder.encode_documents(TEXTS)
    assert found[0] @ rows[0] < 0.99


@pytest.mark.parametrize(
    ("name", "files", "query", "document"),
    [
        (
            "own",
            {"config_sentence_transformers": '{"prompts": {"query": "Q: ", "passage": "D: "}}'},
            "Q: ",
            "D: ",
        ),
        ("bge-small-en", {}, "Represent this sentence for searching relevant passages: ", ""),
    ],
)
def test_prompts_are_put_in_front(name, files, query, document, linked, encoder):
    prompted = SentenceTransformersEncoder(str(linked(name, **files)))
    for prompt, found in (
        (query, prompted.encode_queries(["a form"])),
        (document, prompted.encode_documents(["a form"])),
    ):
        assert np.allclose(found, encoder.encode_documents([f"{prompt}a form"]), atol=1e-6)


def test_the_fingerprint_covers_files_prompts_and_arguments(linked, weights, encoder):
    folders = [
        linked("same"),
        linked("pooling", pooling='{"word_embedding_dimension": 384, "pooling_mode": "cls"}'),
        linked("prompts", config_sentence_transformers='{"prompts": {"query": "Q: "}}'),
        linked("length", sentence_bert_config='{"max_seq_length": 128}'),
        linked("bge-small-en"),
    ]
    same, *others = [SentenceTransformersEncoder(str(f)).fingerprint for f in folders]
    assert same == encoder.fingerprint
    others.append(SentenceTransformersEncoder(str(weights), device="cuda").fingerprint)
    others.append(SentenceTransformersEncoder(str(weights), batch_size=8).fingerprint)
    assert len({same, *others}) == 7


def test_a_readme_beside_the_model_does_not_count(linked, encoder):
    folder = linked("readme")
    (folder / "README.md").unlink()
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(b"not read by PyTorch")
    assert SentenceTransformersEncoder(str(folder)).fingerprint == encoder.fingerprint
