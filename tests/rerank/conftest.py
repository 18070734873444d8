"""Folders with small cross-encoders."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skillcue_adapters.encoders.minilm import FOLDER

MODELS = Path(__file__).parent / "models"

MakeModel = Callable[..., Path]


def write_model(folder: Path, model: str = "overlap", **files: Any) -> Path:
    """One of the small models with the word pieces of MiniLM, and JSON files by name."""
    folder.mkdir()
    shutil.copyfile(MODELS / f"{model}.onnx", folder / "model.onnx")
    shutil.copyfile(FOLDER / "tokenizer.json", folder / "tokenizer.json")
    for name, record in files.items():
        (folder / f"{name}.json").write_text(json.dumps(record), "utf-8")
    return folder


@pytest.fixture
def cross_encoder(tmp_path: Path) -> MakeModel:
    """Makes a folder: ``cross_encoder("overlap", name="a", config={...})``."""

    def make(model: str = "overlap", name: str = "small", **files: Any) -> Path:
        return write_model(tmp_path / name, model, **files)

    return make


@pytest.fixture(scope="session")
def overlap_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model that counts shared tokens."""
    return write_model(tmp_path_factory.mktemp("cross") / "overlap")
