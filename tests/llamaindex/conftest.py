"""Fixtures of the LlamaIndex tests; without LlamaIndex they are skipped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from skillcue import SkillCue

pytest.importorskip("llama_index.core")


@pytest.fixture
def cue(example_skills) -> Iterator[SkillCue]:
    with SkillCue(example_skills) as cue:
        yield cue
