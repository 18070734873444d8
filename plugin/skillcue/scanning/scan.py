"""All rules over one text."""

from __future__ import annotations

from collections.abc import Iterable

from skillcue.scanning.commands import commands, encoded, secrets
from skillcue.scanning.comments import comments
from skillcue.scanning.hidden import hidden
from skillcue.scanning.links import links, paths
from skillcue.scanning.lookalikes import mixed_words
from skillcue.scanning.phrases import orders
from skillcue.scanning.speakers import speakers
from skillcue.scanning.text import Found, Rule, ScannedText
from skillcue.scanning.uploads import uploads

__all__ = ["EACH_CODE", "RULES", "scan_name", "scan_text"]

RULES: tuple[Rule, ...] = (
    orders, speakers, hidden, links, paths, commands, encoded, secrets, uploads,
    comments,
)  # fmt: skip
"""In the order in which they are applied."""
EACH_CODE = 6
"""Findings of one code that are kept of one text; what follows is of the same kind."""


def scan_text(text: str) -> tuple[Found, ...]:
    """What is suspicious in `text`, by line and code, each code once a line and `EACH_CODE` times.

    Args:
        text: A whole skill file, hidden characters included.
    """
    shown = ScannedText(text)
    kept: dict[str, dict[int, Found]] = {}
    for rule in RULES:
        for item in rule(shown):
            lines = kept.setdefault(item.code, {})
            if len(lines) < EACH_CODE:
                lines.setdefault(item.line, item)
    found = [item for lines in kept.values() for item in lines.values()]
    return tuple(sorted(found, key=lambda item: (item.line, item.code)))


def scan_name(names: Iterable[str]) -> tuple[Found, ...]:
    """Names that pass for others by letters of another alphabet."""
    words = [word for name in names for word in mixed_words(name)]
    return tuple(Found("scan-name-lookalike", 1, word) for word in dict.fromkeys(words))
