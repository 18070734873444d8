"""Letters of other alphabets that look like Latin ones, and names that make use of them.

The table holds the single letters of Unicode's confusables data (UTS #39) for which Cyrillic, Greek
and Armenian letters are drawn as lower- or upper-case Latin letters in common fonts.
"""

from __future__ import annotations

import unicodedata

__all__ = ["LATIN_OF", "mixed_words"]

_PAIRS = (
    "аa АA вb ВB еe ЕE кk КK мm МM нh НH оo ОO рp РP сc СC тt ТT уy УY хx ХX іi ІI јj ЈJ ѕs ЅS һh ԁd "  # noqa: RUF001
    "ԛq ԝw ɡg αa ΑA ΒB εe ΕE ΖZ ΗH ιi ΙI κk ΚK ΜM νv ΝN οo ΟO ρp ΡP τt ΤT υu ΥY χx ΧX օo սu հh"  # noqa: RUF001
)
LATIN_OF = {ord(pair[0]): pair[1] for pair in _PAIRS.split()}
"""Code point to the Latin letter it looks like."""


def mixed_words(text: str) -> list[str]:
    """Words of `text` in which Latin letters stand beside letters that only look Latin."""
    if text.isascii():
        return []
    words = "".join(char if char.isalpha() else " " for char in text).split()
    return [word for word in words if _is_mixed(word)]


def _is_mixed(word: str) -> bool:
    other = any(ord(char) in LATIN_OF for char in word)
    return other and any(unicodedata.name(char, "").startswith("LATIN") for char in word)
