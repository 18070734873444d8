"""From front-matter values to the fields of a skill."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from skillcue.allowed_tools import read_rules
from skillcue.library.characters import clean, code_points, nfc
from skillcue.library.frontmatter import HeaderMap, Value
from skillcue.library.limits import ReadLimits
from skillcue.library.naming import is_safe
from skillcue.library.notes import Notes

__all__ = ["Fields", "first_paragraph", "read_fields"]

NAME_CHARS_KEPT = 256
"""Names longer than that give way to the folder's: a name stands in ids, lists and advice."""
_KNOWN = frozenset(
    {
        "name",
        "description",
        "allowed-tools",
        "tags",
        "metadata",
        "disable-model-invocation",
        "user-invocable",
    }
)
_RULES_IN_MESSAGE = 3
_TRUE = frozenset({"true", "yes", "on", "y", "1"})
_FALSE = frozenset({"false", "no", "off", "n", "0"})
_NULL = frozenset({"", "null", "~"})
_LINE_BREAKS = re.compile(r"\s*[\n\r]\s*")
_TOOL = re.compile(r"(?:[^\s,()]|\([^()]*\)|[()])+")
_NOT_PROSE = re.compile(r"#{1,6}(?:\s|$)|\||!\[[^\]]*\]\([^)]*\)$|(?:[-*_=]\s*){3,}$|\[[^\]]+\]:\s")
_CODE_FENCE = re.compile(r"(`{3,}|~{3,})")


@dataclass(slots=True)
class Fields:
    """The header's part of a `Skill`; see there for what each one means."""

    name: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)
    allowed_tools: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    description_derived: bool = False
    hidden_from_model: bool = False
    user_invocable: bool = True
    pushable: bool = True


def read_fields(
    header: HeaderMap, header_line: int, body: str, folder: str, limits: ReadLimits, notes: Notes
) -> Fields:
    """Fields of one skill, with a note for everything that had to be filled in or is unusual.

    Args:
        header: What the front matter holds.
        header_line: Line of the file on which the header begins.
        body: Where a missing description is taken from.
        folder: Name of the skill's folder; stands in for a missing name.
        limits: Lengths from which on names and descriptions are reported.
        notes: Collects the diagnostics.
    """
    reader = _FieldReader(header, header_line, notes)
    values = reader.values
    result = Fields(
        tags=_labels(values.get("tags")),
        allowed_tools=_tools(values.get("allowed-tools")),
        hidden_from_model=reader.flag("disable-model-invocation", default=False),
        user_invocable=reader.flag("user-invocable", default=True),
        metadata=reader.metadata(),
    )
    if "tags" not in values and isinstance(nested := values.get("metadata"), dict):
        result.tags = _labels(nested.get("tags"))
    unknown = read_rules(result.allowed_tools)[1]
    if unknown:
        shown = ", ".join(repr(rule[:60]) for rule in unknown[:_RULES_IN_MESSAGE])
        message = f"{len(unknown)} of {len(result.allowed_tools)}: {shown}."
        reader.note("allowed-tools-unclear", message, "allowed-tools")
    _set_name(result, reader, folder, limits)
    _set_description(result, reader, body, limits)
    return result


class _FieldReader:
    """Finds fields under their several spellings and turns them into clean text."""

    def __init__(self, header: HeaderMap, header_line: int, notes: Notes) -> None:
        self._header = header
        self._offset = header_line - 1
        self._notes = notes
        self.values: dict[str, Value] = {}
        self._keys: dict[str, str] = {}
        self._other: dict[str, Value] = {}
        for key, value in header.values.items():
            self._file_under(key, value)

    def _file_under(self, key: str, value: Value) -> None:
        known = re.sub(r"[\s_]", "-", key.strip().casefold())
        if known not in _KNOWN or (known != key and known in self._header.values):
            self._other[key] = value
            return
        if known in self.values:
            self.note("key-duplicate", f"Key {key!r} repeats {self._keys[known]!r}.", known)
            return
        self.values[known] = value
        self._keys[known] = key
        if known != key:
            self.note("key-spelling", f"Key {key!r} is spelled {known!r} in the format.", known)

    def line(self, known: str) -> int | None:
        line = self._header.lines.get(self._keys.get(known, known))
        return None if line is None else line + self._offset

    def note(self, code: str, message: str, known: str) -> None:
        self._notes.add(code, message, self.line(known))

    def text(self, known: str) -> str:
        """One line of clean text; lists and maps as their author wrote them, if on one line."""
        value = self.values.get(known)
        if isinstance(value, list | dict):
            self.note("field-not-text", f"{known} is a list or a map.", known)
            written = self._header.written.get(self._keys[known])
            value = written if written is not None else _as_text(value)
        cleaned = clean(value or "")
        for code, found in (
            ("control-characters", cleaned.control),
            ("invisible-characters", cleaned.invisible),
        ):
            visible = tuple(char for char in found if char != "\r")
            if visible:
                self.note(code, f"{known}: left out {code_points(visible)}.", known)
        return nfc(_LINE_BREAKS.sub(" ", cleaned.text).strip())

    def flag(self, known: str, *, default: bool) -> bool:
        """A boolean in any spelling of YAML; the default, with a note, where it is none."""
        value = self.values.get(known)
        if value is None or isinstance(value, str):
            word = _tidy(value or "").casefold()
            if word in _TRUE | _FALSE:
                return word in _TRUE
            if word in _NULL:
                return default
        shown = repr(value)[:60] if isinstance(value, str) else "a list or a map"
        self.note("field-not-boolean", f"{known} is {shown}; {str(default).lower()} counts.", known)
        return default

    def metadata(self) -> dict[str, str]:
        """All other fields as text; the keys of ``metadata`` itself stand at the top level."""
        flat = dict(_flatten("", self._other))
        nested = self.values.get("metadata")
        if isinstance(nested, dict):
            for key, text in _flatten("", nested):
                flat[f"metadata.{key}" if key in flat else key] = text
        elif nested is not None:
            flat.setdefault("metadata", _as_text(nested))
        return {_tidy(key): _tidy(text) for key, text in flat.items()}


def _set_name(result: Fields, reader: _FieldReader, folder: str, limits: ReadLimits) -> None:
    if isinstance(reader.values.get("name"), list | dict):
        reader.note("field-not-text", "name is a list or a map.", "name")
    else:
        result.name = reader.text("name")
    if len(result.name) > NAME_CHARS_KEPT:
        reader.note("name-unsafe", f"Name {result.name[:80]!r} is too long to be used.", "name")
        result.name = ""
    if not result.name:
        result.name = folder or "skill"
        reader.note("name-missing", f"The folder name {result.name!r} is used.", "name")
        return
    if len(result.name) > limits.name_chars or not is_safe(result.name):
        reader.note("name-unsafe", f"Name {result.name[:80]!r}.", "name")
    if folder and result.name != folder:
        result.aliases = (folder,)
        message = f"Name {result.name[:80]!r}, folder {folder!r}."
        reader.note("name-folder-mismatch", message, "name")


def _set_description(result: Fields, reader: _FieldReader, body: str, limits: ReadLimits) -> None:
    result.description = reader.text("description")
    if result.description:
        if (length := len(result.description)) > limits.description_chars:
            message = f"{length} characters; the format allows {limits.description_chars}."
            reader.note("description-long", message, "description")
        return
    result.description = first_paragraph(body)
    result.description_derived = True
    if result.description:
        reader.note(
            "description-missing",
            f"Taken from the body: {result.description[:60]!r}.",
            "description",
        )
    else:
        result.pushable = False
        reader.note("description-unavailable", "The body holds no paragraph.", "description")


def first_paragraph(body: str) -> str:
    """First run of lines that is prose, on one line; empty when there is none.

    Headings, rules, tables, images, code blocks, link definitions and HTML comments are not
    prose; list items and quotations are.
    """
    paragraph: list[str] = []
    fence = ""
    for line in re.sub(r"<!--(?:(?!-->)[\s\S])*-->", "", body).split("\n"):
        text = line.strip()
        marker = _CODE_FENCE.match(text)
        if fence or marker:
            if paragraph:
                break
            if marker and not fence:
                fence = marker[1]
            elif text.startswith(fence) and not text.strip(fence[0]):
                fence = ""
            continue
        if text and _is_underline(text) and paragraph:
            paragraph = []  # the lines above were a heading
        elif not text or _NOT_PROSE.match(text):
            if paragraph:
                break
        else:
            paragraph.append(text)
    return " ".join(paragraph)


def _is_underline(text: str) -> bool:
    return not text.strip("=") or (len(text) > 1 and not text.strip("-"))


def _labels(value: Value) -> tuple[str, ...]:
    """Labels from ``a, b``, ``[a, b]`` or ``{a: .., b: ..}``, each once, in order."""
    if value is None:
        return ()
    if isinstance(value, str):
        items = value.split(",")
    elif isinstance(value, dict):
        items = list(value)
    else:
        items = [_as_text(item) for item in value]
    return tuple(dict.fromkeys(label for item in items if (label := _tidy(item))))


def _tools(value: Value) -> tuple[str, ...]:
    """Tool names; blanks and commas separate them, except inside ``Bash(git add:*)``."""
    if value is None:
        return ()
    if isinstance(value, str):
        items = _TOOL.findall(value)
    elif isinstance(value, dict):
        items = [_with_pattern(tool, pattern) for tool, pattern in value.items()]
    else:
        items = [
            _with_pattern(*next(iter(item.items())))
            if isinstance(item, dict) and len(item) == 1
            else _as_text(item)
            for item in value
        ]
    return tuple(dict.fromkeys(tool for item in items if (tool := _tidy(item))))


def _with_pattern(tool: str, pattern: Value) -> str:
    if pattern is None or _is_true(pattern):
        return tool
    return f"{tool}({_as_text(pattern)})"


def _is_true(value: Value) -> bool:
    return isinstance(value, str) and value.strip().casefold() in _TRUE


def _as_text(value: Value) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_as_text(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(_as_text(item) for item in value)
    return value or ""


def _flatten(prefix: str, value: Value) -> Iterator[tuple[str, str]]:
    """``("a.b", text)`` pairs; a list of plain values is one text."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flatten(f"{prefix}.{key}" if prefix else key, item)
    elif isinstance(value, list) and any(isinstance(item, list | dict) for item in value):
        for number, item in enumerate(value):
            yield from _flatten(f"{prefix}.{number}", item)
    else:
        yield prefix, _as_text(value)


def _tidy(text: str) -> str:
    return nfc(clean(text).text.strip())
