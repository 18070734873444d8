"""What the words around a parameter say about its values: type, default, range, choices."""

from __future__ import annotations

import re

from skillcue_adapters.augment.markdown import plain
from skillcue_adapters.augment.nodes import Parameter

__all__ = ["described", "type_named", "type_of", "unquoted"]

_TYPES = {
    "string": "str string text char path file filename filepath folder directory url uri email "
    "date datetime time uuid enum literal",
    "integer": "int integer long uint whole count",
    "number": "float number double decimal numeric real",
    "boolean": "bool boolean flag switch",
    "array": "list array tuple set sequence iterable",
    "object": "dict object map mapping json dataframe",
}
_TYPE_OF_WORD = {word: kind for kind, words in _TYPES.items() for word in words.split()}
_WORD = re.compile(r"[A-Za-z]+")
_NUMBER = r"[-+]?\d{1,12}(?:\.\d{1,9})?"
_RANGE = re.compile(
    rf"(?:between|from|range:?)?[ \t]*[\[(]?({_NUMBER})[ \t]*(?:\.\.\.?|\u2026|-|\u2013|to|and|,)"
    rf"[ \t]*({_NUMBER})[\])]?",
    re.IGNORECASE,
)
_RANGE_WORD = re.compile(
    r"\b(?:between|from|range)\b|\d[ \t]*(?:\.\.|-|\u2013|to)[ \t]*\d|[\[(]\d", re.IGNORECASE
)
_LOW = re.compile(
    rf"(?:>=|\u2265|at least|minimum(?: of)?:?|\bmin:?)[ \t]*({_NUMBER})", re.IGNORECASE
)
_HIGH = re.compile(
    rf"(?:<=|\u2264|at most|maximum(?: of)?:?|\bmax:?|up to)[ \t]*({_NUMBER})", re.IGNORECASE
)
_VALUE = r"(?:`([^`\n]{1,80})`|\"([^\"\n]{1,80})\"|'([^'\n]{1,80})'|([^\s,;()`\"']{1,80}))"
_DEFAULT = re.compile(
    rf"\bdefault(?:s|ing)?(?:[ \t]+(?:to|is|value))*[ \t]*[:=]?[ \t]*{_VALUE}", re.IGNORECASE
)
_EXAMPLE = re.compile(
    rf"(?:\be\.g\.|\bfor example|\bexample:|\bsuch as)[,:]?[ \t]*{_VALUE}", re.IGNORECASE
)
_CHOICES = re.compile(
    r"(?:\bone of|\beither|\bchoices?|\ballowed(?: values)?|\bvalues|\boptions|\benum)\b[ \t]*(?:are|is)?"
    r"[ \t]*[:=]?[ \t]*([^.;\n]{1,300})",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"`([^`\n]{1,60})`|\"([^\"\n]{1,60})\"|'([^'\n]{1,60})'")
_BARE = re.compile(r"[\w.+/-]{1,40}")
_SEPARATOR = re.compile(r"\s*(?:,|\||/|\bor\b|\band\b)\s*")
_REQUIRED = re.compile(r"\b(?:required|mandatory|must be given)\b", re.IGNORECASE)
_OPTIONAL = re.compile(r"\b(?:optional|not required)\b", re.IGNORECASE)
_NOTHING = frozenset(
    {"", "-", "\u2013", "\u2014", "none", "null", "n/a", "undefined", "required", "..."}
)


def described(name: str, text: str, *, kind: str = "", default: str | None = None) -> Parameter:
    """A parameter as `text`, its description, tells it.

    Args:
        name: Its name.
        text: One line of Markdown.
        kind: Its type where that is known already, else it is that of a value.
        default: Its default where that is known already.
    """
    default = default if default is not None else _first(_DEFAULT, text)
    choices = _choices(text)
    low, high = _bounds(_DEFAULT.sub("", text))
    examples = tuple(dict.fromkeys(_values(_EXAMPLE, text)))
    kind = kind or type_of(next(filter(None, (default, *choices, *examples)), ""))
    numeric = kind in ("integer", "number", "")
    return Parameter(
        name=name,
        type=kind or ("number" if low is not None or high is not None else ""),
        required=bool(_REQUIRED.search(text)) and not _OPTIONAL.search(text),
        default=default,
        minimum=low if numeric else None,
        maximum=high if numeric else None,
        choices=choices,
        examples=examples,
        description=plain(text),
    )


def type_named(text: str) -> str:
    """The type that `text` (``int``, ``list[str]``, ``Optional[float]``) names, or empty."""
    words = (_TYPE_OF_WORD.get(word.lower(), "") for word in _WORD.findall(text))
    return next(filter(None, words), "")


def type_of(value: str) -> str:
    """The type of a value as it is written; empty for no value."""
    if not value:
        return ""
    if value.lower() in ("true", "false"):
        return "boolean"
    if re.fullmatch(r"[-+]?\d{1,12}", value):
        return "integer"
    if re.fullmatch(r"[-+]?\d{0,12}\.\d{1,12}|[-+]?\d{1,12}(?:\.\d{1,12})?[eE][-+]?\d{1,3}", value):
        return "number"
    return {"[": "array", "{": "object"}.get(value[0], "string")


def unquoted(value: str) -> str | None:
    """A value as it stands in code or in a table, without quotes; None where it says nothing."""
    value = value.strip().strip("`").strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return None if value.lower() in _NOTHING else value


def _bounds(text: str) -> tuple[float | None, float | None]:
    found = _RANGE.search(text) if _RANGE_WORD.search(text) else None
    if found and float(found[1]) <= float(found[2]):
        return float(found[1]), float(found[2])
    low, high = _LOW.search(text), _HIGH.search(text)
    return float(low[1]) if low else None, float(high[1]) if high else None


def _choices(text: str) -> tuple[str, ...]:
    found = _CHOICES.search(text)
    if found is None:
        return ()
    listed = found[1].strip().strip("{}[]()")
    quoted = [next(filter(None, groups)) for groups in _QUOTED.findall(listed)]
    if len(quoted) > 1:
        return tuple(dict.fromkeys(quoted))
    bare = [part for part in _SEPARATOR.split(listed) if part]
    fits = len(bare) > 1 and all(_BARE.fullmatch(part) for part in bare)
    return tuple(dict.fromkeys(bare)) if fits else ()


def _values(pattern: re.Pattern[str], text: str) -> list[str]:
    found = (next(filter(None, match.groups())).strip(".:") for match in pattern.finditer(text))
    return [value for value in found if value.lower() not in _NOTHING]


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    return next(iter(_values(pattern, text)), None)
