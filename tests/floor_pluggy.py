"""The hooks with the oldest pluggy, run without pytest, which needs a newer one.

PYTHONPATH=<folder with pluggy 1.2.0> python tests/floor_pluggy.py
"""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path
from typing import Any

import pluggy

from skillcue import SkillCue
from skillcue_hooks import hookimpl
from skillcue_hooks.errors import PluginError

SKILLS = Path(__file__).resolve().parent.parent / "examples" / "skills"


class Observer:
    """Counts, and raises every time."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    @hookimpl
    def skillcue_looked_up(self, ranking: Any) -> None:
        self.seen.append(ranking)
        raise RuntimeError("observers may fail")


class Misspelt:
    @hookimpl
    def skillcue_lookedup(self, ranking: Any) -> None: ...


class Coroutine:
    @hookimpl
    async def skillcue_advised(self, advice: Any) -> None: ...


def main() -> int:
    version = importlib.metadata.version("pluggy")
    assert version.startswith("1.2."), f"this is pluggy {version}: set PYTHONPATH"
    assert Path(pluggy.__file__).parent.parent in map(Path, map(str, sys.path))
    observer = Observer()
    with SkillCue(SKILLS, plugins=[observer]) as cue:
        hits = cue.lookup("merge two pdf files").hits
        assert hits[0].skill.name == "pdf-merge-split", hits
        assert len(observer.seen) == 1
    for broken in (Misspelt(), Coroutine()):
        try:
            SkillCue(SKILLS, plugins=[broken])
        except PluginError as error:
            assert error.cure
        else:
            raise AssertionError(f"{type(broken).__name__} was accepted")
    print(f"hooks work with pluggy {version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
