"""The two encoders in the wheel: right vectors, the same ones everywhere, and no network."""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import os
import pickle
import random
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from skillcue_adapters.encoders import minilm as minilm_module
from skillcue_adapters.encoders import static as static_module
from skillcue_adapters.encoders.builder.weights import PINS
from skillcue_adapters.encoders.minilm import pinned_folder
from skillcue_adapters.encoders.onnx_model import OnnxEncoder
from skillcue_adapters.encoders.static import StaticEncoder
from skillcue_adapters.encoders.tokens import CHARS_PER_TOKEN
from skillcue_hooks.errors import ConfigurationError

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text("utf-8"))
"""Vectors of the float model, by sentence-transformers."""

ENCODERS = {
    "minilm": lambda folder: OnnxEncoder(pinned_folder(folder)),
    "static": StaticEncoder,
}
FOLDERS = {"minilm": minilm_module.FOLDER, "static": static_module.FOLDER}
SCRIPT = """
import hashlib, json, sys
import skillcue_adapters.register as r
from skillcue_adapters.encoders import open_encoder
found = {}
r.skillcue_register_encoders(register=found.__setitem__)
texts = json.load(sys.stdin)
for spec in ("minilm", "static"):
    encoder = open_encoder(spec, found)
    rows = encoder.encode_documents(texts)
    print(encoder.fingerprint, hashlib.sha256(rows.tobytes()).hexdigest())
"""


@pytest.fixture(scope="module", params=["minilm", "static"])
def spec(request):
    return request.param


@pytest.fixture(scope="module")
def encoder(spec, request):
    return request.getfixturevalue(spec)


@pytest.fixture(scope="module")
def rows(encoder, texts):
    return encoder.encode_documents(texts)


def digest(rows):
    return hashlib.sha256(rows.tobytes()).hexdigest()


def test_rows_are_unit_vectors_or_zero(encoder, texts, rows):
    assert rows.dtype == np.float32
    assert rows.shape == (len(texts), encoder.dim)
    lengths = np.linalg.norm(rows, axis=1)
    zero = {text for text, length in zip(texts, lengths, strict=True) if not length}
    unknown = {"🙂"} if encoder.dim == 256 else set()  # the table has a row for known tokens only
    assert zero == {"", " \n\t ", "\x00\x01"} | unknown
    assert np.allclose(lengths[lengths > 0], 1, atol=1e-5)


def test_dimensions(minilm, static):
    assert (minilm.dim, static.dim) == (384, 256)


def test_no_texts_give_no_rows(encoder):
    assert encoder.encode_documents([]).shape == (0, encoder.dim)


def test_a_text_has_the_same_vector_alone_and_among_others(encoder, texts, rows):
    for index in range(0, len(texts), 3):
        assert encoder.encode_documents([texts[index]])[0].tobytes() == rows[index].tobytes()
        assert encoder.encode_queries([texts[index]])[0].tobytes() == rows[index].tobytes()


def test_order_does_not_matter(encoder, texts, rows):
    order = list(range(len(texts)))
    random.Random(1).shuffle(order)
    turned = encoder.encode_documents([texts[i] for i in order])
    assert turned.tobytes() == rows[order].tobytes()


def test_threads_get_the_same_vectors(spec, texts, rows):
    fresh = ENCODERS[spec](FOLDERS[spec])  # so that they also meet in loading it
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: fresh.encode_documents(texts), range(8)))
    assert {digest(each) for each in found} == {digest(rows)}


@pytest.mark.parametrize("threads", [1, 3])
def test_the_number_of_threads_changes_nothing(threads, minilm, texts):
    other = OnnxEncoder(pinned_folder(), threads=threads)
    assert other.fingerprint == minilm.fingerprint
    assert digest(other.encode_documents(texts)) == digest(minilm.encode_documents(texts))


@pytest.mark.parametrize("seed", ["0", "4242"])
def test_another_process_gets_the_same_vectors(seed, texts, minilm, static):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT],
        input=json.dumps(texts),
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    expected = [
        f"{each.fingerprint} {digest(each.encode_documents(texts))}" for each in (minilm, static)
    ]
    assert done.stdout.split("\n")[:2] == expected


def test_no_socket_is_opened():
    blocked = (
        "import socket\n"
        "def refuse(*a, **k): raise AssertionError('network')\n"
        "socket.socket = socket.create_connection = socket.getaddrinfo = refuse\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", blocked + SCRIPT],
        input='["some text"]',
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_gets_the_same_vectors():
    code = (
        "import os\n"
        "from skillcue_adapters.encoders.minilm import build\n"
        "from skillcue_adapters.encoders.static import build as build_static\n"
        "made = [build(''), build_static('')]\n"
        "texts = ['one', 'two words', 'three of them'] * 3\n"
        "before = [e.encode_documents(texts).tobytes() for e in made]\n"
        "kept = [e._loaded.get() for e in made]\n"
        "if os.fork() == 0:\n"
        "    same = before == [e.encode_documents(texts).tobytes() for e in made]\n"
        "    anew = all(e._loaded.get() is not k for e, k in zip(made, kept))\n"
        "    os._exit(0 if same and anew else 3)\n"
        "print(os.waitstatus_to_exitcode(os.wait()[1]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "0"


def test_it_can_be_pickled_and_copied(encoder, texts, rows):
    for other in (pickle.loads(pickle.dumps(encoder)), copy.deepcopy(encoder)):
        assert other.fingerprint == encoder.fingerprint
        assert digest(other.encode_documents(texts)) == digest(rows)


@pytest.mark.parametrize("golden", GOLDEN, ids=["short", "cut"])
def test_minilm_is_near_the_float_model(golden, minilm):
    cosine = float(minilm.encode_queries([golden["text"]])[0] @ np.array(golden["vector"]))
    assert cosine > 0.985


def test_static_is_the_mean_of_its_token_vectors(static):
    text = "Fill in the form, then print it."
    tokenizer = Tokenizer.from_file(str(static_module.FOLDER / "tokenizer.json"))
    table = np.load(static_module.FOLDER / "table.npy").astype(np.float64)
    scales = np.load(static_module.FOLDER / "scales.npy")
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    mean = np.mean([table[i] * scales[i] for i in ids], axis=0)
    assert len(ids) == 9
    row = static.encode_documents([text])[0]
    assert np.allclose(row, mean / np.linalg.norm(mean), atol=1e-6)


def test_related_texts_are_nearer_than_unrelated_ones(encoder):
    query = encoder.encode_queries(["fill in the form fields of a PDF document"])[0]
    near, far = encoder.encode_documents(
        ["Complete PDF forms and flatten them", "Bake sourdough bread with a lively starter"]
    )
    assert query @ near > query @ far + 0.2


def test_a_long_text_is_cut_and_the_log_says_so(spec, encoder, caplog):
    limit = {"minilm": 254, "static": 512}[spec]  # minilm reads two special tokens besides
    with caplog.at_level(logging.INFO, "skillcue.encoders"):
        whole = encoder.encode_documents(["word " * limit])
        assert not caplog.records
        longer = encoder.encode_documents(["word " * limit + "zebra", "short"])
    assert longer[0].tobytes() == whole[0].tobytes()
    assert "of 1 of 2 texts" in caplog.text


def test_the_time_for_a_huge_text_has_a_bound(encoder, caplog):
    limit = CHARS_PER_TOKEN * 512
    huge = "lorem ipsum " * 1_700_000
    encoder.encode_queries(["warm up"])
    start = time.process_time()
    with caplog.at_level(logging.INFO, "skillcue.encoders"):
        found = encoder.encode_queries([huge])
    assert time.process_time() - start < 2  # tokenizing all of it takes 15 s
    assert found.tobytes() == encoder.encode_queries([huge[:limit]]).tobytes()
    assert "which are longer" in caplog.text


@pytest.mark.parametrize(
    ("texts", "says"),
    [("one text", "a list of texts"), ([b"bytes"], "bytes"), ([None], "NoneType")],
)
def test_what_is_no_text_is_refused(texts, says, encoder):
    with pytest.raises(TypeError, match=says):
        encoder.encode_documents(texts)


def test_shipped_files_are_small_and_pinned(spec):
    folder = FOLDERS[spec]
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert manifest["made_from"]["sha256"] == PINS
    for name, pin in manifest["files"].items():
        content = (folder / name).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (pin["bytes"], pin["sha256"])
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert size < {"minilm": 24_000_000, "static": 9_000_000}[spec]
    assert "Apache" in (folder / "LICENSE").read_text("utf-8")
    assert "skillcue_adapters.encoders.build_models" in (folder / "NOTICE").read_text("utf-8")


def damaged_copy(spec, tmp_path):
    return Path(shutil.copytree(FOLDERS[spec], tmp_path / spec))


def flip_a_byte(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


BREAK = {
    "sha256": flip_a_byte,
    "bytes instead of": lambda path: path.write_bytes(b"version https://git-lfs.github.com"),
    "is missing": Path.unlink,
}


@pytest.mark.parametrize("says", BREAK)
@pytest.mark.parametrize("which", ["table", "tokenizer.json"])
def test_a_damaged_file_is_noticed_before_it_is_used(says, which, spec, tmp_path):
    folder = damaged_copy(spec, tmp_path)
    name = {"table": {"minilm": "model.onnx", "static": "table.npy"}[spec]}.get(which, which)
    BREAK[says](folder / name)
    encoder = ENCODERS[spec](folder)
    for _ in range(2):  # a failure is not remembered as a success
        with pytest.raises(ConfigurationError, match=rf"{name} .*{says}.*Reinstall"):
            encoder.encode_queries(["text"])


@pytest.mark.parametrize(
    "content", [None, "{", "{}", '{"dim": 1, "max_tokens": 2, "files": {"a": 1}}']
)
def test_a_damaged_manifest_is_noticed_at_once(content, spec, tmp_path):
    folder = tmp_path / spec
    folder.mkdir()
    if content is not None:
        (folder / "manifest.json").write_text(content, "utf-8")
    with pytest.raises(ConfigurationError, match=r"manifest\.json cannot be read"):
        ENCODERS[spec](folder)


def test_the_two_have_different_fingerprints(minilm, static):
    assert minilm.fingerprint != static.fingerprint
