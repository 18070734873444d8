"""The commands of the ``skillcue`` command line, one module each; `skillcue.cli` is the door."""

from __future__ import annotations

__all__: list[str] = []
