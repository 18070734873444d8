"""Warnings that LlamaIndex raises about itself whenever an agent is built or runs."""

from __future__ import annotations

from pathlib import Path

import pytest

__all__ = ["allow_llamaindex_warnings"]

_FROM_LLAMA_INDEX = (
    "ignore::pydantic.warnings.PydanticDeprecationWarning",
    "ignore:Skipping serialization of known unserializable key",
    "ignore:ServiceManager is deprecated:DeprecationWarning",
    "ignore:is_running called from within a step:DeprecationWarning",
)


def allow_llamaindex_warnings(items: list[pytest.Item], folder: Path) -> None:
    """Let the tests below `folder` fail on any warning but those."""
    for item in items:
        if folder in item.path.parents:
            for warning in _FROM_LLAMA_INDEX:
                item.add_marker(pytest.mark.filterwarnings(warning))
