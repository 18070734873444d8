"""What comes next: which skill follows which, learned from use and read from skill files."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillcue.successors.held_out import Evidence
    from skillcue.successors.settings import NextSettings
    from skillcue.successors.suggestions import NextSkill

__all__ = ["Evidence", "NextSettings", "NextSkill"]

_LAZY = {
    "Evidence": "skillcue.successors.held_out",
    "NextSettings": "skillcue.successors.settings",
    "NextSkill": "skillcue.successors.suggestions",
}


def __getattr__(name: str) -> Any:
    """Import on first use: settings need nothing of what learns."""
    if name not in _LAZY:
        raise AttributeError(f"module 'skillcue.successors' has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
