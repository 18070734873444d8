"""The text a scanner looks at, in the three forms its rules need, and where in it something is."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from skillcue.library.characters import clean
from skillcue.scanning.lookalikes import LATIN_OF
from skillcue_adapters.lazy import cached_property

__all__ = ["Found", "Rule", "ScannedText", "before", "words"]

_ASCII_CONTROL = bytes(code for code in (*range(0x20), 0x7F) if code not in (9, 10))
_ASCII = bytes(range(0x80))
_LOOKALIKES = frozenset(map(chr, LATIN_OF))
_WORDS = bytes(
    ord(chr(code).lower()) if code < 0x80 and (chr(code).isalnum() or code == 0x5F) else 0x20
    for code in range(256)
)
_HIDDEN = re.compile(
    "[\x80-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]|[\ufe00-\ufe0f]{2,}"
)
"""Whatever `clean` takes out, and joiners, which it takes out in some places."""
_LINE_END = re.compile("\n")
_FENCE = re.compile(r"^[ \t]{0,8}(?:```|~~~)", re.MULTILINE)
_LOOK_BACK = 300
"""Characters before a place that are looked at for quotes."""
_QUOTES = "\"`'\u201c\u2018\u00ab"


@dataclass(frozen=True, slots=True)
class Found:
    """Something a rule found.

    Attributes:
        code: Of the diagnostic.
        line: Line of the text, from 1.
        what: The place itself, for the message; whatever it holds is escaped where it is shown.
    """

    code: str
    line: int
    what: str


class ScannedText:
    """A text and what it is without tricks of writing; worked out as far as rules ask.

    Most skills hold nothing that any rule is about, and most of the time goes into finding that
    out: `words` and `has` say so from bytes, at a tenth of the price of a pattern.

    Args:
        raw: The text as decoded, hidden characters included.
    """

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self._positions: dict[tuple[re.Pattern[str], int], list[int]] = {}
        data = raw.encode("utf-8", "surrogatepass")
        odd = data.translate(None, _ASCII).decode("utf-8", "surrogatepass")
        self.marked = _HIDDEN.search(odd) is not None or len(
            data.translate(None, _ASCII_CONTROL)
        ) < len(data)
        """It holds hidden characters."""
        self.folds = not _LOOKALIKES.isdisjoint(odd) or not unicodedata.is_normalized("NFKC", odd)
        if self.marked or self.folds:
            data = self.low.encode("utf-8", "surrogatepass")
        self.data = data.lower()
        """`low` as UTF-8, but for capital letters beyond ASCII."""

    @cached_property
    def plain(self) -> str:
        """Without hidden characters."""
        return clean(self.raw).text if self.marked else self.raw

    @cached_property
    def low(self) -> str:
        """`plain` in lower case, compatibility forms and look-alike letters as their Latin ones.

        Lines are where they are in `raw`; columns are not.
        """
        if not self.folds:
            return self.plain.lower()
        return unicodedata.normalize("NFKC", self.plain).translate(LATIN_OF).lower()

    @cached_property
    def words(self) -> frozenset[bytes]:
        """Every run of ASCII letters, digits and underscores in `data`."""
        return frozenset(self.data.translate(_WORDS).split())

    def has(self, *parts: bytes) -> bool:
        """Whether one of `parts` stands anywhere in `data`."""
        return any(part in self.data for part in parts)

    def says(self, *groups: frozenset[bytes]) -> bool:
        """Whether each of `groups` has one of its words here."""
        return not any(self.words.isdisjoint(group) for group in groups)

    def found(self, code: str, match: re.Match[str], what: str = "") -> Found:
        """`match` in `raw`, `plain` or `low` as a finding; `what` instead of its own text."""
        return Found(code, self.line_at(match.string, match.start()), what or match[0])

    def line_at(self, text: str, offset: int) -> int:
        """Line of an offset in `raw`, `plain` or `low`, from 1."""
        return bisect_right(self._starts(_LINE_END, text), offset - 1) + 1

    def is_cited(self, match: re.Match[str]) -> bool:
        """Whether a match in `plain` or `low` stands in a code block, in code or in quotes.

        Whoever writes about attacks cites them so; it says nothing about how a model reads it.
        """
        text, start = match.string, match.start()
        if start < self._header_end(text):  # quotes of YAML cite nothing
            return False
        line = before(match, _LOOK_BACK)
        odd = any(line.count(mark) % 2 for mark in ('"', "`"))
        opened = line.rstrip()[-1:] in _QUOTES if line.strip() else False
        return odd or opened or bisect_right(self._starts(_FENCE, text), start) % 2 == 1

    def _header_end(self, text: str) -> int:
        return text.find("\n---", 3) if text.startswith("---") else 0

    def _starts(self, pattern: re.Pattern[str], text: str) -> list[int]:
        """Where `pattern` matches; `text` is one of the forms, which live as long as this does."""
        key = (pattern, id(text))
        if key not in self._positions:
            self._positions[key] = [match.start() for match in pattern.finditer(text)]
        return self._positions[key]


def before(match: re.Match[str], window: int) -> str:
    """What stands before a match on its line, at most `window` characters of it."""
    text, start = match.string, match.start()
    return text[max(text.rfind("\n", max(0, start - window), start) + 1, start - window, 0) : start]


def words(text: str) -> frozenset[bytes]:
    """The words of `text`, for `ScannedText.says`."""
    return frozenset(text.encode("ascii").split())


Rule = Callable[[ScannedText], Iterator[Found]]
"""One kind of trick; pure, and linear in the length of the text."""
