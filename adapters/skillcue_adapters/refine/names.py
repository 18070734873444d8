"""Names of refined skills: what they are called in a library, and which of them have a name.

A library's names are its own. A refined skill whose name is taken is called by its name and the
first digits of its hash, so that no two skills of one listing share a name, and the same skill is
called the same in every process.

A refined skill holds words of the task it was made for. So a bare name finds only those that were
composed under the same policy; an id, which nobody can guess, finds it wherever its parents may be
seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from skillcue_adapters.refine.composed import HASH_DIGITS, ID_PREFIX
from skillcue_adapters.refine.drafts import NAME_CHARS
from skillcue_hooks.contracts import Scope, Skill
from skillcue_hooks.fingerprint import fingerprint

__all__ = ["Taken", "may_be_called", "named", "named_ids", "note_name", "policy_tag"]

FOLDER = "names"
"""Beside the skills: an empty file ``<hash>.<policy>.<name>`` for each of them."""
LEAST_DIGITS = 6
"""Digits of the hash in a name, more where the library has that name as well."""

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_MARKER = re.compile(r"([0-9a-f]{16})\.([0-9a-f]{16}|all)\.([a-z0-9-]+)")

Taken = Callable[[str], bool]
"""Whether a skill of the library answers to a name."""


def named(skill: Skill, taken: Taken) -> Skill:
    """`skill` by a name that the library does not have."""
    if not taken(skill.name):
        return skill
    digits = skill.id.removeprefix(ID_PREFIX)
    names = (_with(skill.name, digits[:n]) for n in range(LEAST_DIGITS, len(digits) + 1))
    free = next((name for name in names if not taken(name)), _with(skill.name, digits))
    return replace(skill, name=free)


def may_be_called(name: str, skill_name: str, skill_id: str) -> bool:
    """Whether `named` may have made `name` of these."""
    if name == skill_name:
        return True
    digits = name.rpartition("-")[2]
    return len(digits) >= LEAST_DIGITS and name == _with(
        skill_name, skill_id.removeprefix(ID_PREFIX)[: len(digits)]
    )


def policy_tag(scope: Scope | None) -> str:
    """A few characters that tell policies apart."""
    return "all" if scope is None else fingerprint("policy", scope.key)[:HASH_DIGITS]


def note_name(folder: Path, skill: Skill, policy: str) -> None:
    """Have the name of a stored skill found by `named_ids`.

    Args:
        folder: Of the refined skills.
        skill: By the name that its model gave it.
        policy: The `policy_tag` it was composed under.

    Raises:
        OSError: It cannot be written.
    """
    path = folder / FOLDER / f"{skill.id.removeprefix(ID_PREFIX)}.{policy}.{skill.name}"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch()


def named_ids(folder: Path, name: str, policy: str) -> Iterator[str]:
    """Ids of the stored skills that may be called `name` and were composed under `policy`."""
    if len(name) > NAME_CHARS or not _NAME.fullmatch(name):
        return
    try:
        entries = [path.name for path in (folder / FOLDER).iterdir()]
    except OSError:
        return
    for match in filter(None, map(_MARKER.fullmatch, sorted(entries))):
        skill_id = f"{ID_PREFIX}{match[1]}"
        if match[2] == policy and may_be_called(name, match[3], skill_id):
            yield skill_id


def _with(name: str, digits: str) -> str:
    return f"{name[: NAME_CHARS - 1 - len(digits)].rstrip('-')}-{digits}"
