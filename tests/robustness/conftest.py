"""A library whose skills a test may change, and how a new process is started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.conversations import write_garden

# Warnings that LlamaIndex raises about itself whenever an agent is built or runs.
_FROM_LLAMA_INDEX = (
    "ignore::pydantic.warnings.PydanticDeprecationWarning",
    "ignore:Skipping serialization of known unserializable key",
    "ignore:ServiceManager is deprecated:DeprecationWarning",
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
def garden(tmp_path: Path) -> Path:
    """Eight skills that a test may change."""
    return write_garden(tmp_path / "garden")


@pytest.fixture
def new_process() -> Callable[..., Any]:
    """Runs a program in a process of its own; what it prints last is JSON."""

    def run(program: str, *arguments: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program, *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run
