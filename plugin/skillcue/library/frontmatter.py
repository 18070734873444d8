"""Front matter to plain values: text, list or map, never a number, date or bool.

Read by PyYAML's pure-Python parser only, because the C parser accepts and refuses other files
than it does. The parser's events are used directly: scalars stay the text the author wrote
(``1.10``, ``on``, ``007``, ``2026-01-02``), and anchors, aliases and tags are refused before
anything is built from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)

from skillcue.library.limits import ReadLimits

__all__ = ["Finding", "HeaderError", "HeaderMap", "Value", "load_map", "load_plain", "load_yaml"]

Value = str | None | list["Value"] | dict[str, "Value"]
"""What a field holds; None only where nothing is written."""

Finding = tuple[str, str, int]
"""Diagnostic code, message, line of the header from 1."""


class HeaderError(Exception):
    """The header is not a map that can be used as it stands.

    Attributes:
        reason: What is wrong, without position.
        line: Line of the header, from 1.
        too_large: A limit was hit, as opposed to a mistake in the text.
        not_a_map: It is valid YAML of another kind.
    """

    def __init__(
        self, reason: str, line: int, *, too_large: bool = False, not_a_map: bool = False
    ) -> None:
        self.reason = reason
        self.line = line
        self.too_large = too_large
        self.not_a_map = not_a_map
        super().__init__(f"line {line}: {reason}")


@dataclass(slots=True)
class HeaderMap:
    """The fields of one header.

    Attributes:
        values: Key to value, in file order.
        lines: Key to line of the header, from 1.
        written: Key to source text, for values written as ``[...]`` or ``{...}``.
        findings: What was not clean.
    """

    values: dict[str, Value] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


_PLAIN_LINE = re.compile(
    r"""([A-Za-z][A-Za-z0-9_-]{0,63}):[ ]+
    (?: "([^"\\\t]*)"[ ]* | '([^'\t]*)'[ ]* | ([^\W_](?:[^:\#\t]|:(?![ ]|$)|(?<![ ])\#)*) )""",
    re.VERBOSE,
)


def load_map(header: str, limits: ReadLimits) -> HeaderMap:
    """The fields of `header`.

    Raises:
        HeaderError: It is not valid YAML, not a map, too large, or uses anchors or tags.
    """
    return load_plain(header) or load_yaml(header, limits)


def load_plain(header: str) -> HeaderMap | None:
    """The same answer as `load_yaml` for the commonest shape, some twenty times faster.

    Only for headers in which every line is ``key: value`` with a value that cannot mean
    anything else in YAML; None for all others.
    """
    result = HeaderMap()
    for number, line in enumerate(header.split("\n"), start=1):
        found = _PLAIN_LINE.fullmatch(line)
        if found is None:
            if line or not result.values:
                return None
            continue
        key, double, single, plain = found.groups()
        if key in result.values:
            return None
        value = plain.rstrip(" ") if plain is not None else double if single is None else single
        result.values[key] = value
        result.lines[key] = number
    return result if result.values else None


def load_yaml(header: str, limits: ReadLimits) -> HeaderMap:
    """The fields of `header`, read by the YAML parser; errors as `load_map`."""
    try:
        return _Builder(header, limits).build()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise HeaderError(error.problem or "not valid YAML", line) from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # ValueError and OverflowError: escapes such as "\UFFFFFFFF" reach chr()
        raise HeaderError(str(error).partition("\n")[0], 1) from error


class _Builder:
    """Turns the events of one document into a `HeaderMap`."""

    def __init__(self, header: str, limits: ReadLimits) -> None:
        self._header = header
        self._limits = limits
        self._nodes = 0
        self._result = HeaderMap()
        self._closed: Event = Event()
        self._events: Iterator[Event] = yaml.parse(header, Loader=yaml.SafeLoader)

    def build(self) -> HeaderMap:
        self._expect(StreamStartEvent)
        self._expect(DocumentStartEvent)
        root = self._next_node()
        if not isinstance(root, MappingStartEvent):
            for _ in self._events:  # a syntax error further down counts for more than the kind
                pass
            raise HeaderError("not a map of 'key: value' lines", _line(root), not_a_map=True)
        self._top_level()
        self._expect(DocumentEndEvent)
        self._expect(StreamEndEvent)
        return self._result

    def _top_level(self) -> None:
        result = self._result
        for key, line in self._keys():
            node = self._next_node()
            value = self._value(node, 1)
            if key in result.values:
                self._duplicate(key, line)
                continue
            if isinstance(node, ScalarEvent):
                value = self._with_cut_text(key, node)
            elif getattr(node, "flow_style", False):
                result.written[key] = self._source_of(node)
            result.values[key] = value
            result.lines[key] = line

    def _keys(self) -> Iterator[tuple[str, int]]:
        """Keys of the map that was just opened, up to its end."""
        while True:
            event = next(self._events)
            if isinstance(event, MappingEndEvent):
                self._closed = event
                return
            self._check(event)
            if not isinstance(event, ScalarEvent):
                raise HeaderError("a key must be text", _line(event))
            yield event.value, _line(event)

    def _value(self, event: Event, depth: int) -> Value:
        if isinstance(event, ScalarEvent):
            return None if _is_empty(event) else event.value
        if depth > self._limits.header_depth:
            raise HeaderError(
                f"nested deeper than header_depth ({self._limits.header_depth} levels)",
                _line(event),
                too_large=True,
            )
        if isinstance(event, SequenceStartEvent):
            return self._list(depth)
        return self._map(depth)

    def _list(self, depth: int) -> list[Value]:
        items: list[Value] = []
        while True:
            event = next(self._events)
            if isinstance(event, SequenceEndEvent):
                self._closed = event
                return items
            self._check(event)
            items.append(self._value(event, depth + 1))

    def _map(self, depth: int) -> dict[str, Value]:
        entries: dict[str, Value] = {}
        for key, line in self._keys():
            value = self._value(self._next_node(), depth + 1)
            if key in entries:
                self._duplicate(key, line)
            else:
                entries[key] = value
        return entries

    def _next_node(self) -> Event:
        event = next(self._events)
        self._check(event)
        return event

    def _check(self, event: Event) -> None:
        """Refuse what stands for something else than itself, and count."""
        if isinstance(event, NodeEvent) and event.anchor:
            kind = "alias *" if isinstance(event, AliasEvent) else "anchor &"
            raise HeaderError(f"{kind}{event.anchor}", _line(event))
        if getattr(event, "tag", None):
            raise HeaderError("a YAML tag (text that starts with '!')", _line(event))
        self._nodes += 1
        if self._nodes > self._limits.header_nodes:
            raise HeaderError(
                f"more than header_nodes ({self._limits.header_nodes}) keys and values",
                _line(event),
                too_large=True,
            )

    def _with_cut_text(self, key: str, node: ScalarEvent) -> Value:
        """The value with what YAML takes for a comment, where it reads like text.

        ``#12`` and ``#channel`` are text; a description keeps everything on its line.
        """
        value: Value = None if _is_empty(node) else node.value
        if node.style:
            return value
        end = _span(node)[1]
        rest = self._header[end:].partition("\n")[0].rstrip()
        comment = rest.lstrip(" \t")
        tight = comment[:1] == "#" and comment[1:2].strip() not in ("", "#")
        if not (tight or (comment[:1] == "#" and key == "description")):
            return value
        line = _line(node)
        self._result.findings.append(
            ("comment-kept", f"{key}: YAML would drop {comment[:60]!r}.", line)
        )
        return comment if value is None else f"{node.value}{rest}"

    def _source_of(self, start: Event) -> str:
        return self._header[_span(start)[0] : _span(self._closed)[1]]

    def _duplicate(self, key: str, line: int) -> None:
        self._result.findings.append(("key-duplicate", f"Key {key!r} occurs again.", line))

    def _expect(self, kind: type[Event]) -> None:
        event = next(self._events)
        if not isinstance(event, kind):
            raise HeaderError("not one YAML document", _line(event))


def _is_empty(event: ScalarEvent) -> bool:
    return event.value == "" and not event.style


def _line(event: Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def _span(event: Event) -> tuple[int, int]:
    """Offsets of the event in the header; the parser gives both marks to every node."""
    start, end = event.start_mark, event.end_mark
    return (start.index if start else 0, end.index if end else 0)
