"""Processes for tests of the index."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def python(tmp_path: Path) -> Callable[[str], subprocess.Popen[str]]:
    """Starts a process that runs a script, which can import these tests and `support`."""

    def start(script: str) -> subprocess.Popen[str]:
        here = Path(__file__).parent
        path = [str(here), str(here.parent)]
        return subprocess.Popen(
            [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}\n{script}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env=dict(os.environ),
        )

    return start
