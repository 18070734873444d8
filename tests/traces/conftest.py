"""Fixtures of the trace tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_FROM_LLAMA_INDEX = (
    "ignore::pydantic.warnings.PydanticDeprecationWarning",
    "ignore:Skipping serialization of known unserializable key",
    "ignore:ServiceManager is deprecated:DeprecationWarning",
    "ignore:is_running called from within a step:DeprecationWarning",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests here fail on any warning but those that LlamaIndex raises about itself."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            for warning in _FROM_LLAMA_INDEX:
                item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture
def lines() -> Callable[[Path], list[dict[str, Any]]]:
    """The records of a trace file."""

    def read(path: Path) -> list[dict[str, Any]]:
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]

    return read
