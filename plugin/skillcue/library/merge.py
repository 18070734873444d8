"""Skills of several sources in one list: equal text once, every id unique, clashes reported."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from skillcue.library.characters import nfc
from skillcue.library.codes import diagnostic
from skillcue.library.naming import quote_path
from skillcue_hooks.contracts import Diagnostic, Skill, SourceScan
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.protocols import SkillSource

__all__ = ["Merged", "distinct_labels", "merge"]

_IDS_IN_MESSAGE = 3
"""Ids named in a message about skills that share a name or a text."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What several sources hold together.

    Attributes:
        skills: In precedence order, ids unique.
        sources: The source of each, same order.
        copies: Id of a skill that is shown to those that are not because its text is, ids unique.
        diagnostics: About equal texts and shared names, one a text and one a name.
    """

    skills: tuple[Skill, ...]
    sources: tuple[SkillSource, ...]
    copies: Mapping[str, Sequence[Skill]]
    diagnostics: tuple[Diagnostic, ...]


@dataclass(slots=True)
class _Pool:
    skills: list[Skill] = field(default_factory=list)
    sources: list[SkillSource] = field(default_factory=list)
    by_hash: dict[str, int] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)
    copies: dict[int, list[Skill]] = field(default_factory=dict)


def merge(sources: Sequence[SkillSource], scans: Sequence[SourceScan]) -> Merged:
    """All skills of `scans`, earlier sources first."""
    pool = _Pool()
    for source, label, scan in zip(sources, distinct_labels(sources), scans, strict=True):
        for skill in scan.skills:
            _add(pool, _checked(skill, source, label), source, label)
    copies = {pool.skills[position].id: found for position, found in pool.copies.items()}
    notes = (*_about_copies(pool), *_about_names(pool.skills))
    return Merged(tuple(pool.skills), tuple(pool.sources), copies, notes)


def _add(pool: _Pool, skill: Skill, source: SkillSource, label: str) -> None:
    skill_id = _free_id(skill.id, label, pool.ids)
    if skill_id != skill.id:
        skill = replace(skill, id=skill_id)
    pool.ids.add(skill_id)
    position = pool.by_hash.get(skill.content_hash)
    if position is not None:
        _distrust_same_file(pool, position, skill)
        pool.copies.setdefault(position, []).append(skill)
        return
    pool.by_hash[skill.content_hash] = len(pool.skills)
    pool.skills.append(skill)
    pool.sources.append(source)


def _distrust_same_file(pool: _Pool, position: int, copy: Skill) -> None:
    """One file that lies in two sources has the lower trust of both."""
    kept = pool.skills[position]
    lower = copy.trust == "untrusted" and kept.trust == "trusted"
    if lower and os.path.realpath(copy.path) == os.path.realpath(kept.path):
        pool.skills[position] = replace(kept, trust="untrusted")


def _checked(skill: Skill, source: SkillSource, label: str) -> Skill:
    """Hold a source to its own label and trust, and its skills to a content hash.

    Two folders of one name are two sources: a policy or a filter by source must tell them apart.
    """
    changes: dict[str, str] = {}
    if skill.source != label:
        changes["source"] = label
    if source.trust == "untrusted" and skill.trust != "untrusted":
        changes["trust"] = "untrusted"
    if not skill.content_hash:
        changes["content_hash"] = fingerprint(skill.name, skill.description, skill.body)
    return replace(skill, **changes) if changes else skill  # type: ignore[arg-type]


def _free_id(wanted: str, label: str, ids: set[str]) -> str:
    """`wanted`, or its longer form with the label when an earlier skill has that id."""
    if wanted not in ids:
        return wanted
    name, _, where = wanted.partition("@")
    candidate = f"{name}@{quote_path(label)}/{where}"
    number = 2
    while candidate in ids:
        candidate = f"{name}@{quote_path(label)}~{number}/{where}"
        number += 1
    return candidate


def _about_copies(pool: _Pool) -> list[Diagnostic]:
    notes = []
    for position, others in pool.copies.items():
        skill = pool.skills[position]
        message = f"{skill.id} holds the same text as {_listed([other.id for other in others])}."
        notes.append(diagnostic("equal-content", skill.path, message))
    return notes


def _about_names(skills: list[Skill]) -> list[Diagnostic]:
    same: dict[str, list[Skill]] = {}
    for skill in skills:
        same.setdefault(nfc(skill.name), []).append(skill)
    notes = []
    for name, group in same.items():
        if len(group) > 1:
            message = (
                f"{len(group)} skills are named {name!r}: the name loads {group[0].id}, "
                f"not {_listed([skill.id for skill in group[1:]])}."
            )
            notes.append(diagnostic("name-collision", group[0].path, message))
    return notes


def _listed(ids: list[str]) -> str:
    more = len(ids) - _IDS_IN_MESSAGE
    return ", ".join(ids[:_IDS_IN_MESSAGE]) + (f" and {more} more" if more > 0 else "")


def distinct_labels(sources: Sequence[SkillSource]) -> list[str]:
    """Labels for ids: the second source of a label becomes ``label~2``."""
    seen: dict[str, int] = {}
    labels = []
    for source in sources:
        number = seen[source.label] = seen.get(source.label, 0) + 1
        labels.append(source.label if number == 1 else f"{source.label}~{number}")
    return labels
