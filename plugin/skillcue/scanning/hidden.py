"""Characters that nobody sees and a model reads, and those that turn text around.

Tag characters and variation selectors carry whole sentences ("ASCII smuggling"); direction
overrides show other text than the file holds (Boucher and Anderson 2021, "Trojan Source",
arXiv:2111.00169).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skillcue.scanning.text import Found, ScannedText

__all__ = ["hidden"]

_FLAG = "\U0001f3f4"
_FLAG_CHARS = 8
"""Longest flag of a region, such as that of Scotland: a black flag and tags behind it."""
_SMUGGLED = re.compile(
    f"{_FLAG}?[\U000e0020-\U000e007f]{{2,}}"
    "|[\ufe00-\ufe0f]{3,}|[\U000e0100-\U000e01ef]{3,}"
    "|[\u200b\u200c\u200d\u2060-\u2064\ufeff]{8,}"
)
_OVERRIDES = re.compile("[\u202d\u202e]")
_DIRECTIONS = re.compile("[\u202a-\u202c\u2066-\u2069]")
_SHOWN = 60


def hidden(text: ScannedText) -> Iterator[Found]:
    """Hidden text, and controls of writing direction."""
    if not text.marked:
        return
    for match in _SMUGGLED.finditer(text.raw):
        if match[0].startswith(_FLAG) and len(match[0]) <= _FLAG_CHARS:
            continue
        yield text.found("scan-hidden-text", match, _decoded(match[0].removeprefix(_FLAG)))
    for match in _OVERRIDES.finditer(text.raw):
        yield text.found("scan-bidi-override", match, f"U+{ord(match[0]):04X}")
    for match in _DIRECTIONS.finditer(text.raw):
        yield text.found("scan-bidi", match, f"U+{ord(match[0]):04X}")


def _decoded(run: str) -> str:
    """What tag characters spell, else how many characters there are."""
    spelled = "".join(chr(ord(char) - 0xE0000) for char in run[:_SHOWN] if ord(char) >= 0xE0020)
    if "\U000e0020" <= run[0] <= "\U000e007e":
        return f"{len(run)} characters that spell {spelled!r}"
    return f"{len(run)} characters"
