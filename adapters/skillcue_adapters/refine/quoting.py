"""What a skill says, as data for a model: cleaned, escaped, every line of a body marked.

A body keeps its characters, angle brackets included, since code is to be copied from it. The mark
in front of each line is what keeps any of them from reading like the end of the quotation, another
speaker or a command.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["escaped", "one_line", "plain_line", "plain_text", "quoted"]

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})

_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters, marks and a sign that no font draws: fillers, joiners, inherent vowels, empty Braille."""

_LINE_ENDS = re.compile("\r\n?|[\u0085\u2028\u2029]")


def plain_text(text: str) -> str:
    """`text` without characters that a reader cannot see; ``\\n``, which ends all lines, and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    text = _LINE_ENDS.sub("\n", text)
    return "".join(char for char in text if char in "\n\t" or _is_visible(char))


def plain_line(text: str, limit: int | None = None) -> str:
    """`text` on one line, for people: at most `limit` characters of it."""
    line = " ".join(plain_text(text).split())
    if limit is not None and len(line) > limit:
        line = line[: limit - 3].rstrip() + "..."
    return line


def escaped(line: str) -> str:
    """`line` without markup, for a model."""
    return line.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def one_line(text: str, limit: int | None = None) -> str:
    """`text` on one line without markup, for a model: at most `limit` characters of it."""
    return escaped(plain_line(text, limit))


def quoted(text: str) -> str:
    """`text` with a mark in front of every line."""
    return "\n".join(f"| {line}".rstrip() for line in plain_text(text).split("\n"))


def _is_visible(char: str) -> bool:
    """Neither hidden nor blank nor a variation selector, runs of which can carry bytes."""
    code = ord(char)
    selector = 0xFE00 <= code <= 0xFE0F or 0x180B <= code <= 0x180F or 0xE0100 <= code <= 0xE01EF
    return not selector and char not in _BLANK and unicodedata.category(char) not in _HIDDEN
