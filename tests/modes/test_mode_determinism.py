"""Equal input, equal bits: in any process, with any hash seed, thread count and order.

The library is large enough for BLAS to use several threads and to cut its products differently.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("dump_rankings.py")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@cache
def dump(order: str, seed: str, threads: str) -> str:
    """Every score and signal of every mode, as exact hexadecimal numbers."""
    settings: Mapping[str, str] = {"PYTHONHASHSEED": seed, **dict.fromkeys(THREADS, threads)}
    done = subprocess.run(
        [sys.executable, os.fspath(SCRIPT), order],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") > 1000
    return done.stdout


@pytest.mark.parametrize("seed", ["1", "4294967295"])
def test_hash_seeds_change_nothing(seed: str) -> None:
    assert dump("given", seed, "1") == dump("given", "0", "1")


def test_threads_change_nothing() -> None:
    assert dump("given", "0", "2") == dump("given", "0", "1")


@pytest.mark.parametrize("order", ["reversed", "grown"])
def test_the_order_of_arrival_changes_nothing(order: str) -> None:
    assert dump(order, "0", "1") == dump("given", "0", "1")
