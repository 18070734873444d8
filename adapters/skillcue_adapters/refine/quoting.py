"""What a skill says, as data for a model: cleaned, escaped, every line of a body marked.

A body keeps its characters, angle brackets included, since code is to be copied from it. The mark
in front of each line is what keeps any of them from reading like the end of the quotation, another
speaker or a command.
"""

from __future__ import annotations

import unicodedata

__all__ = ["one_line", "plain_text", "quoted"]

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


def plain_text(text: str) -> str:
    """`text` without characters that a reader cannot see; ``\\n`` and tabs stay."""
    text = text.replace("\r\n", "\n")
    if text.isascii() and text.isprintable():
        return text
    return "".join(char for char in text if char in "\n\t" or _is_visible(char))


def one_line(text: str, limit: int | None = None) -> str:
    """`text` on one line without markup, at most `limit` characters of it."""
    line = " ".join(plain_text(text).split())
    if limit is not None and len(line) > limit:
        line = line[: limit - 3].rstrip() + "..."
    return line.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def quoted(text: str) -> str:
    """`text` with a mark in front of every line."""
    lines = plain_text(text).replace("\u2028", "\n").replace("\u2029", "\n").split("\n")
    return "\n".join(f"| {line}".rstrip() for line in lines)


def _is_visible(char: str) -> bool:
    """Neither hidden nor a variation selector, runs of which can carry bytes."""
    code = ord(char)
    selector = 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF
    return not selector and unicodedata.category(char) not in _HIDDEN
