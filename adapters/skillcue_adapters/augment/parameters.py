"""Finds the parameters that tables, lists, commands and signatures of a skill file describe."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from skillcue_adapters.augment.markdown import Fence, Item, Table, plain
from skillcue_adapters.augment.nodes import Parameter
from skillcue_adapters.augment.values import described, type_named, type_of, unquoted

__all__ = [
    "flag_parameters",
    "item_parameter",
    "merged",
    "signature_parameters",
    "table_parameters",
]

SHELLS = frozenset({"", "bash", "sh", "shell", "zsh", "console", "text", "powershell", "terminal"})
"""Languages of fences that hold commands; the empty one is no language at all."""

_NAME = r"-{0,2}[A-Za-z_][\w.-]{0,59}"
_ITEM = re.compile(
    rf"(?:\*\*|__)?`?({_NAME})`?(?:\*\*|__)?[ \t]*(?:[\[(]((?:[^()\[\]\n]|\[[^()\[\]\n]{{0,40}}\]){{1,120}})[\])])?(?:\*\*|__)?"
    r"[ \t]*(?::|\u2013|\u2014|-[ \t])(?:\*\*|__)?[ \t]*(.*)",
    re.DOTALL,
)
_FLAG = re.compile(
    r"(\[?)(?<![\w-])--([a-zA-Z][\w-]{0,40})"
    r"(?:[= ](\{[^{}\n]{1,120}\}|<[^<>\n]{1,60}>|\"[^\"\n]{1,80}\"|'[^'\n]{1,80}'|[^\s\[\]-][^\s\[\]]{0,80}))?"
)
_PLACEHOLDER = re.compile(r"<[^<>]*>|[A-Z][A-Z0-9_]*|\$.*")
_COLUMNS = {
    "name": ("parameter", "param", "argument", "arg", "option", "flag", "setting", "variable"),
    "loose_name": ("name", "field", "key", "property", "input"),
    "type": ("type",),
    "required": ("required", "mandatory"),
    "default": ("default",),
    "choices": ("values", "choices", "allowed", "options", "range"),
    "example": ("example",),
    "description": ("description", "meaning", "purpose", "what", "notes", "use", "effect"),
}
_YES = re.compile(
    r"(?:yes|y|true|required|always|\u2713|\u2714|\u2705|x)\b|[\u2713\u2714\u2705]", re.IGNORECASE
)
_LITERAL = re.compile(r"Literal\[([^\[\]]{1,300})\]")
_SELF = frozenset({"self", "cls", "args", "kwargs", "*", "/"})
_PAIRS = {"(": ")", "[": "]", "{": "}"}


def table_parameters(table: Table) -> list[Parameter]:
    """The parameters that a table lists; none of a table about something else."""
    column = _columns(table.header)
    if "name" not in column:
        return []
    found = []
    for row in table.rows:
        cells = {role: row[n] for role, n in column.items()}
        names = [name.strip("`* ") for name in re.split(r",|\bor\b|\|", cells["name"])]
        name = max(names, key=len, default="").split(" ")[0].split("=")[0]
        if re.fullmatch(_NAME, name):
            found.append(_of_cells(name.lstrip("-"), cells))
    return found


def item_parameter(item: Item, *, listed: bool) -> Parameter | None:
    """The parameter that a list item describes, as in ``- name (type, required): what it is``.

    Args:
        item: The item.
        listed: It stands below a heading such as "Parameters", so that it needs no type.
    """
    found = _ITEM.match(item.text)
    if found is None:
        return None
    name, brackets, text = found[1], found[2] or "", found[3]
    kind = type_named(brackets)
    marked = bool(kind or re.search(r"\b(?:required|optional|default)\b", brackets, re.IGNORECASE))
    if not (listed or marked or name.startswith("--")):
        return None
    joined = f"{brackets}; {text}" if brackets else text
    return replace(described(name.lstrip("-"), joined, kind=kind), description=plain(text))


def flag_parameters(fence: Fence) -> list[Parameter]:
    """The ``--flags`` of the commands in a fence, with the values they are shown with."""
    if fence.language not in SHELLS:
        return []
    found = []
    for bracket, name, value in _FLAG.findall(fence.code):
        value = value.strip("\"'")
        if value.startswith("{"):
            choices = tuple(filter(None, (part.strip() for part in value[1:-1].split(","))))
            found.append(Parameter(name, type_of(choices[0]) if choices else "", choices=choices))
        elif not value or value == "\\":
            found.append(Parameter(name, "boolean"))
        elif _PLACEHOLDER.fullmatch(value):
            found.append(Parameter(name, type_named(value)))
        elif bracket or not value.endswith("]"):
            found.append(Parameter(name, type_of(value), examples=(value,)))
    return found


def signature_parameters(signature: str) -> list[Parameter]:
    """The parameters between the brackets of a signature: ``a: int, b=3, *, mode="fast"``."""
    found = []
    for part in _split(signature):
        name, _, default = _cut(part, "=")
        name, _, annotation = _cut(name, ":")
        name = name.strip().lstrip("*").rstrip("?").strip()
        if name in _SELF or not re.fullmatch(r"[A-Za-z_]\w{0,59}", name):
            continue
        value = unquoted(default)
        literal = _LITERAL.search(annotation)
        choices = [unquoted(p) or "" for p in _split(literal[1])] if literal else []
        found.append(
            Parameter(
                name,
                "string" if literal else type_named(annotation) or type_of(value or ""),
                required=not default.strip() and not part.strip().startswith("*"),
                default=value,
                choices=tuple(filter(None, choices)),
            )
        )
    return found


def merged(parameters: Iterable[Parameter], most: int) -> tuple[Parameter, ...]:
    """Each name once, at most `most`; what a later mention adds is added to the first."""
    found: dict[str, Parameter] = {}
    for new in parameters:
        key = new.name.lower().replace("-", "_")
        if key in found:
            found[key] = _both(found[key], new)
        elif len(found) < most:
            found[key] = new
    return tuple(found.values())


def _both(first: Parameter, second: Parameter) -> Parameter:
    # A switch that is shown with a value elsewhere was no switch.
    bare = first.type == "boolean" and not first.description and first.default is None
    return Parameter(
        first.name,
        (second.type or first.type) if bare and second.examples else first.type or second.type,
        first.required or second.required,
        first.default if first.default is not None else second.default,
        first.minimum if first.minimum is not None else second.minimum,
        first.maximum if first.maximum is not None else second.maximum,
        first.choices or second.choices,
        tuple(dict.fromkeys([*first.examples, *second.examples])),
        first.description or second.description,
    )


def _columns(header: tuple[str, ...]) -> dict[str, int]:
    """Which column says what; "name" only where the table is one of parameters."""
    column: dict[str, int] = {}
    for position, cell in enumerate(header):
        words = {word.rstrip("s") for word in re.findall(r"[a-z]+", cell.lower())}
        for role, known in _COLUMNS.items():
            if role not in column and words & {word.rstrip("s") for word in known}:
                column[role] = position
                break
    loose = column.pop("loose_name", None)
    if "name" not in column and loose == 0 and {"type", "required", "default"} & column.keys():
        column["name"] = loose
    if column.get("name") != 0 or len(header) < 2:
        column.pop("name", None)
    return column


def _of_cells(name: str, cells: dict[str, str]) -> Parameter:
    listed = cells.get("choices", "")
    text = "; ".join(filter(None, [cells.get("description", ""), listed and f"values: {listed}"]))
    kind = type_named(cells.get("type", ""))
    default = unquoted(plain(cells.get("default", "")))
    found = described(name, text, kind=kind, default=default)
    example = unquoted(plain(cells.get("example", "")))
    says = cells.get("required", "")
    return replace(
        found,
        type=found.type or type_of(example or ""),
        required=bool(_YES.match(says.strip())) or (not says and found.required),
        examples=tuple(dict.fromkeys([*([example] if example else []), *found.examples])),
        description=plain(cells.get("description", "")),
    )


def _split(text: str) -> Iterator[str]:
    """`text` cut at the commas outside brackets and quotes."""
    start, closers, quote = 0, "", ""
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in _PAIRS:
            closers += _PAIRS[character]
        elif closers and character == closers[-1]:
            closers = closers[:-1]
        elif character == "," and not closers:
            yield text[start:position]
            start = position + 1
    if text[start:].strip():
        yield text[start:]


def _cut(text: str, mark: str) -> tuple[str, str, str]:
    """`str.partition`, ignoring marks inside brackets."""
    depth = 0
    for position, character in enumerate(text):
        if character in _PAIRS:
            depth += 1
        elif character in _PAIRS.values():
            depth -= 1
        elif character == mark and depth <= 0:
            return text[:position], mark, text[position + 1 :]
    return text, "", ""
