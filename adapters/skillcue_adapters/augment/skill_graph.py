"""Reads a SKILL.md file into a graph of capabilities, parameters and usage examples.

Rules, no model: headings, lists of features and functions are capabilities; argument tables,
lists, command-line flags and signatures are their parameters; quoted requests are examples. After
the Skill Knowledge Graph of Skill2Query (Ding et al., arXiv 2608.16071, section 3.2). Equal files
give equal graphs, in any process; no file makes it raise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from skillcue_adapters.augment.markdown import Fence, Section, plain, sections, sentence
from skillcue_adapters.augment.nodes import Capability, Parameter, SkillGraph
from skillcue_adapters.augment.parameters import (
    flag_parameters,
    item_parameter,
    merged,
    signature_parameters,
    table_parameters,
)
from skillcue_hooks.contracts import Skill

__all__ = [
    "MAX_CAPABILITIES",
    "MAX_EXAMPLES",
    "MAX_PARAMETERS",
    "Capability",
    "Parameter",
    "SkillGraph",
    "parse_skill_graph",
]

MAX_CAPABILITIES = 32
"""Of a skill; later ones are left out."""

MAX_PARAMETERS = 24
"""Of a capability; later ones are left out."""

MAX_EXAMPLES = 16
"""Of a skill; later ones are left out."""

_PARAMETER_TITLE = re.compile(
    r"\b(?:parameters?|arguments?|args|options|flags|inputs?|settings|configuration)\b",
    re.IGNORECASE,
)
_EXAMPLE_TITLE = re.compile(
    r"\b(?:examples?|prompts?|trigger|triggers|when to use|usage)\b", re.IGNORECASE
)
_FEATURE_TITLE = re.compile(
    r"\b(?:capabilit(?:y|ies)|features|functions|operations|commands|what (?:it|this skill) does)\b",
    re.IGNORECASE,
)
_GENERIC_TITLE = re.compile(
    r"(?:(?:core|general|key|quick|common|main|basic|advanced|external|additional|important) )?"
    r"(?:overview|introduction|background|about|summary|start|getting started|installation|install|"
    r"setup|prerequisites?|requirements?|dependencies|references?|resources?|notes?|see also|"
    r"further reading|troubleshooting|faq|limitations?|license|credits|changelog|version history|"
    r"best practices|tips|mistakes|issues|pitfalls|warnings?|instructions?|purpose|goals?|contents|"
    r"table of contents|concepts|principles|guidelines|workflow|process|procedure|methodology|"
    r"imports|output(?: format)?|file (?:structure|naming)|checklist|verification|rules|commands|"
    r"comparison(?: table)?|decision tree|when not to use(?: it)?|related skills?|next steps|"
    r"conclusion|context|description|details|implementation|code|solution|problem)",
    re.IGNORECASE,
)
_PYTHON_DEF = re.compile(r"^(?:async[ \t]+)?def[ \t]+([A-Za-z]\w{0,59})[ \t]*\(", re.MULTILINE)
_SCRIPT_DEF = re.compile(
    r"^(?:export[ \t]+)?(?:async[ \t]+)?function[ \t]+([A-Za-z]\w{0,59})[ \t]*\(", re.MULTILINE
)
_DOCSTRING = re.compile(r"[^\n]*:[ \t]*\n[ \t]*[rR]?(?:\"\"\"|''')[ \t]*\n?[ \t]*([^\n\"']{3,200})")
_CALL = re.compile(
    r"`?([A-Za-z][\w.]{0,59})\(([^()\n]{0,300})\)`?(?:[ \t]*(?::|-|\u2013|\u2014)[ \t]*(.*))?",
    re.DOTALL,
)
_FEATURE = re.compile(
    r"(?:\*\*|__)([^*_\n]{3,80}?):?(?:\*\*|__)[ \t]*(?::|-|\u2013|\u2014)?[ \t]*(.*)", re.DOTALL
)
_QUOTED = re.compile(r"[\"\u201c\u201e]([^\"\u201c\u201d\u201e\n]{8,200})[\"\u201d\u201c]")
_SPOKEN = re.compile(
    r"(?:>[ \t]*)?(?:\*\*)?(?:user|prompt|request|query)(?:\*\*)?:(?:\*\*)?[ \t]*(.{8,200})",
    re.IGNORECASE,
)
_SIGNATURE_CHARS = 2_000
"""A signature whose closing bracket is further away is not read."""


@dataclass
class _Building:
    """A capability while its sections are read."""

    name: str
    description: str
    level: int
    parameters: list[Parameter] = field(default_factory=list)

    def finished(self) -> Capability:
        return Capability(self.name, self.description, merged(self.parameters, MAX_PARAMETERS))


def parse_skill_graph(skill: Skill) -> SkillGraph:
    """The graph of `skill`, from its name, description and body alone.

    A file without any structure gives one capability: the skill itself.
    """
    parts = sections(skill.body)
    whole = _Building(skill.name, sentence(skill.description), 0)
    found = [whole]
    for part in parts:
        found += _read(part, found, whole)
    named = [c for c in found[1:] if c.name.casefold() != skill.name.casefold()]
    keep = [whole, *named] if whole.parameters or not named else named
    capabilities = _each_once(building.finished() for building in keep)
    return SkillGraph(skill.id, capabilities[:MAX_CAPABILITIES], _examples(skill, parts))


def _read(part: Section, found: list[_Building], whole: _Building) -> list[_Building]:
    """The capabilities that `part` adds; its parameters go to the one they belong to."""
    listed = _PARAMETER_TITLE.search(part.title) is not None
    new: list[_Building] = []
    owner = _owner(part, found, whole)
    if _names_capability(part) and not listed:
        owner = _Building(part.title, _summary(part), part.level)
        new.append(owner)
    owner.parameters += _parameters(part, listed)
    call = _CALL.fullmatch(part.title)
    if call is not None and new:
        owner.name = call[1]
        owner.parameters[:0] = signature_parameters(call[2])
    features = _features(part) if _FEATURE_TITLE.search(part.title) else []
    if features and new:
        new.remove(owner)
        whole.parameters += owner.parameters
    return [*new, *features, *_functions(part)]


def _owner(part: Section, found: list[_Building], whole: _Building) -> _Building:
    """The capability above a section that is none: the last one with a heading of higher level."""
    headed = [c for c in found if 0 < c.level < part.level]
    return headed[-1] if headed else whole


def _names_capability(part: Section) -> bool:
    """A heading below the title that is not about the file itself."""
    title = part.title
    return (
        part.level >= 2
        and 3 <= len(title) <= 80
        and _GENERIC_TITLE.fullmatch(title) is None
        and _EXAMPLE_TITLE.search(title) is None
    )


def _summary(part: Section) -> str:
    first = next((line for line in part.prose if not line.startswith(("|", ">", "<!--"))), "")
    text = first or (part.items[0].text if part.items else "")
    return sentence(text)[:200]


def _parameters(part: Section, listed: bool) -> Iterator[Parameter]:
    for table in part.tables:
        yield from table_parameters(table)
    for item in part.items:
        parameter = item_parameter(item, listed=listed)
        if parameter is not None:
            yield parameter
    for fence in part.fences:
        yield from flag_parameters(fence)


def _features(part: Section) -> list[_Building]:
    found = []
    for item in part.items:
        if item.indent > 1:
            continue
        if call := _CALL.fullmatch(item.text):
            parameters = signature_parameters(call[2])
            found.append(_Building(call[1], sentence(call[3] or ""), 7, parameters))
        elif feature := _FEATURE.match(item.text):
            found.append(_Building(plain(feature[1]), sentence(feature[2]), 7))
        elif len(sentence(item.text)) >= 3:
            found.append(_Building(sentence(item.text)[:80], plain(item.text)[:200], 7))
    return found


def _functions(part: Section) -> list[_Building]:
    """Functions that the section defines or lists with their signature."""
    found = [function for fence in part.fences for function in _defined(fence)]
    if _FEATURE_TITLE.search(part.title):
        return found
    for item in part.items:
        call = _CALL.fullmatch(item.text)
        if call is not None and item.text.startswith("`"):
            parameters = signature_parameters(call[2])
            found.append(_Building(call[1], sentence(call[3] or ""), 7, parameters))
    return found


def _defined(fence: Fence) -> Iterator[_Building]:
    pattern = (
        _SCRIPT_DEF if fence.language in ("js", "javascript", "ts", "typescript") else _PYTHON_DEF
    )
    for match in pattern.finditer(fence.code):
        rest = fence.code[match.end() : match.end() + _SIGNATURE_CHARS]
        end = _closing(rest)
        if end is None or match[1] in ("main", "test"):
            continue
        docstring = _DOCSTRING.match(rest, end + 1)
        description = sentence(docstring[1]) if docstring else ""
        yield _Building(match[1], description, 7, signature_parameters(_uncommented(rest[:end])))


def _closing(text: str) -> int | None:
    """Where the bracket that is open before `text` closes."""
    depth = 1
    for position, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return position
    return None


def _uncommented(signature: str) -> str:
    return "\n".join(line.partition(" #")[0] for line in signature.split("\n"))


def _examples(skill: Skill, parts: Iterable[Section]) -> tuple[str, ...]:
    found = _QUOTED.findall(skill.description)
    for part in parts:
        lines = [*part.prose, *(item.text for item in part.items)]
        found += [plain(m[1]).strip("\"'") for line in lines if (m := _SPOKEN.match(line))]
        if _EXAMPLE_TITLE.search(part.title):
            found += [quoted for line in lines for quoted in _QUOTED.findall(line)]
    spoken = (plain(text).rstrip(".,") for text in found)
    return tuple(dict.fromkeys(text for text in spoken if len(text.split()) > 2))[:MAX_EXAMPLES]


def _each_once(capabilities: Iterable[Capability]) -> tuple[Capability, ...]:
    found: dict[str, Capability] = {}
    for capability in capabilities:
        found.setdefault(capability.name.casefold(), capability)
    return tuple(found.values())
