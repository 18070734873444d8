"""Fixtures of the MCP tests; without the SDK they are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.llamaindex_warnings import allow_llamaindex_warnings
from support.mcp_clients import Served, serving

from skillcue import SkillCue

pytest.importorskip("mcp.server.mcpserver")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    allow_llamaindex_warnings(items, Path(__file__).parent)


@pytest.fixture
def cue(example_skills: Path) -> Iterator[SkillCue]:
    with SkillCue(example_skills, mode="bm25") as cue:
        yield cue


@pytest.fixture(scope="module")
def served(example_skills: Path) -> Iterator[Served]:
    """``skillcue serve --transport http`` as a process, on a free port, for tests that let it run."""
    with serving("--skills", example_skills, "--mode", "bm25") as served:
        yield served
