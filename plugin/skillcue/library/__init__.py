"""The skill library: SKILL.md files in, immutable snapshots out, everything odd reported."""

from __future__ import annotations

from skillcue.library.codes import CODES, Code, diagnostic
from skillcue.library.files import FileListing, list_files, read_file_text, resolve_file
from skillcue.library.limits import DEFAULT_LIMITS, ReadLimits
from skillcue.library.live import LiveLibrary, Recheck, RecheckSettings
from skillcue.library.reader import Origin, ReadResult, read_body, read_skill
from skillcue.library.snapshot import LibrarySnapshot, build_snapshot
from skillcue.library.source import FolderSource, StaticSource
from skillcue.library.walker import Found, WalkResult, walk

__all__ = [
    "CODES",
    "DEFAULT_LIMITS",
    "Code",
    "FileListing",
    "FolderSource",
    "Found",
    "LibrarySnapshot",
    "LiveLibrary",
    "Origin",
    "ReadLimits",
    "ReadResult",
    "Recheck",
    "RecheckSettings",
    "StaticSource",
    "WalkResult",
    "build_snapshot",
    "diagnostic",
    "list_files",
    "read_body",
    "read_file_text",
    "read_skill",
    "resolve_file",
    "walk",
]
