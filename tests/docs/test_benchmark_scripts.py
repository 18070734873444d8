"""The benchmarks that the documents name can be started: nothing else runs them between releases."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1] / "bench"

IMPORT_ALL = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]:
    importlib.import_module(name)
"""


def test_every_script_can_be_imported() -> None:
    names = sorted(path.stem for path in BENCH.glob("*.py"))
    assert "bench_scale" in names
    command = [sys.executable, "-c", IMPORT_ALL, str(BENCH), *names]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=BENCH.parents[1])
    assert run.returncode == 0, run.stderr
