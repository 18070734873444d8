"""The demonstration: a conversation played by a real agent in real frameworks."""

from __future__ import annotations

__all__: list[str] = []
