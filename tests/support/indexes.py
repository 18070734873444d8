"""Indexes filled from folders, and one that counts what it is asked and can be out of reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from skillcue import SkillCue
from skillcue.indexed import Indexed, publish
from skillcue_adapters.indexed import MemoryIndex
from skillcue_hooks.errors import IndexUnavailableError
from skillcue_hooks.skill_index import SkillIndex
from skillcue_hooks.testing import FakeEncoder

METHODS = (
    "apply",
    "candidates",
    "fetch",
    "files",
    "frequencies",
    "iterate",
    "named",
    "page",
    "read_file",
    "read_text",
    "revision",
    "sample",
    "statistics",
)
WALKS = ("iterate",)
"""What reads a whole index."""


class WatchedIndex(MemoryIndex):
    """Counts calls by method; while `down`, every call finds it out of reach."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()
        self.down = False

    def note(self, name: str) -> None:
        self.calls[name] += 1
        if self.down:
            raise IndexUnavailableError("The index at db.example cannot be reached.", "Start it.")


def _watched(name: str) -> Callable[..., Any]:
    own = getattr(MemoryIndex, name)

    def call(self: WatchedIndex, *args: Any, **kwargs: Any) -> Any:
        self.note(name)
        return own(self, *args, **kwargs)

    return call


for _name in METHODS:
    setattr(WatchedIndex, _name, _watched(_name))


def put(folder: Path, index: SkillIndex, tenant: str = "", **more: Any) -> Any:
    """Publish a folder with an encoder that costs nothing."""
    return publish(folder, index, tenant=tenant, encoder=FakeEncoder(), **more)


def over(index: SkillIndex, *tenants: str, **more: Any) -> SkillCue:
    """A `SkillCue` over some tenants, in a mode that needs no encoder."""
    return SkillCue(Indexed(index, tenants or ("",)), **{"mode": "bm25", **more})
