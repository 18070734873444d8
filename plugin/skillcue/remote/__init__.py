"""Sources of skills that lie elsewhere: git repositories, archives, databases, MCP servers."""

from __future__ import annotations

from skillcue.remote.archive import ArchiveSource
from skillcue.remote.database import DatabaseSource, SqliteSource
from skillcue.remote.git import GitSource
from skillcue.remote.limits import FetchLimits
from skillcue.remote.mcp import McpSource
from skillcue.remote.mirror import MirroredSource, MirrorOptions

__all__ = [
    "ArchiveSource",
    "DatabaseSource",
    "FetchLimits",
    "GitSource",
    "McpSource",
    "MirrorOptions",
    "MirroredSource",
    "SqliteSource",
]
