"""Long texts in pieces: bodies as chunks to index, long queries as sentences to ask with."""

from __future__ import annotations

import re

__all__ = ["chunks", "sentences"]

MIN_SENTENCE_CHARS = 15
"""Shorter pieces ("Steps:", "OK.") say nothing of their own."""

# A blank line, or the start of a Markdown heading.
_BLOCK = re.compile(r"\n[ \t]*\n|\n(?=#{1,6}[ \t])")
_HEADING = re.compile(r"#{1,6}[ \t]")
# A line break, or the blank behind a full stop; CJK stops have no blank behind them.
_SENTENCE = re.compile(r"\n+|(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])")
_WORD = re.compile(r"[^\W\d_]{3}")


def chunks(body: str, size: int) -> list[str]:
    """`body` cut at headings and blank lines into pieces of up to `size` characters.

    Neighbouring blocks share a piece as long as they fit; a heading begins a new one unless the
    present one is less than half full. Blocks that are longer are cut between words.

    Args:
        body: Markdown; nothing else is taken from its syntax than headings and blank lines.
        size: Characters, 1 or more.
    """
    found: list[str] = []
    current = ""
    for block in filter(None, (part.strip() for part in _BLOCK.split(body))):
        full = len(current) + 1 + len(block) > size
        starts_anew = _HEADING.match(block) is not None and 2 * len(current) > size
        if current and (full or starts_anew):
            found.append(current)
            current = ""
        current = f"{current}\n{block}" if current else block
        while len(current) > size:
            piece, current = _cut(current, size)
            found.append(piece)
    return [*found, current] if current else found


def sentences(text: str, most: int) -> list[str]:
    """Sentences and lines of `text` that hold a word, each once, in their order.

    Args:
        text: Prose, lists or both.
        most: At most so many; of more, those at the beginning and at the end are taken, since
            what is asked stands before a long paste or behind it.
    """
    pieces = (piece.strip() for piece in _SENTENCE.split(text))
    found = list(dict.fromkeys(p for p in pieces if _says_something(p)))
    last = most // 2
    return found if len(found) <= most else found[: most - last] + found[len(found) - last :]


def _says_something(piece: str) -> bool:
    return len(piece) >= MIN_SENTENCE_CHARS and _WORD.search(piece) is not None


def _cut(text: str, size: int) -> tuple[str, str]:
    """The first `size` characters, or less to end between words, and the rest."""
    space = text.rfind(" ", size // 2, size + 1)
    end = space if space > 0 else size
    return text[:end].rstrip(), text[end:].lstrip()
