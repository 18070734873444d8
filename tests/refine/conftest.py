"""A small library for mode ``refine``."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.llamaindex_warnings import allow_llamaindex_warnings
from support.refining import write_skills


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    allow_llamaindex_warnings(items, Path(__file__).parent)


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    return write_skills(tmp_path / "skills")
