"""A refined skill as a SKILL.md file and back.

Reading takes nothing but what writing gives: front matter of four known lines, and a text that
hashes to the id. A file that was edited is no refined skill any more.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from skillcue_adapters.refine.composed import FOUND_KEY, READ_KEY, REFINED_SOURCE, refined_id
from skillcue_hooks.contracts import Skill
from skillcue_hooks.fingerprint import fingerprint

__all__ = ["skill_from_text", "skill_text"]

_FILE = re.compile(
    r"---\nname: (?P<name>[a-z0-9-]+)\ndescription: (?P<description>\"[^\n]*\")\nmetadata:\n"
    r"  derived-from: (?P<parents>\[[^\n]*\])\n  read: (?P<read>\[[^\n]*\])\n"
    r"  found: (?P<found>\[[^\n]*\])\n---\n\n"
    r"(?P<body>.*)\n",
    re.DOTALL,
)


def skill_text(skill: Skill) -> str:
    """The file of `skill`; JSON texts are YAML as well."""
    return (
        f"---\nname: {skill.name}\ndescription: {_json(skill.description)}\nmetadata:\n"
        f"  derived-from: {_json(list(skill.derived_from))}\n  read: {skill.metadata[READ_KEY]}\n"
        f"  found: {skill.metadata[FOUND_KEY]}\n---\n\n"
        f"{skill.body}\n"
    )


def skill_from_text(text: str, skill_id: str, path: Path) -> Skill | None:
    """The skill that `skill_text` wrote, without trust; None for anything else.

    Args:
        text: Of the file.
        skill_id: The id that it must hash to.
        path: Of the file.
    """
    match = _FILE.fullmatch(text)
    if match is None:
        return None
    try:
        description, parents, read, found = (
            json.loads(match[key]) for key in ("description", "parents", "read", "found")
        )
        name, body = match["name"], match["body"]
        if refined_id(name, description, body, parents, read, found) != skill_id:
            return None
    except (ValueError, TypeError, RecursionError):
        return None
    return Skill(
        id=skill_id,
        name=name,
        description=description,
        body=body,
        path=path,
        source=REFINED_SOURCE,
        metadata={READ_KEY: match["read"], FOUND_KEY: match["found"]},
        content_hash=fingerprint(name, description, body),
        trust="untrusted",
        derived_from=tuple(parents),
        pushable=False,
    )


def _json(value: str | list[str]) -> str:
    return json.dumps(value, ensure_ascii=False)
