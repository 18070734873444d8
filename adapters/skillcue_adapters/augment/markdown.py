"""The parts of a Markdown body that say something about a skill's use: a line scanner.

No more of Markdown is understood than headings, code fences, pipe tables and list items. Whatever
is broken reads as prose: nothing raises, and time grows with the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Fence", "Item", "Section", "Table", "plain", "sections", "sentence"]

_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*([\w+#.-]*)")
_ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,3}[.)])[ \t]+(\S.*)")
_RULE_ROW = re.compile(r"[ \t|:-]*-[ \t|:-]*")
_CELL_END = re.compile(r"(?<!\\)\|")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = re.compile(r"\*\*|__|`")
_TAG = re.compile(r"<[^<>]{0,200}>")
_STOP = re.compile(r"(?<=[.!?])\s|[\u3002\uff01\uff1f]")
_NUMBERING = re.compile(
    r"(?:step|phase|part)?[ \t]*\d{1,3}(?:\.\d{1,3})*[ \t]*[.:)\u2013\u2014-]+[ \t]*", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Fence:
    """A block of code; `language` is lower case and may be empty."""

    language: str
    code: str


@dataclass(frozen=True, slots=True)
class Table:
    """A pipe table; rows are as long as the header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a list, its continuation lines joined; `indent` in columns."""

    indent: int
    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """What stands below one heading.

    Attributes:
        level: 1 to 6; 0 for what stands before the first heading.
        title: Plain text without numbering; empty before the first heading.
        prose: Lines that are none of the following, blank ones left out.
    """

    level: int
    title: str
    prose: tuple[str, ...]
    items: tuple[Item, ...]
    fences: tuple[Fence, ...]
    tables: tuple[Table, ...]


def sections(body: str) -> tuple[Section, ...]:
    """`body` cut at its headings; hash signs inside code fences are no headings."""
    found = [_Open(0, "")]
    lines = body.split("\n")
    position = 0
    while position < len(lines):
        line = lines[position]
        fence = _FENCE.match(line)
        if fence is not None:
            position = _read_fence(found[-1], lines, position, fence)
            continue
        if heading := _HEADING.fullmatch(line):
            found.append(_Open(len(heading[1]), _title(heading[2])))
        elif "|" in line and position + 1 < len(lines) and _RULE_ROW.fullmatch(lines[position + 1]):
            position = _read_table(found[-1], lines, position)
            continue
        else:
            found[-1].take(line)
        position += 1
    return tuple(part.closed() for part in found if part.level or part.holds_something)


def plain(text: str) -> str:
    """`text` on one line, without emphasis, code marks, links and tags."""
    text = _TAG.sub(" ", _EMPHASIS.sub("", _LINK.sub(r"\1", text)))
    return " ".join(text.split())


def sentence(text: str) -> str:
    """The first sentence of `text`, plain."""
    return _STOP.split(plain(text), maxsplit=1)[0].strip()


class _Open:
    """A section while it is read."""

    def __init__(self, level: int, title: str) -> None:
        self.level, self.title = level, title
        self.prose: list[str] = []
        self.items: list[tuple[int, list[str]]] = []
        self.fences: list[Fence] = []
        self.tables: list[Table] = []
        self._in_item = False

    @property
    def holds_something(self) -> bool:
        return bool(self.prose or self.items or self.fences or self.tables)

    def take(self, line: str) -> None:
        """A line that begins nothing but perhaps a list item."""
        item = _ITEM.fullmatch(line)
        if item is not None:
            self.items.append((len(item[1].expandtabs(4)), [item[2]]))
            self._in_item = True
        elif not line.strip():
            self._in_item = False
        elif self._in_item:
            self.items[-1][1].append(line.strip())
        else:
            self.prose.append(line.strip())

    def closed(self) -> Section:
        items = tuple(Item(indent, " ".join(lines)) for indent, lines in self.items)
        return Section(
            self.level,
            self.title,
            tuple(self.prose),
            items,
            tuple(self.fences),
            tuple(self.tables),
        )


def _read_fence(section: _Open, lines: list[str], start: int, opening: re.Match[str]) -> int:
    """Take the fence that begins at `start`; the position behind it."""
    mark = opening[1]
    end = start + 1
    while end < len(lines) and not _closes(lines[end], mark):
        end += 1
    section.fences.append(Fence(opening[2].lower(), "\n".join(lines[start + 1 : end])))
    return end + 1


def _closes(line: str, mark: str) -> bool:
    found = line.strip()
    return len(found) >= len(mark) and not found.strip(mark[0])


def _read_table(section: _Open, lines: list[str], start: int) -> int:
    header = _cells(lines[start])
    end = start + 2
    rows = []
    while end < len(lines) and "|" in lines[end]:
        row = _cells(lines[end])[: len(header)]
        rows.append((*row, *[""] * (len(header) - len(row))))
        end += 1
    section.tables.append(Table(header, tuple(rows)))
    return end


def _cells(line: str) -> tuple[str, ...]:
    inner = line.strip().removeprefix("|")
    cells = [cell.strip().replace("\\|", "|") for cell in _CELL_END.split(inner)]
    if cells and not cells[-1]:
        cells.pop()
    return tuple(cells)


def _title(text: str) -> str:
    numbering = _NUMBERING.match(text)
    return plain(text[numbering.end() if numbering else 0 :].rstrip("# \t"))
