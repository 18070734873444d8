"""Libraries that are not in memory: what an index stores, one in this process, and the modes over
any index.

See `skillcue_hooks.skill_index` for the role.
"""

from __future__ import annotations

from skillcue_adapters.indexed.memory import MemoryIndex
from skillcue_adapters.indexed.prepare import Unprepared, prepare

__all__ = ["MemoryIndex", "Unprepared", "prepare"]
