"""Text of a SKILL.md file to header fields and body, whatever state its front matter is in."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from skillcue.library.characters import clean, code_points
from skillcue.library.decoding import Decoded, decode
from skillcue.library.fences import Block, find_block, key_line, open_end, prose_start
from skillcue.library.frontmatter import HeaderError, HeaderMap, load_map
from skillcue.library.limits import ReadLimits
from skillcue.library.notes import Notes
from skillcue.library.repair import repair

__all__ = ["Document", "read_document"]

_NOT_TEXT_SHARE = 0.25
"""Share of unreadable characters above which a file is not taken for text."""
_NOT_TEXT_COUNT = 8
"""As many unreadable characters are forgiven in a file of any size."""
_LONG_RULE = re.compile(r"-{4,}[ \t]*(?:\n|$)")
_BLANK_OR_COMMENT = re.compile(r"^[ \t]*(?:#.*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Document:
    """One file, taken apart.

    Attributes:
        header: Fields of the front matter; none when there is no usable one.
        header_line: Line of the file on which the header begins, from 1.
        body: Without blank lines at either end.
        content_hash: sha256 (hex) of the decoded text with ``\\n`` line ends.
    """

    header: HeaderMap
    header_line: int
    body: str
    content_hash: str


def read_document(
    data: bytes, limits: ReadLimits, notes: Notes, size: int | None
) -> Document | None:
    """The header fields and the body of a SKILL.md file; None where it is not text.

    Args:
        data: What was read of the file.
        limits: Bounds; more than ``limits.file_bytes`` is cut off and noted.
        notes: Takes everything that is not clean.
        size: Size of the whole file in bytes, None where it is not known.
    """
    total = max(len(data), size or 0)
    complete = total <= limits.file_bytes
    if not complete:
        data = data[: limits.file_bytes]
        notes.add("file-too-large", f"{limits.file_bytes} of {total} bytes were read.")
    decoded = decode(data, complete)
    cleaned = clean(decoded.text)
    count = decoded.replaced + cleaned.removed
    if count > max(_NOT_TEXT_COUNT, _NOT_TEXT_SHARE * len(decoded.text)):
        where = "" if decoded.bad_offset is None else f"; first at byte {decoded.bad_offset}"
        notes.add("not-text", f"{count} of {len(decoded.text)} characters are unreadable{where}.")
        return None
    _note_encoding(decoded, notes)
    if cleaned.control:
        message = f"Left out {code_points(cleaned.control)}."
        notes.add("control-characters", message, cleaned.control_line)
    if cleaned.invisible:
        message = f"Left out {code_points(cleaned.invisible)}."
        notes.add("invisible-characters", message, cleaned.invisible_line)
    header, header_line, body = _split(cleaned.text, limits, notes)
    digest = hashlib.sha256(decoded.text.encode("utf-8")).hexdigest()
    return Document(header, header_line, body, digest)


def _note_encoding(decoded: Decoded, notes: Notes) -> None:
    if decoded.encoding != "utf-8":
        notes.add("encoding-utf16", f"The file is {decoded.encoding.upper()}.", 1)
    if decoded.bad_offset is not None:
        notes.add(
            "encoding-invalid",
            f"Byte {decoded.bad_offset} is not valid {decoded.encoding.upper()} "
            f"({decoded.replaced} such places).",
            decoded.bad_line,
        )


def _split(text: str, limits: ReadLimits, notes: Notes) -> tuple[HeaderMap, int, str]:
    """Header fields, line on which the header begins, and body."""
    block = find_block(text)
    if block is None:
        notes.add("header-missing", "The first line is not ---.", 1)
        return HeaderMap(), 1, _trim(text)
    line = _line_at(text, block.start)
    if not block.closed:
        end = open_end(text[block.start :])
        if end is None:
            notes.add("header-missing", "No 'key: value' line follows the --- line.", line - 1)
            return HeaderMap(), 1, _trim(text)
        return _open_header(text, block, block.start + end, limits, notes)
    _note_fences(text, block, notes)
    header = text[block.start : block.end]
    if not _BLANK_OR_COMMENT.sub("", header).strip():
        notes.add("header-empty", "The two --- lines enclose nothing.", line)
        return HeaderMap(), line, _trim(text[block.rest :])
    try:
        if len(header) > limits.header_chars:
            raise HeaderError(
                f"{len(header)} characters, header_chars is {limits.header_chars}",
                1,
                too_large=True,
            )
        loaded = load_map(header, limits)
    except HeaderError as error:
        return _broken_header(text, block, error, limits, notes)
    _report(loaded, line, notes)
    return loaded, line, _trim(text[block.rest :])


def _broken_header(
    text: str, block: Block, error: HeaderError, limits: ReadLimits, notes: Notes
) -> tuple[HeaderMap, int, str]:
    line = _line_at(text, block.start)
    header = text[block.start : block.end]
    if not any(key_line(item) for item in header.split("\n")):
        if header.lstrip().startswith(("- ", "[")):
            notes.add("header-not-a-map", f"{error.reason}.", line + error.line - 1)
            return HeaderMap(), line, _trim(text[block.rest :])
        notes.add("header-missing", "The --- lines enclose prose, which is kept as body.", line)
        return HeaderMap(), line, _trim(header + text[block.rest :])
    prose = prose_start(header)
    if prose is not None:
        return _open_header(text, block, block.start + prose, limits, notes)
    if error.too_large:
        notes.add("header-too-large", f"{error.reason}.", line + error.line - 1)
    loaded = repair(header[: limits.header_chars], limits)
    _report(loaded, line, notes)
    return loaded, line, _trim(text[block.rest :])


def _open_header(
    text: str, block: Block, end: int, limits: ReadLimits, notes: Notes
) -> tuple[HeaderMap, int, str]:
    """Read a header that ends at offset `end`, where no fence is."""
    line = _line_at(text, block.start)
    last = text.count("\n", 0, end)
    notes.add("header-unterminated", f"Opened here; read up to line {last}.", line - 1)
    header = text[block.start : end][: limits.header_chars]
    try:
        loaded = load_map(header, limits)
    except HeaderError:
        loaded = repair(header, limits)
    _report(loaded, line, notes)
    return loaded, line, _trim(_LONG_RULE.sub("", text[end:], count=1))


def _note_fences(text: str, block: Block, notes: Notes) -> None:
    if block.fence:
        line = _line_at(text, block.fence)
        notes.add("text-before-header", f"The header begins on line {line}.", line)
    if block.blanks is not None:
        notes.add(
            "fence-trailing-blanks", "Blanks behind the hyphens.", _line_at(text, block.blanks)
        )


def _report(loaded: HeaderMap, header_line: int, notes: Notes) -> None:
    for code, message, line in loaded.findings:
        notes.add(code, message, line + header_line - 1)


def _trim(body: str) -> str:
    """Without blank lines at either end; the indentation of the first line stays."""
    return re.sub(r"\A(?:[ \t]*\n)+", "", body).rstrip()


def _line_at(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1
