"""Finds the front matter of a SKILL.md file: which lines are header, which are body.

A fence is a whole line of three hyphens. Hyphens inside a value, indented ones and longer runs
are not fences.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Block", "find_block", "key_line", "open_end", "prose_start"]

_KEY_LINE = re.compile(
    r"""(?P<key>[^\W\d][\w.-]*|"[^"\n]*"|'[^'\n]*')[ \t]*:(?:[ \t]+(?P<value>.*)|[ \t]*)"""
)
_TIGHT_LINE = re.compile(r"(?P<key>name|description):(?P<value>\S.*)")

_FENCE = re.compile(r"^---(?P<blanks>[ \t]*)$", re.MULTILINE)
_PRELUDE = re.compile(r"(?:[ \t]*\n|#[^\n]*\n|<!--(?:(?!-->)[\s\S])*-->[ \t]*\n)*")
_ESSENTIAL = re.compile(r"^(?:name|description)[ \t]*:", re.MULTILINE | re.IGNORECASE)
_HEADING = re.compile(r"#{1,6}[ \t]")
_RULE = re.compile(r"(?:-{4,}|={3,}|\*{3,}|```.*|~~~.*)[ \t]*")


@dataclass(frozen=True, slots=True)
class Block:
    """Where the header is, as offsets into the text.

    Attributes:
        fence: Start of the opening fence.
        start: Start of the header, behind the opening fence.
        end: End of the header; the end of the text when it is not closed.
        rest: Start of the body.
        closed: A closing fence was found.
        blanks: Start of the first fence that has blanks behind it, None when none has.
    """

    fence: int
    start: int
    end: int
    rest: int
    closed: bool
    blanks: int | None


def find_block(text: str) -> Block | None:
    """The header of `text`, or None when it has no front matter.

    Blank lines may stand before the opening fence; comments and headings only when what
    follows is closed and holds a name or a description, because a rule below a heading is
    ordinary Markdown.
    """
    prelude = _PRELUDE.match(text)
    opening = _FENCE.match(text, prelude.end() if prelude else 0)
    if opening is None:
        return None
    start = min(opening.end() + 1, len(text))
    closing = _FENCE.search(text, start)
    if text[: opening.start()].strip() and not (
        closing and _ESSENTIAL.search(text, start, closing.start())
    ):
        return None
    blanks = next((f.start() for f in (opening, closing) if f and f["blanks"]), None)
    if closing is None:
        return Block(opening.start(), start, len(text), len(text), False, blanks)
    rest = min(closing.end() + 1, len(text))
    return Block(opening.start(), start, closing.start(), rest, True, blanks)


def key_line(line: str) -> re.Match[str] | None:
    """Groups ``key`` and ``value`` of a top-level ``key: value`` line, None for other lines.

    The blank behind the colon may be missing after the two keys that matter most.
    """
    return _KEY_LINE.fullmatch(line) or _TIGHT_LINE.fullmatch(line)


def open_end(header: str) -> int | None:
    """Where a header without a closing fence ends: offset of its first blank line, heading or
    rule behind the first key; None when it has no key before that, so is no header."""
    position, keys = 0, False
    for line in header.split("\n"):
        if _ends_header(line) and (keys or line.strip()):
            break
        keys = keys or key_line(line) is not None
        position += len(line) + 1
    return min(position, len(header)) if keys else None


def prose_start(header: str) -> int | None:
    """Offset of the blank line or heading behind which `header` turns into prose, or None.

    For a header that is not valid YAML: its closing fence may really be a rule in the body.
    The text after a blank line or heading is prose unless it goes on with a key, an indented
    line, or a list item below a key without value.
    """
    position = 0
    cut: int | None = None
    last_key: re.Match[str] | None = None
    for line in header.split("\n"):
        if not line.strip() or line.startswith("#"):
            if cut is None and last_key:
                cut = position
        else:
            key = key_line(line)
            listed = line.startswith("- ") and last_key and not last_key["value"]
            if cut is not None and not (key or listed or line[0] in " \t"):
                return cut
            cut, last_key = None, key or last_key
        position += len(line) + 1
    return None


def _ends_header(line: str) -> bool:
    return not line.strip() or bool(_HEADING.match(line) or _RULE.fullmatch(line))
