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
from support.llamaindex_warnings import allow_llamaindex_warnings


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    allow_llamaindex_warnings(items, Path(__file__).parent)


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
