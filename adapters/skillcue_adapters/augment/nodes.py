"""The nodes of a skill graph: what a skill can do, with which parameters, and how it is asked.

After the Skill Knowledge Graph of Skill2Query (Ding et al., arXiv 2608.16071, section 3.2).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Capability", "Parameter", "SkillGraph"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One input of a capability, as far as the file describes it.

    Attributes:
        name: As written, without the hyphens of a flag.
        type: ``string``, ``integer``, ``number``, ``boolean``, ``array`` or ``object``; empty
            where nothing says which.
        required: The file says that it must be given.
        default: What holds when it is not given, as text.
        minimum: Smallest value allowed.
        maximum: Largest value allowed.
        choices: The only values allowed, as text; empty where anything is.
        examples: Values that the file shows, as text.
        description: One line; may be empty.
    """

    name: str
    type: str = ""
    required: bool = False
    default: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class Capability:
    """One thing a skill does.

    Attributes:
        name: A heading, a listed feature or a function's name.
        description: One line; may be empty.
        parameters: In the order of the file, each name once.
    """

    name: str
    description: str = ""
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillGraph:
    """What one skill file says about its use.

    Attributes:
        skill_id: Id of the skill.
        capabilities: In the order of the file, one at least.
        examples: Requests in the words of a user that the file quotes, each once.
    """

    skill_id: str
    capabilities: tuple[Capability, ...]
    examples: tuple[str, ...] = ()
