"""Encoders, texts, and small model folders."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.encoder_models import write_json, write_tokenizer

from skillcue_adapters import register
from skillcue_adapters.encoders import open_encoder
from skillcue_adapters.encoders.builder.compare import read_texts

MODELS = Path(__file__).parent / "models"


@pytest.fixture(scope="session")
def registry():
    """Scheme to factory, as the built-in plugin registers them."""
    found = {}
    register.skillcue_register_encoders(register=found.__setitem__)
    return found


@pytest.fixture(scope="session")
def texts(example_skills):
    """60 paragraphs of the example library, and awkward ones between them."""
    paragraphs = read_texts(example_skills, 60)
    assert len(paragraphs) == 60
    awkward = ["", "x", " \n\t ", "\x00\x01", "契約書を確認する", "🙂", "\ud800 lone", "tab\tbed"]
    return [*paragraphs[:30], *awkward, *paragraphs[30:]]


@pytest.fixture(scope="session")
def minilm(registry):
    """The default encoder."""
    return open_encoder("minilm", registry)


@pytest.fixture(scope="session")
def static(registry):
    """The encoder without a transformer."""
    return open_encoder("static", registry)


@pytest.fixture
def small_model(tmp_path):
    """Make a folder with one of the small models, a tokenizer, and JSON files by path."""

    def make(model="tokens", name="small", **files):
        folder = tmp_path / name
        folder.mkdir()
        for path in MODELS.glob(f"{model}.onnx*"):
            target = path.name if model == "external" else path.name.replace(model, "model")
            shutil.copyfile(path, folder / target)
        write_tokenizer(folder / "tokenizer.json")
        for key, record in files.items():
            write_json(folder, key, record)
        return folder

    return make
