"""Fixtures of the LlamaIndex tests; without LlamaIndex they are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from skillcue import SkillCue

pytest.importorskip("llama_index.core")

# Warnings that LlamaIndex raises about itself whenever an agent is built or runs.
_FROM_LLAMA_INDEX = (
    "ignore::pydantic.warnings.PydanticDeprecationWarning",
    "ignore:is_running called from within a step:DeprecationWarning",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests here fail on any warning but those."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            for warning in _FROM_LLAMA_INDEX:
                item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture
def cue(example_skills) -> Iterator[SkillCue]:
    with SkillCue(example_skills) as cue:
        yield cue
