"""What the `allowed-tools` of skills let through: rules, read from text and held against calls.

The syntax is that of Claude Code: a tool's name, alone or with a pattern for its command behind it,
as in ``Read``, ``Bash(git status)`` and ``Bash(git:*)``. Whatever else a rule says allows nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from skillcue_hooks.contracts import Skill

__all__ = ["AllowedTools", "ToolNames", "ToolRule", "read_rules", "tools_by_skill"]

ToolNames = Mapping[str, str | Sequence[str]]
"""Names that skills use for tools, to what the tools of the agent are called."""

COMMAND_ARGUMENTS = ("command", "commands", "cmd")
"""Arguments that may hold a command; a call with several of them fits no pattern."""

_RULE = re.compile(r"(?P<tool>[A-Za-z_][\w.-]*)(?:\((?P<pattern>[^()]+)\))?", re.ASCII)
_PREFIX = re.compile(r"(?P<start>[^*]*[^*\s:])(?::\*|\s\*)")
_PLAIN = re.compile(r"[^*?\[\]{}]+")
_BESIDE = re.compile(r",\s+")
_QUOTES = re.compile(r"[\"'`]")
_SECOND_COMMAND = re.compile(r"[;&|<>$`()\r\n\x00]")
"""What may begin another command, or write to a file, in a shell."""


@dataclass(frozen=True, slots=True)
class ToolRule:
    """One tool, with all it can do or with some commands of it.

    Attributes:
        tool: Its name, as the skill has it.
        kind: ``any`` call, the ``exact`` command, or commands with a ``prefix``.
        text: The command, or what it begins with; empty for any.
    """

    tool: str
    kind: Literal["any", "exact", "prefix"] = "any"
    text: str = ""

    def __str__(self) -> str:
        if self.kind == "any":
            return self.tool
        return f"{self.tool}({self.text}{':*' if self.kind == 'prefix' else ''})"

    def covers(self, command: str) -> bool:
        """Whether it allows the command; one with a prefix must be a single command."""
        said = command.strip(" \t")
        if self.kind != "prefix":
            return self.kind == "any" or said == self.text
        if _SECOND_COMMAND.search(said):
            return False
        return said == self.text or said.startswith((f"{self.text} ", f"{self.text}\t"))


class AllowedTools:
    """The rules of all skills that are active, joined. Immutable.

    Args:
        written: Rules as skills have them; see `Skill.allowed_tools`.
        names: What tools are called in this agent, besides the names that skills use.
    """

    def __init__(self, written: Iterable[str], names: ToolNames | None = None) -> None:
        self.rules, self.unknown = read_rules(written)
        self._by_tool: dict[str, list[ToolRule]] = {}
        for rule in self.rules:
            own = (names or {}).get(rule.tool, ())
            for tool in dict.fromkeys((rule.tool, *([own] if isinstance(own, str) else own))):
                self._by_tool.setdefault(tool, []).append(rule)

    def offers(self, tool: str) -> bool:
        """Whether some call of the tool is allowed."""
        return tool in self._by_tool

    def allows(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Whether this call is allowed."""
        rules = self._by_tool.get(tool, ())
        if any(rule.kind == "any" for rule in rules):
            return True
        commands = _commands(arguments)
        return bool(commands) and all(any(r.covers(c) for r in rules) for c in commands)


def read_rules(written: Iterable[str]) -> tuple[tuple[ToolRule, ...], tuple[str, ...]]:
    """The rules, each once and in order, and what is written in no syntax that is known."""
    rules: dict[ToolRule, None] = {}
    unknown: dict[str, None] = {}
    for text in written:
        found = _read_rule(text.strip())
        if found:
            rules.update(dict.fromkeys(found))
        else:
            unknown[text] = None
    return tuple(rules), tuple(unknown)


def tools_by_skill(skills: Iterable[Skill]) -> dict[str, list[str]]:
    """What skills allow, by id, as plain data; those that say nothing are left out."""
    return {skill.id: list(skill.allowed_tools) for skill in skills if skill.allowed_tools}


def _read_rule(text: str) -> list[ToolRule]:
    match = _RULE.fullmatch(text)
    if match is None:
        return []
    tool, pattern = match["tool"], match["pattern"]
    if pattern is None or pattern.strip() == "*":
        return [ToolRule(tool)]
    several = _BESIDE.split(pattern.strip())
    if len(several) > 1 and _QUOTES.search(pattern):  # the comma may belong to an argument
        return []
    rules = [_pattern_rule(tool, part.strip()) for part in several]
    return [rule for rule in rules if rule] if all(rules) else []


def _pattern_rule(tool: str, pattern: str) -> ToolRule | None:
    prefix = _PREFIX.fullmatch(pattern)
    kind: Literal["exact", "prefix"] = "prefix" if prefix else "exact"
    text = (prefix["start"] if prefix else pattern).strip()
    return ToolRule(tool, kind, text) if _PLAIN.fullmatch(text) else None


def _commands(arguments: Mapping[str, Any]) -> list[str]:
    """What the one argument that holds commands holds; nothing where it cannot be told."""
    given = [arguments[name] for name in COMMAND_ARGUMENTS if name in arguments]
    if len(given) != 1:
        return []
    value = [given[0]] if isinstance(given[0], str) else given[0]
    plain = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return value if plain else []
