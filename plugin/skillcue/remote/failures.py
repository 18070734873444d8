"""Why a fetch came to nothing; each becomes a diagnostic of the library."""

from __future__ import annotations

from skillcue_hooks.errors import SkillcueError

__all__ = ["RefusedError", "SourceFetchError", "UnreachableError"]


class SourceFetchError(SkillcueError):
    """A fetch failed; what was fetched before stays.

    Attributes:
        code: The diagnostic it becomes.
    """

    code = "source-unreachable"


class UnreachableError(SourceFetchError):
    """The place does not answer, or not in time."""


class RefusedError(SourceFetchError):
    """What came is unsafe, too large, or not what was pinned."""

    code = "source-refused"
