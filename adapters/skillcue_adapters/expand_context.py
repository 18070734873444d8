"""What a language model is told about a seed skill: its capabilities, parameters and examples.

The structured context of "Skill2Query" (section 3.2, appendix B), within a size.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import Any

from skillcue_adapters.augment.skill_graph import Capability, Parameter, parse_skill_graph
from skillcue_hooks.contracts import Skill

__all__ = ["seed_context"]

NAME_CHARS = 100
"""Longest name shown, characters."""

LINE_CHARS = 300
"""Longest capability or example shown, characters."""

VALUES = 5
"""Values of a parameter that are shown."""


def seed_context(skill: Skill, limit: int) -> dict[str, Any]:
    """Name, description, capabilities with their parameters, and examples, as plain JSON.

    The description takes up to half of the room; then capabilities and examples take turns until
    one does not fit.

    Args:
        skill: The skill.
        limit: Size of the context as JSON, characters.
    """
    graph = parse_skill_graph(skill)
    context: dict[str, Any] = {
        "name": skill.name[:NAME_CHARS],
        "description": " ".join(skill.description.split())[: limit // 2],
    }
    capabilities = (("capabilities", _capability(item)) for item in graph.capabilities)
    examples = (("examples", text) for text in graph.examples)
    turns = chain.from_iterable(zip_longest(capabilities, examples))
    room = limit - _size(context) - len('"capabilities": [], "examples": [], ')
    for part, line in filter(None, turns):
        shown = line[:LINE_CHARS]
        room -= _size(shown) + 2
        if room < 0:
            break
        context.setdefault(part, []).append(shown)
    return context


def _capability(capability: Capability) -> str:
    text = capability.name
    if capability.description and capability.description != capability.name:
        text += f": {capability.description}"
    parameters = "; ".join(map(_parameter, capability.parameters))
    return f"{text} [{parameters}]" if parameters else text


def _parameter(parameter: Parameter) -> str:
    facts = ", ".join(_facts(parameter))
    return f"{parameter.name} ({facts})" if facts else parameter.name


def _facts(parameter: Parameter) -> Iterator[str]:
    if parameter.type:
        yield parameter.type
    if parameter.required:
        yield "required"
    if parameter.default is not None:
        yield f"default {parameter.default}"
    if parameter.minimum is not None:
        yield f"from {parameter.minimum:g}"
    if parameter.maximum is not None:
        yield f"to {parameter.maximum:g}"
    values = parameter.choices or parameter.examples
    if values:
        yield f"{'one of' if parameter.choices else 'such as'} {' | '.join(values[:VALUES])}"


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False))
