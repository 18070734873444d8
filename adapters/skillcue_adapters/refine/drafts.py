"""What the sub-agent hands in, checked like a SKILL.md file, as skills.

The rules for name and description are those of the Agent Skills format
(https://agentskills.io/specification): 1 to 64 lower-case letters, digits and single hyphens; 1 to
1024 characters.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skillcue_adapters.refine.likeness import Words, is_same_text, words_of
from skillcue_adapters.refine.quoting import one_line, plain_text
from skillcue_adapters.refine.settings import RefineSettings
from skillcue_hooks.contracts import Skill

__all__ = ["DESCRIPTION_CHARS", "NAME_CHARS", "Draft", "DraftError", "checked_drafts"]

NAME_CHARS = 64
DESCRIPTION_CHARS = 1024

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


class DraftError(ValueError):
    """What was handed in cannot be used; the message says why, for the model."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A skill as the sub-agent wrote it, cleaned and within bounds.

    Attributes:
        name: As the format has it.
        description: One line.
        body: Without blank lines at either end.
        derived_from: Ids of skills that were read, in the order they were named.
    """

    name: str
    description: str
    body: str
    derived_from: tuple[str, ...]


def checked_drafts(
    handed_in: Any, read: Mapping[str, Skill], settings: RefineSettings
) -> tuple[Draft, ...]:
    """The drafts, of bodies that are one text the first; empty where nothing helps, says the model.

    Args:
        handed_in: The argument ``skills`` of ``finish``, whatever it is.
        read: The skills that were read, by id; other ids are dropped from `Draft.derived_from`.
        settings: How many skills there may be, and how long a body.

    Raises:
        DraftError: A draft breaks a rule, comes from nothing that was read, or shares its name.
    """
    if not isinstance(handed_in, list):
        raise DraftError("`skills` must be a list of objects.")
    if len(handed_in) > settings.skills:
        raise DraftError(f"`skills` has {len(handed_in)} items; at most {settings.skills} fit.")
    drafts: dict[Words, Draft] = {}
    for item in handed_in:
        draft = _checked(item, read, settings)
        words = words_of(draft.body)
        if any(is_same_text(words, other) for other in drafts):
            continue
        if any(draft.name == other.name for other in drafts.values()):
            raise DraftError(f"Two skills are named {draft.name}; each name may stand once.")
        drafts[words] = draft
    return tuple(drafts.values())


def _checked(item: Any, read: Mapping[str, Skill], settings: RefineSettings) -> Draft:
    if not isinstance(item, Mapping):
        raise DraftError("Each of `skills` must be an object.")
    name = _text(item, "name")
    if len(name) > NAME_CHARS or not _NAME.fullmatch(name):
        raise DraftError(
            f"name must be lower-case words joined by hyphens, at most {NAME_CHARS} characters."
        )
    description = " ".join(_text(item, "description").split())
    if len(description) > DESCRIPTION_CHARS:
        raise DraftError(f"description is longer than {DESCRIPTION_CHARS} characters.")
    body = _text(item, "body")
    if len(body) > settings.body_chars:
        raise DraftError(f"body is longer than {settings.body_chars} characters.")
    parents = _parents(item.get("derived_from"), read)
    if not parents:
        raise DraftError(f"derived_from of {name} names no skill that was read with detail.")
    return Draft(name, description, body, parents)


def _text(item: Mapping[str, Any], key: str) -> str:
    value = item.get(key)
    text = plain_text(value).strip() if isinstance(value, str) else ""
    if not text:
        raise DraftError(f"`{key}` must be a text that is not empty.")
    return text


def _parents(given: Any, read: Mapping[str, Skill]) -> tuple[str, ...]:
    named = given if isinstance(given, list) else [given]
    shown = {one_line(skill_id): skill_id for skill_id in read}
    ids = [_read_id(text.strip(), read, shown) for text in named if isinstance(text, str)]
    return tuple(dict.fromkeys(skill_id for skill_id in ids if skill_id is not None))


def _read_id(given: str, read: Mapping[str, Skill], shown: Mapping[str, str]) -> str | None:
    """The id as it is or as it was shown, marked up or not."""
    plain = html.unescape(given)
    return next((text for text in (given, plain) if text in read), shown.get(one_line(plain)))
