"""What is said about a library and its lock file."""

from __future__ import annotations

from collections.abc import Mapping

from skillcue.library.code import Code

__all__ = ["LOCK_CODES"]

_WRITE = "Look at what changed; if it is right, write the lock file again with `skillcue lock`."
_BACK = "Bring the old files back, or, if the change is right, run `skillcue lock` again."

LOCK_CODES: Mapping[str, Code] = {
    "lock-changed": Code("warning", "The skill is not as the lock file has it.", _WRITE),
    "lock-missing": Code(
        "warning", "The lock file names a skill that is not in the library.", _WRITE
    ),
    "lock-unknown": Code("warning", "The lock file does not name the skill.", _WRITE),
    "frozen-changed": Code(
        "error", "The skill is not as the lock file has it; a frozen library leaves it out.", _BACK
    ),
    "frozen-missing": Code(
        "error", "The lock file of a frozen library names a skill that is not there.", _BACK
    ),
    "frozen-unknown": Code(
        "error", "The lock file does not name the skill; a frozen library leaves it out.", _BACK
    ),
}
"""Code to what it stands for."""
