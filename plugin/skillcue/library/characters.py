"""Takes out characters that a reader of the text cannot see.

Unicode tag characters, direction overrides and zero-width characters can carry text that a
person who reviews the file does not see and a model does; control characters break terminals,
databases and JSON consumers.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

__all__ = ["Cleaned", "clean", "code_points", "nfc"]

_BREAKS = "\x0b-\x0d\x1c-\x1e\x85\u2028\u2029"
"""Separators that YAML or Python take for line ends and editors mostly do not."""
_CONTROL = "\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff"
_FORMAT = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_VISIBLE = f"[^\x00-\x7f\u200c\u200d{_FORMAT}]"
_JOINER = f"(?<!{_VISIBLE})[\u200c\u200d]|[\u200c\u200d](?!{_VISIBLE})"
"""Joiners belong to emoji and to Persian or Indic words: kept between two such characters."""
_SELECTORS = "(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]+"
"""One variation selector picks a glyph; a run of them is a known way to smuggle bytes."""

_BREAK_RE = re.compile(f"[{_BREAKS}]")
_CONTROL_RE = re.compile(f"[{_CONTROL}{_BREAKS}]")
_INVISIBLE_RE = re.compile(f"[{_FORMAT}]|{_JOINER}|{_SELECTORS}")
_ASCII_CONTROL = bytes(code for code in (*range(0x20), 0x7F) if code not in (0x09, 0x0A))


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Text without hidden characters.

    Attributes:
        text: What is left; line breaks (``\\n``) are where they were.
        control: Control characters that were taken out, in order of first appearance.
        invisible: The same for zero-width, direction and tag characters.
        control_line: Line of the first control character, from 1; None if there was none.
        invisible_line: The same for invisible characters.
        removed: Number of control characters taken out.
    """

    text: str
    control: tuple[str, ...] = ()
    invisible: tuple[str, ...] = ()
    control_line: int | None = None
    invisible_line: int | None = None
    removed: int = 0


def clean(text: str) -> Cleaned:
    """Take control and invisible characters out of `text`; tabs and ``\\n`` stay."""
    if text.isascii():
        raw = text.encode("ascii")
        if len(raw.translate(None, _ASCII_CONTROL)) == len(raw):
            return Cleaned(text)
    control = _CONTROL_RE.findall(text)
    control_line = _line_of(_CONTROL_RE, text) if control else None
    if control:
        text = _CONTROL_RE.sub("", _BREAK_RE.sub(" ", text))
    invisible = [char for run in _INVISIBLE_RE.findall(text) for char in run]
    invisible_line = _line_of(_INVISIBLE_RE, text) if invisible else None
    if invisible:
        text = _INVISIBLE_RE.sub("", text)
    return Cleaned(
        text,
        tuple(dict.fromkeys(control)),
        tuple(dict.fromkeys(invisible)),
        control_line,
        invisible_line,
        len(control),
    )


def code_points(characters: tuple[str, ...], limit: int = 8) -> str:
    """``U+200B, U+202E`` for a message; at most `limit` of them, with the number of others."""
    shown = ", ".join(f"U+{ord(char):04X}" for char in characters[:limit])
    more = len(characters) - limit
    return f"{shown} and {more} more" if more > 0 else shown


def nfc(text: str) -> str:
    """Unicode normalisation form C, so that equal words compare equal however they were typed."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _line_of(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else None
