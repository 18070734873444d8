"""Fixtures of the trace tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.llamaindex_warnings import allow_llamaindex_warnings


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    allow_llamaindex_warnings(items, Path(__file__).parent)


@pytest.fixture
def lines() -> Callable[[Path], list[dict[str, Any]]]:
    """The records of a trace file."""

    def read(path: Path) -> list[dict[str, Any]]:
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]

    return read
