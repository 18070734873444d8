"""Collects what is not clean about one file while it is read."""

from __future__ import annotations

from pathlib import Path

from skillcue.library.codes import diagnostic
from skillcue_hooks.contracts import Diagnostic

__all__ = ["Notes"]


class Notes:
    """Diagnostics of one file, in the order they were found.

    Args:
        path: The file they are about.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._items: list[Diagnostic] = []

    def add(self, code: str, message: str, line: int | None = None) -> None:
        """Note one finding; `line` counts from 1."""
        self._items.append(diagnostic(code, self.path, message, line))

    @property
    def items(self) -> tuple[Diagnostic, ...]:
        return tuple(self._items)
