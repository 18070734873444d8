"""Fixtures that write real skill folders."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from skillcue.library.reader import Origin, ReadResult, read_skill

BODY = "\n# Steps\n\nBoil the water.\n"


@pytest.fixture
def skill_text() -> Callable[..., str]:
    """Text of a clean file: ``skill_text(name, description, body)``."""

    def make(name: str, description: str = "Brew a pot of tea.", body: str = BODY) -> str:
        return f"---\nname: {name}\ndescription: {description}\n---\n{body}"

    return make


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., Path]:
    """Write one file below ``tmp_path``, folders included: ``put("a/SKILL.md", text)``."""

    def write(relative: str, content: str | bytes, root: Path = tmp_path) -> Path:
        path = root / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def settle() -> Callable[[], None]:
    """Wait until files written so far are old enough to be trusted by their times."""

    def wait() -> None:
        time.sleep(0.15)

    return wait


@pytest.fixture
def read() -> Callable[..., ReadResult]:
    """Read a file's content as if it lay in ``tea/SKILL.md``; further arguments as the reader's."""

    def run(content: str | bytes, folder: str = "tea", **options: object) -> ReadResult:
        data = content.encode("utf-8") if isinstance(content, str) else content
        origin = Origin(Path(f"/skills/{folder}/SKILL.md"), folder, folder, "skills")
        return read_skill(data, origin, **options)  # type: ignore[arg-type]

    return run
