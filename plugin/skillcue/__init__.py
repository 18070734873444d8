"""The right Agent Skill at the right turn: pull tools and a push advisor over one library."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from skillcue.mode import skill_mode

if TYPE_CHECKING:
    from skillcue.caches import SharedCache
    from skillcue.facade import SkillCue
    from skillcue.library.limits import ReadLimits
    from skillcue.library.source import FolderSource, StaticSource
    from skillcue.push.gate import GateSettings
    from skillcue.push.judge import JudgeSettings
    from skillcue.push.settings import PushSettings

__all__ = [
    "FolderSource",
    "GateSettings",
    "JudgeSettings",
    "PushSettings",
    "ReadLimits",
    "SharedCache",
    "SkillCue",
    "StaticSource",
    "__version__",
    "skill_mode",
]

__version__ = "0.1.0"

_LAZY = {
    "FolderSource": "skillcue.library.source",
    "GateSettings": "skillcue.push.gate",
    "JudgeSettings": "skillcue.push.judge",
    "PushSettings": "skillcue.push.settings",
    "ReadLimits": "skillcue.library.limits",
    "SharedCache": "skillcue.caches",
    "SkillCue": "skillcue.facade",
    "StaticSource": "skillcue.library.source",
}


def __getattr__(name: str) -> Any:
    """Import on first use: `import skillcue` itself must stay cheap."""
    if name not in _LAZY:
        raise AttributeError(f"module 'skillcue' has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
