"""Pinning: a lock file says what every skill was, and a frozen library serves nothing else."""

from __future__ import annotations

from skillcue.locking.lock_file import Lock, LockedFile, LockedSkill, read_lock, write_lock
from skillcue.locking.measure import measured_library, measured_skill
from skillcue.locking.source import LockedSource, locked_sources

__all__ = [
    "Lock",
    "LockedFile",
    "LockedSkill",
    "LockedSource",
    "locked_sources",
    "measured_library",
    "measured_skill",
    "read_lock",
    "write_lock",
]
