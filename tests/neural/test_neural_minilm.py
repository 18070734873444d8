"""The embedded encoders against the float model they were made from, and made anew."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")

from skillcue_adapters.encoders import build_models, open_encoder
from skillcue_adapters.encoders.builder.compare import compare, speed_ratio
from skillcue_adapters.encoders.minilm import FOLDER
from skillcue_hooks.errors import ConfigurationError

pytestmark = [
    pytest.mark.neural,
    pytest.mark.filterwarnings("default"),  # of PyTorch and transformers, while they load
]


@pytest.fixture(scope="module")
def exact(weights, registry):
    return open_encoder(f"st:{weights}", registry)


@pytest.fixture(scope="module")
def minilm(registry):
    return open_encoder("minilm", registry)


def test_int8_keeps_the_vectors_and_the_neighbours(minilm, exact, heads):
    found = compare(minilm, exact, heads)
    assert found.mean >= build_models.LEAST_MEAN
    assert found.least >= build_models.LEAST
    assert found.overlap >= build_models.LEAST_OVERLAP


def test_int8_is_faster_on_one_core(minilm, exact, heads):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        assert speed_ratio(minilm, exact, heads[:100]) >= build_models.LEAST_SPEED
    finally:
        torch.set_num_threads(threads)


def test_the_tokenizer_is_that_of_the_float_model(weights):
    shipped = (FOLDER / "tokenizer.json").read_bytes()
    assert shipped == (weights / "tokenizer.json").read_bytes()


@pytest.fixture
def quantize():
    pytest.importorskip("onnx")
    from skillcue_adapters.encoders.builder import quantize

    return quantize


def test_no_sum_of_two_products_overflows_16_bits(quantize):
    import onnx
    from onnx import numpy_helper

    tensors = onnx.load(str(FOLDER / "model.onnx")).graph.initializer
    matrices = [numpy_helper.to_array(t).astype(int) for t in tensors if t.name[-9:] == "quantized"]
    assert len(matrices) == 6 * 6
    for matrix in matrices:
        for sign in (1, -1):
            one = np.maximum(sign * matrix, 0)
            assert (255 * (one[0::2] + one[1::2])).max() < 2**15
        assert np.abs(matrix).max() > 64  # or 7 bits would have done


def test_rows_and_columns_come_back(quantize):
    table = np.random.default_rng(0).normal(size=(20, 30)) * np.logspace(-3, 3, 20)[:, None]
    table[7] = 0
    rows, scales = quantize.row_int8(table)
    assert rows.dtype == np.int8
    error = np.abs(rows * scales[:, None] - table).max(axis=1)
    assert np.all(error <= np.abs(table).max(axis=1) / 127 / 2 * 1.001)
    whole = np.rint(table / quantize.column_scales(table))
    assert np.abs(whole).max() <= 127
    for sign in (1, -1):
        one = np.maximum(sign * whole, 0)
        assert 120 <= (one[0::2] + one[1::2]).max() <= 128


def test_other_weights_are_refused(tmp_path, weights, monkeypatch):
    from skillcue_adapters.encoders.builder import weights as module

    pins = {**module.PINS, "config.json": "0" * 64}
    monkeypatch.setattr(module, "PINS", pins)
    with pytest.raises(ConfigurationError, match=r"config\.json is not the file"):
        module.find_weights()


def test_a_rebuild_is_as_good_as_what_is_shipped(tmp_path, example_skills, capsys):
    pytest.importorskip("onnx")
    pytest.importorskip("skeletoken")
    out = tmp_path / "models"
    assert build_models.main(["--out", str(out), "--compare", str(example_skills)]) == 0
    printed = capsys.readouterr().out
    assert "good enough" in printed
    assert "NOT" not in printed
    for name in ("minilm", "static"):
        made, shipped = (
            json.loads((folder / name / "manifest.json").read_text("utf-8"))
            for folder in (out, FOLDER.parent)
        )
        assert made["files"].keys() == shipped["files"].keys()
        assert made["made_from"] == shipped["made_from"]
