"""Refined skills as `Skill` records: ids made from their content, trust from what was read.

A refined skill holds words of everything that was read before it was written, whatever the model
says it took parts from: an untrusted skill could tell it to name others. So its trust is the lowest
of all of them, it is pushed only if each of them may be, and it goes when one of them is deleted.
Who may not see one of them, or one that a search showed by name and description, does not see it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path

from skillcue_adapters.refine.drafts import Draft
from skillcue_adapters.refine.quoting import plain_text
from skillcue_hooks.contracts import Scope, Skill
from skillcue_hooks.fingerprint import fingerprint

__all__ = [
    "FOUND_KEY",
    "ID_PREFIX",
    "READ_KEY",
    "REFINED_SOURCE",
    "composed_skill",
    "found_ids",
    "may_see",
    "read_ids",
    "refined_id",
    "with_parents",
]

ID_PREFIX = "refined:"
"""What the ids of refined skills begin with; ids of a library hold an ``@``."""

REFINED_SOURCE = "refined"
"""`Skill.source` of refined skills."""

READ_KEY = "read"
"""Metadata key of the ids of all skills that were read, a JSON list."""

FOUND_KEY = "found"
"""Metadata key of the ids of the skills that searches showed and that were not read, a JSON list."""

HASH_DIGITS = 16

Find = Callable[[str], Skill | None]
"""The skill of a library with an id, None where it has none."""


def refined_id(
    name: str,
    description: str,
    body: str,
    parents: Iterable[str],
    read: Iterable[str],
    found: Iterable[str],
) -> str:
    """``refined:<hash>`` of everything the skill is made of."""
    digest = fingerprint("refined", name, description, body, [*parents], [*read], [*found])
    return f"{ID_PREFIX}{digest[:HASH_DIGITS]}"


def composed_skill(draft: Draft, read: Collection[str], found: Collection[str]) -> Skill:
    """The skill of a draft, without the trust and the path that it gets later.

    Args:
        draft: What was handed in.
        read: Ids of all skills that were read.
        found: Ids of the skills that searches showed.
    """
    ids, shown = sorted(read), sorted({*found}.difference(read))
    body = f"{draft.body}\n\n{_origin(draft.derived_from)}"
    skill_id = refined_id(draft.name, draft.description, body, draft.derived_from, ids, shown)
    return Skill(
        id=skill_id,
        name=draft.name,
        description=draft.description,
        body=body,
        path=Path(REFINED_SOURCE) / skill_id.removeprefix(ID_PREFIX) / "SKILL.md",
        source=REFINED_SOURCE,
        metadata={
            READ_KEY: json.dumps(ids, ensure_ascii=False),
            FOUND_KEY: json.dumps(shown, ensure_ascii=False),
        },
        content_hash=fingerprint(draft.name, draft.description, body),
        trust="untrusted",
        derived_from=draft.derived_from,
        pushable=False,
    )


def read_ids(skill: Skill) -> tuple[str, ...]:
    """Ids of all skills that were read before `skill` was written, its parents included."""
    return tuple(dict.fromkeys((*skill.derived_from, *json.loads(skill.metadata[READ_KEY]))))


def found_ids(skill: Skill) -> tuple[str, ...]:
    """Ids of the skills that the model was shown in lists only before it wrote `skill`."""
    return tuple(json.loads(skill.metadata[FOUND_KEY]))


def with_parents(skill: Skill, find: Find) -> Skill | None:
    """`skill` as what was read for it allows: its trust and flags, and the tools of the parents;
    None where some of that is gone.
    """
    sources = [find(skill_id) for skill_id in read_ids(skill)]
    present = [source for source in sources if source is not None]
    if not skill.derived_from or len(present) < len(sources):
        return None
    parents = present[: len(dict.fromkeys(skill.derived_from))]  # `read_ids` begins with them
    trusted = all(source.trust == "trusted" for source in present)
    return replace(
        skill,
        trust="trusted" if trusted else "untrusted",
        pushable=all(source.pushable and source.searchable for source in present),
        allowed_tools=tuple(dict.fromkeys(t for parent in parents for t in parent.allowed_tools)),
        user_invocable=all(source.user_invocable for source in present),
    )


def may_see(skill: Skill, scope: Scope | None, find: Find) -> bool:
    """Whether `scope` allows everything that was read for `skill`, and what there still is of
    what was found for it.
    """
    if scope is None:
        return True
    read = all(source and scope.allows(source) for source in map(find, read_ids(skill)))
    found = (source for source in map(find, found_ids(skill)) if source)
    return read and all(map(scope.allows, found))


def _origin(parents: Iterable[str]) -> str:
    """The last line of a body: where files that it mentions are."""
    named = ", ".join(f"`{' '.join(plain_text(parent).split())}`" for parent in parents)
    return f"Composed from {named}. Files that are mentioned lie beside those skills."
