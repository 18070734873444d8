"""The pull tools as a model's provider wants them described, and what models write to call them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from skillcue_hooks.errors import ConfigurationError, SkillcueError

__all__ = ["SchemaStyle", "Schemas", "tool_schema", "written_arguments"]

SchemaStyle = Literal["openai", "responses", "anthropic"]
Schemas = list[dict[str, Any]]

_PAGE = {"type": "integer", "description": "page, from 1", "default": 1}
_PARAMETERS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "lookup": {
        "query": {"type": "string", "description": "5 to 15 words that describe the task"},
        "k": {"type": "integer", "description": "number of results, 1 to 20", "default": 5},
        "offset": {"type": "integer", "description": "results to skip", "default": 0},
    },
    "load": {
        "name": {"type": "string", "description": "name or id of the skill"},
        "file": {"type": "string", "description": "path of a file beside the skill"},
        "page": _PAGE,
    },
    "list": {"page": _PAGE},
}
_REQUIRED = {"lookup": ["query"], "load": ["name"], "list": []}


def tool_schema(style: SchemaStyle, name: str, description: str, tool: str) -> dict[str, Any]:
    """One tool as a provider's client takes it.

    Args:
        style: ``openai``, ``responses`` or ``anthropic``.
        name: What the model calls it.
        description: What the model reads about it.
        tool: ``lookup``, ``load`` or ``list``.

    Raises:
        ConfigurationError: There is no such style.
    """
    properties = {name: dict(about) for name, about in _PARAMETERS[tool].items()}
    schema = {"type": "object", "properties": properties, "required": list(_REQUIRED[tool])}
    named = {"name": name, "description": description}
    if style == "openai":
        return {"type": "function", "function": {**named, "parameters": schema}}
    if style == "responses":
        return {"type": "function", **named, "parameters": schema}
    if style == "anthropic":
        return {**named, "input_schema": schema}
    raise ConfigurationError(
        f"There is no style {style!r}.", 'Use "openai", "responses" or "anthropic".'
    )


def written_arguments(tool: str, arguments: Any) -> dict[str, Any]:
    """What a model wrote, as arguments of the tool; a missing one is None, so that the tool says so.

    Args:
        tool: ``lookup``, ``load`` or ``list``.
        arguments: A mapping or JSON text; None and empty text are no argument.

    Raises:
        SkillcueError: It is no JSON object; the message is for the model.
    """
    given = {} if arguments is None else arguments
    if isinstance(arguments, str):
        try:
            given = json.loads(arguments) if arguments.strip() else {}
        except ValueError:
            given = None
    if not isinstance(given, Mapping):
        raise SkillcueError("The arguments are no JSON object.", "Write them as one.")
    named = {name: given[name] for name in _PARAMETERS[tool] if name in given}
    return {**dict.fromkeys(_REQUIRED[tool]), **named}
