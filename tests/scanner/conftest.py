"""Everything here needs the scanner; without it, as in ``make test``, it is skipped."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = importlib.util.find_spec("skill_scanner") is None
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("scanner")
            item.add_marker(pytest.mark.filterwarnings("ignore"))  # its dependencies warn
            if missing:
                item.add_marker(
                    pytest.mark.skip(reason="cisco-ai-skill-scanner: make test-scanner")
                )
