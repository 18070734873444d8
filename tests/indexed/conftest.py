"""What the tests of indexes share."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.llamaindex_warnings import allow_llamaindex_warnings


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    allow_llamaindex_warnings(items, Path(__file__).parent)
