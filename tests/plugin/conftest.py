"""A small library for the tests of the plugin package."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.conversations import write_garden


@pytest.fixture
def garden(tmp_path: Path) -> Path:
    """Eight skills that a test may change."""
    return write_garden(tmp_path / "garden")
