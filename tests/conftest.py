"""Fixtures shared by all tests."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(Path(__file__).resolve().parent))  # `from support...` in tests

from support.postgres import postgres_schema, postgres_url, tell_skipped

__all__ = ["postgres_schema", "postgres_url"]

settings.register_profile("untimed", deadline=None)  # a busy machine is no failure
settings.load_profile("untimed")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    tell_skipped(terminalreporter)


@pytest.fixture(scope="session")
def example_skills() -> Path:
    """The example library, read-only."""
    return ROOT / "examples" / "skills"


@pytest.fixture
def skills_copy(tmp_path: Path, example_skills: Path) -> Path:
    """A copy of the example library that a test may change."""
    return Path(shutil.copytree(example_skills, tmp_path / "skills"))


def write_skill(
    folder: Path, name: str, description: str, body: str = "# Steps\n\nDo it.\n"
) -> Path:
    """Write a plain SKILL.md below `folder`; gives its path."""
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nname: {name}\ndescription: {description}\n---\n\n{body}", "utf-8")
    return path
