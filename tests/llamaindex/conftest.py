"""Fixtures of the LlamaIndex tests; without LlamaIndex they are skipped."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from support.llamaindex_warnings import allow_llamaindex_warnings

from skillcue import SkillCue

pytest.importorskip("llama_index.core")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    allow_llamaindex_warnings(items, Path(__file__).parent)


@pytest.fixture
def cue(example_skills) -> Iterator[SkillCue]:
    with SkillCue(example_skills) as cue:
        yield cue


@pytest_asyncio.fixture
async def sql_memory() -> AsyncIterator[Callable[..., Any]]:
    """Makes `Memory` objects; closes their databases, which LlamaIndex leaves to the collector."""
    from llama_index.core.memory import Memory

    made: list[Any] = []

    def make(**options: Any) -> Any:
        made.append(Memory.from_defaults(token_limit=100_000, **options))
        return made[-1]

    yield make
    for memory in made:
        engine = memory.sql_store._async_engine
        if engine is not None:
            await engine.dispose()


@pytest.fixture(params=["buffer", "memory"])
def make_memory(
    request: pytest.FixtureRequest, sql_memory: Callable[..., Any]
) -> Callable[[], Any]:
    """Makes empty memories of one kind."""
    from llama_index.core.memory import ChatMemoryBuffer

    if request.param == "memory":
        return sql_memory
    return lambda: ChatMemoryBuffer.from_defaults(token_limit=100_000)
