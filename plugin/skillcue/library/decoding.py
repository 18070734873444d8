"""Bytes to text: byte-order marks, line ends and bytes that do not fit."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

__all__ = ["Decoded", "decode"]

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class Decoded:
    """What the bytes say.

    Attributes:
        text: Without byte-order mark, with ``\\n`` for every line end.
        encoding: Python's name of the encoding.
        bad_offset: Offset of the first byte that does not fit the encoding, from 0; None when
            all of them do. Each such place is U+FFFD in `text`.
        bad_line: Line it stands on, from 1; None as above.
        replaced: Number of such places.
    """

    text: str
    encoding: str = "utf-8"
    bad_offset: int | None = None
    bad_line: int | None = None
    replaced: int = 0


def decode(data: bytes, complete: bool = True) -> Decoded:
    """Decode by byte-order mark, else as UTF-8; never raises and never guesses a code page.

    Args:
        data: The file, or its beginning.
        complete: False when the file goes on behind `data`: a character cut by that end is
            left out instead of being reported.
    """
    mark, encoding = next((pair for pair in _MARKS if data.startswith(pair[0])), (b"", "utf-8"))
    try:
        text = _decode(data[len(mark) :], encoding, "strict", complete)
        return Decoded(_line_feeds(text), encoding)
    except UnicodeDecodeError as error:
        text = _decode(data[len(mark) :], encoding, "replace", complete)
        replaced = text.count("\ufffd") - data.count("\ufffd".encode(encoding))
        before = _line_feeds(data[len(mark) :][: error.start].decode(encoding, "replace"))
        return Decoded(
            _line_feeds(text),
            encoding,
            error.start + len(mark),
            before.count("\n") + 1,
            max(replaced, 1),
        )


def _decode(data: bytes, encoding: str, errors: str, complete: bool) -> str:
    if complete:
        return data.decode(encoding, errors)
    return codecs.getincrementaldecoder(encoding)(errors).decode(data, final=False)


def _line_feeds(text: str) -> str:
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n")
