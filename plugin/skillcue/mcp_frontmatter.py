"""Front matter of a SKILL.md as the MCP Skills extension wants it: verbatim, as a JSON object.

The library reads any file it can make sense of. Here a file either follows the Agent Skills
specification to the letter or is not published, because hosts compare what they are told with what
they read themselves.

Sources: agentskills.io/specification; the Skills extension of MCP (SEP-2640), "Skill Entries".
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import yaml

from skillcue.library.frontmatter import HeaderError, load_map
from skillcue.library.limits import ReadLimits

__all__ = ["UnpublishedError", "strict_frontmatter"]

NAME_CHARS = 64
DESCRIPTION_CHARS = 1_024
COMPATIBILITY_CHARS = 500

_BLOCK = re.compile(r"---\r?\n(.*?)\r?\n---(?:\r?\n|\Z)", re.DOTALL)
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_KINDS: Mapping[str, tuple[type, ...]] = {
    "license": (str,),
    "compatibility": (str,),
    "metadata": (dict,),
    "allowed-tools": (str, list),
}


class UnpublishedError(Exception):
    """The skill cannot be published as resources; the pull tools have it all the same."""


class _Loader(yaml.SafeLoader):
    """Values as JSON has them: text that looks like a date stays text."""


_Loader.yaml_implicit_resolvers = {
    start: [(tag, rule) for tag, rule in rules if tag != "tag:yaml.org,2002:timestamp"]
    for start, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def strict_frontmatter(document: bytes, limits: ReadLimits) -> dict[str, Any]:
    """The fields of a SKILL.md file, as JSON values.

    Args:
        document: The bytes of the file.
        limits: Bounds of the header.

    Raises:
        UnpublishedError: The file does not follow the specification.
    """
    try:
        block = _BLOCK.match(document.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise UnpublishedError("it is not UTF-8") from None
    if block is None:
        raise UnpublishedError("it does not begin with front matter")
    fields = _fields(block[1], limits)
    _check(fields)
    return fields


def _fields(header: str, limits: ReadLimits) -> dict[str, Any]:
    try:
        findings = load_map(header.replace("\r\n", "\n"), limits).findings  # bounded; no anchors
        fields = yaml.load(header, Loader=_Loader)  # a SafeLoader
    except (HeaderError, yaml.YAMLError, ValueError, RecursionError) as error:
        raise UnpublishedError(f"its front matter is not valid: {error}") from None
    if findings or not isinstance(fields, dict) or not _is_json(fields):
        raise UnpublishedError("its front matter is not a plain map of JSON values")
    return fields


def _check(fields: Mapping[str, Any]) -> None:
    name, description = fields.get("name"), fields.get("description")
    if not isinstance(name, str) or len(name) > NAME_CHARS or not _NAME.fullmatch(name):
        raise UnpublishedError("its name is not lower-case letters, digits and single hyphens")
    if not isinstance(description, str) or not description.strip():
        raise UnpublishedError("it has no description")
    if len(description) > DESCRIPTION_CHARS:
        raise UnpublishedError(f"its description has more than {DESCRIPTION_CHARS} characters")
    wrong = [key for key, kinds in _KINDS.items() if key in fields and not _is(fields[key], kinds)]
    if wrong or not 1 <= len(fields.get("compatibility", "-")) <= COMPATIBILITY_CHARS:
        raise UnpublishedError(f"{(wrong or ['compatibility'])[0]} has a value it must not have")


def _is(value: Any, kinds: tuple[type, ...]) -> bool:
    if isinstance(value, list) and not all(isinstance(item, str) for item in value):
        return False
    return isinstance(value, kinds)


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
    if isinstance(value, list):
        return all(_is_json(item) for item in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | bool | int)
