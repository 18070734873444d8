"""Names and ids: quoting that can be undone, and what counts as the same name."""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePath

from skillcue.library.characters import clean, nfc

__all__ = ["display_name", "fold", "is_safe", "quote_name", "quote_path", "skill_id"]

_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"})
_PLAIN = re.compile(r"[A-Za-z0-9._~+-]*")
_SEPARATORS = re.compile(r"[\s_-]+")


def skill_id(name: str, relative: str, label: str = "") -> str:
    """``name@relative/folder``, or ``name@label/relative/folder``.

    ``urllib.parse.unquote`` undoes the quoting of either half; the first ``@`` separates them.
    """
    where = quote_path(relative)
    return f"{quote_name(name)}@{quote_path(label) + '/' if label else ''}{where}"


def quote_name(name: str) -> str:
    """`name` with blanks, invisible characters and ``@ / % \\`` percent-encoded."""
    return _quote(name, "@/%\\", blanks=True)


def quote_path(path: str) -> str:
    """A POSIX path with invisible characters, undecodable bytes and ``%`` percent-encoded."""
    return _quote(path, "%", blanks=False)


def is_safe(name: str) -> bool:
    """The name can stand in an id as it is."""
    return quote_name(name) == name


def display_name(folder: str | PurePath) -> str:
    """Name of a folder as text that can be shown: normalised, nothing hidden, no lone bytes."""
    name = PurePath(folder).name
    if _PLAIN.fullmatch(name):
        return name
    shown = _bytes(name).decode("utf-8", "replace")
    return nfc(" ".join(clean(shown).text.split()))


def fold(name: str) -> str:
    """Equal for names that differ in case, Unicode form, or in blank, hyphen and underscore."""
    return _SEPARATORS.sub("-", nfc(nfc(name).casefold())).strip("-")


def _quote(text: str, reserved: str, blanks: bool) -> str:
    if _PLAIN.fullmatch(text):
        return text
    return "".join(
        _percent(char) if _needs_quoting(char, reserved, blanks) else char for char in text
    )


def _needs_quoting(char: str, reserved: str, blanks: bool) -> bool:
    if char == " ":
        return blanks
    return char in reserved or unicodedata.category(char) in _UNSAFE_CATEGORIES


def _percent(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in _bytes(char))


def _bytes(text: str) -> bytes:
    """UTF-8, or the raw bytes of a file name that is not UTF-8."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
