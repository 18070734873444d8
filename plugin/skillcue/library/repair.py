"""Second reading of front matter that is not valid YAML: field by field.

A mistake in one value makes the whole header invalid for YAML. Here the header is cut into its
top-level fields, each is read by itself, and the text of those that still fail is taken as it
stands, as if its author had put quotes around it. Fields that parse are never changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from skillcue.library.fences import key_line
from skillcue.library.frontmatter import HeaderError, HeaderMap, load_yaml
from skillcue.library.limits import ReadLimits

__all__ = ["repair"]

_INDICATOR = re.compile(r"\A[>|][+-]?[1-9]?[+-]?(?:[ \t]+|$)")
_NESTED = re.compile(
    r"(?P<lead>[ \t]+(?:-[ \t]+)?[^\W\d][\w.-]*:[ \t]+|[ \t]*-[ \t]+)(?P<value>.+)"
)
_LITERAL_TEXT = frozenset({"name", "description"})


@dataclass(slots=True)
class _Field:
    """One top-level field: its key, the text behind the colon, and the lines below it."""

    key: str
    first: str
    line: int
    below: list[str] = field(default_factory=list)

    @property
    def source(self) -> str:
        return "\n".join([f"{_quoted(self.key)}: {self.first}".rstrip(), *self.below, ""])


def repair(header: str, limits: ReadLimits) -> HeaderMap:
    """The fields of `header`, with a finding for everything that had to be mended or left out."""
    result = HeaderMap()
    for number, entry in enumerate(_fields(header, result)):
        if number >= limits.header_nodes:
            message = f"Only the first {limits.header_nodes} fields (header_nodes) were read."
            result.findings.append(("header-too-large", message, entry.line))
            break
        if entry.key in result.values:
            message = f"Key {entry.key!r} occurs again."
            result.findings.append(("key-duplicate", message, entry.line))
            continue
        _read(entry, limits, result)
    return result


def _fields(header: str, result: HeaderMap) -> Iterator[_Field]:
    current: _Field | None = None
    for number, line in enumerate(header.rstrip("\n").split("\n"), start=1):
        found = key_line(line)
        if found:
            if current:
                yield current
            current = _Field(_unquoted(found["key"]), (found["value"] or "").strip(), number)
            if not line[found.end("key") :].partition(":")[2][:1].isspace() and current.first:
                message = f"{current.key}: no blank behind the colon."
                result.findings.append(("value-repaired", message, number))
        elif current:
            current.below.append(line)
        elif line.strip() and not line.startswith("#"):
            message = f"No field begins with {line.strip()[:60]!r}."
            result.findings.append(("field-unreadable", message, number))
    if current:
        yield current


def _read(entry: _Field, limits: ReadLimits, result: HeaderMap) -> None:
    try:
        _adopt(load_yaml(entry.source, limits), entry, result)
        return
    except HeaderError as error:
        problem = error
    if entry.first or entry.key in _LITERAL_TEXT:
        result.values[entry.key] = _plain_text(entry)
        result.lines[entry.key] = entry.line
        _report(result, "value-repaired", entry, problem)
        return
    try:
        entry.below = [_quote_value(line) for line in entry.below]
        _adopt(load_yaml(entry.source, limits), entry, result)
        _report(result, "value-repaired", entry, problem)
    except HeaderError as error:
        code = "header-too-large" if error.too_large else "field-unreadable"
        _report(result, code, entry, error)


def _adopt(loaded: HeaderMap, entry: _Field, result: HeaderMap) -> None:
    if list(loaded.values) != [entry.key]:
        raise HeaderError("not one field", 1)
    result.values.update(loaded.values)
    result.written.update(loaded.written)
    result.lines[entry.key] = entry.line
    result.findings += [(code, text, entry.line + n - 1) for code, text, n in loaded.findings]


def _report(result: HeaderMap, code: str, entry: _Field, error: HeaderError) -> None:
    message = f"{entry.key}: {error.reason}."
    line = entry.line + min(error.line, 1 + len(entry.below)) - 1  # not behind its last line
    result.findings.append((code, message, line))


def _plain_text(entry: _Field) -> str:
    """All text of the field on one line, without the marks that were meant as YAML."""
    first = _INDICATOR.sub("", entry.first, count=1)
    below = (line.strip() for line in entry.below if not line.startswith("#"))
    return _without_outer_quotes(" ".join(part for part in (first, *below) if part))


def _without_outer_quotes(text: str) -> str:
    """Drop quotes that were meant to enclose all of `text`, and only those.

    ``'It's a diary'`` and a lone leading quote lose them; ``"Diary" and "log"`` keeps them,
    because its second quote closes the first.
    """
    quote = text[:1]
    if quote not in ('"', "'"):
        return text
    inside = text[1:-1] if len(text) > 1 and text.endswith(quote) else None
    if inside is None:
        return text if quote in text[1:] else text[1:]
    position = inside.find(quote)
    if position >= 0 and not inside[position + 1 : position + 2].isalnum():
        return text
    return inside


def _quote_value(line: str) -> str:
    """A nested ``key: value`` or ``- value`` line with the value in single quotes."""
    line = line.expandtabs(2)
    found = _NESTED.fullmatch(line)
    if found is None or found["value"][:1] in ('"', "'"):
        return line
    value = found["value"].strip().replace("'", "''")
    return f"{found['lead']}'{value}'"


def _quoted(key: str) -> str:
    return key if re.fullmatch(r"[^\W\d][\w.-]*", key) else "'" + key.replace("'", "''") + "'"


def _unquoted(key: str) -> str:
    return key[1:-1] if key[:1] in ('"', "'") else key
