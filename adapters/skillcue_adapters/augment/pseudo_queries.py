"""Requests that a skill answers, made from its graph: style, templates, values, checks.

The three stages of Skill2Query (Ding et al., arXiv 2608.16071, section 3.3 and appendix A), by
rule: how the file's own examples are worded decides the forms that come first; each capability is
put into forms with a ``{slot}`` a parameter; slots are filled with values that the file shows or
allows, and what comes out is checked against names, required ones, types, ranges and choices.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from skillcue_adapters.augment.nodes import Capability, Parameter, SkillGraph
from skillcue_adapters.augment.vocabulary import is_operation, operation_of

__all__ = [
    "MAX_QUERIES",
    "TURNS",
    "PseudoQuery",
    "Template",
    "fill",
    "forms_of",
    "problems",
    "pseudo_queries",
    "template",
    "values_of",
]

TURNS = 2
"""Requests for a capability, each of another kind."""

MAX_QUERIES = 24
"""Of a skill; capabilities take turns."""

SLOTS = 2
"""Optional parameters that a request mentions; required ones are all mentioned."""

_SLOT = re.compile(r"\{([^{}\n]{1,60})\}")
_WORDS = re.compile(r"[_\-\s]+")
_ASIDE = re.compile(r"[ \t]*\([^()]{0,200}\)")
_EDGES = re.compile(r"\A[\W_]+|[\W_]+\Z")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

FORMS = {
    "imperative": "{do}",
    "question": "how do I {do}?",
    "need": "I need to {do}",
    "polite": "can you {do} for me",
}
"""Kinds of requests, in the order they are used where a file has no examples."""


@dataclass(frozen=True, slots=True)
class Template:
    """A request with slots.

    Attributes:
        capability: Name of the capability it asks for.
        text: The request; ``{name}`` is a slot for the value of that parameter.
    """

    capability: str
    text: str


@dataclass(frozen=True, slots=True)
class PseudoQuery:
    """A request made up for a skill.

    Attributes:
        text: As a user would say it.
        capability: Name of the capability it asks for.
        values: Parameters that it gives, with their values as text.
    """

    text: str
    capability: str
    values: tuple[tuple[str, str], ...] = ()


def pseudo_queries(graph: SkillGraph, name: str) -> tuple[tuple[PseudoQuery, ...], int]:
    """Requests that pass all checks, and of how many that were made.

    Each capability has a turn before any has a second one, `TURNS` at most, and `MAX_QUERIES`
    together.

    Args:
        graph: Of the skill.
        name: The skill's, said where a capability's own name is no request.
    """
    forms = forms_of(graph.examples)
    made: list[tuple[Capability, Template]] = []
    for turn in range(TURNS):
        for number, capability in enumerate(graph.capabilities):
            form = forms[(number + turn) % len(forms)]
            made.append((capability, template(capability, form, name)))
    kept: dict[str, PseudoQuery] = {}
    tried = 0
    for capability, made_for in made:
        if len(kept) == MAX_QUERIES:
            break
        tried += 1
        query = fill(made_for, capability)
        if not problems(query, capability):
            kept.setdefault(query.text.casefold(), query)
    return tuple(kept.values()), tried


def forms_of(examples: Sequence[str]) -> tuple[str, ...]:
    """Kinds of requests, those that most of `examples` are first."""
    counts = dict.fromkeys(FORMS, 0)
    for example in examples:
        counts[_form_of(example)] += 1
    return tuple(sorted(FORMS, key=lambda form: -counts[form]))


def template(capability: Capability, form: str, skill: str) -> Template:
    """A request of the kind `form`, with slots for the parameters that it gives."""
    given = "".join(f" {_slot(parameter)}" for parameter in _mentioned(capability.parameters))
    do = f"{_action(capability, skill)}{given}"
    return Template(capability.name, FORMS[form].replace("{do}", do))


def fill(template: Template, capability: Capability) -> PseudoQuery:
    """The request with the first value that is known for each slot; unknown slots stay."""
    known = {parameter.name: parameter for parameter in capability.parameters}
    values: dict[str, str] = {}

    def value(slot: re.Match[str]) -> str:
        found = next(iter(values_of(known[slot[1]])), None) if slot[1] in known else None
        if found is None:
            return slot[0]
        values[slot[1]] = found
        return found

    text = _SLOT.sub(value, template.text)
    return PseudoQuery(" ".join(text.split()), template.capability, tuple(values.items()))


def values_of(parameter: Parameter) -> tuple[str, ...]:
    """Values to fill a slot with, best first: shown in the file, allowed by it, of the type.

    None for a text of which the file shows no example.
    """
    found = [*parameter.examples, *parameter.choices]
    if parameter.default is not None:
        found.append(parameter.default)
    if not parameter.choices:
        found += _of_type(parameter)
    return tuple(dict.fromkeys(value for value in found if not _value_problem(parameter, value)))


def problems(query: PseudoQuery, capability: Capability) -> list[str]:
    """What is wrong with a request as a call of `capability`; empty where nothing is."""
    known = {parameter.name: parameter for parameter in capability.parameters}
    given = dict(query.values)
    found = [f"{slot} is not filled" for slot in _SLOT.findall(query.text)]
    found += [f"there is no parameter {name}" for name in given if name not in known]
    found += [
        f"{p.name} is required" for p in capability.parameters if p.required and p.name not in given
    ]
    for name, value in given.items():
        problem = _value_problem(known[name], value) if name in known else ""
        found += [problem] if problem else []
    return found


def _value_problem(parameter: Parameter, value: str) -> str:
    if parameter.choices and value not in parameter.choices:
        return f"{parameter.name} is none of its choices"
    if parameter.type == "boolean" and value.lower() not in ("true", "false", "yes", "no"):
        return f"{parameter.name} is no boolean"
    bounded = parameter.minimum is not None or parameter.maximum is not None
    if parameter.type not in ("integer", "number") and not bounded:
        return "" if value.strip() else f"{parameter.name} is empty"
    number = _number(value)
    if number is None or (parameter.type == "integer" and not number.is_integer()):
        return f"{parameter.name} is no {parameter.type or 'number'}"
    low = parameter.minimum is not None and number < parameter.minimum
    high = parameter.maximum is not None and number > parameter.maximum
    return f"{parameter.name} is out of range" if low or high else ""


def _of_type(parameter: Parameter) -> list[str]:
    if parameter.type == "boolean":
        return ["true", "false"]
    if parameter.type not in ("integer", "number"):
        return []
    low, high = parameter.minimum, parameter.maximum
    middle = (low + high) / 2 if low is not None and high is not None else 3.0
    numbers = [middle if parameter.type == "number" else float(int(middle)), low, high]
    return [f"{number:g}" for number in numbers if number is not None]


def _number(value: str) -> float | None:
    try:
        return float(value) if len(value) <= 40 and value.lower() not in ("nan", "inf") else None
    except ValueError:
        return None


def _mentioned(parameters: Sequence[Parameter]) -> list[Parameter]:
    """All required ones, and the first optional ones that a value is known for."""
    optional = [p for p in parameters if not p.required and values_of(p)][:SLOTS]
    return [p for p in parameters if p.required or p in optional]


def _slot(parameter: Parameter) -> str:
    words = _spoken(parameter.name)
    if parameter.type == "boolean" and not parameter.required:
        return f"with {words}"
    return f"with {words} {{{parameter.name}}}"


def _action(capability: Capability, skill: str) -> str:
    """What is asked for, beginning with a verb in its base form."""
    words = _spoken(capability.name).split() or [_spoken(skill)]
    verb = _verb(words)
    if verb and (len(words) > 1 or capability.name == skill):
        return " ".join([verb, *words[1:]])
    said = _ends(_ASIDE.sub("", capability.description)).split()
    if len(said) > 2 and is_operation(said[0].lower()):
        return " ".join([said[0].lower(), *said[1:]])
    about = "" if capability.name == skill else f" for {_spoken(skill)}"
    return f"get help with {' '.join(words)}{about}"


def _verb(words: list[str]) -> str:
    """The verb that `words` begin with, as an order or as a gerund; empty where it is neither.

    Other forms are mostly nouns ("transformation patterns"), and of two gerunds ("loading and
    saving") only one would be put right.
    """
    gerund = words[0].endswith("ing") and "and" not in words[1:2]
    found = operation_of(words[0]) if gerund or is_operation(words[0]) else None
    return found or ""


def _spoken(name: str) -> str:
    """A name of code or a heading as words."""
    words = _WORDS.sub(" ", _CAMEL.sub(" ", _ends(_ASIDE.sub("", name))))
    return " ".join(word if word.isupper() else word.lower() for word in words.split())


def _ends(text: str) -> str:
    """`text` without slots, and without signs at its ends."""
    return _EDGES.sub("", text.replace("{", "").replace("}", ""))


def _form_of(example: str) -> str:
    text = example.strip().lower()
    if text.startswith(("can you", "could you", "please", "would you")):
        return "polite"
    if text.endswith("?") or text.startswith(("how", "what", "why", "when", "which", "where")):
        return "question"
    if text.startswith(("i need", "i want", "i'd like", "i have", "we need")):
        return "need"
    return "imperative"
