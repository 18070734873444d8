"""What a skill is now: the hash and the size of each of its files."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from skillcue.library.files import list_files
from skillcue.library.limits import ReadLimits, limits_of
from skillcue.library.merge import distinct_labels
from skillcue.locking.lock_file import Lock, LockedFile, LockedSkill
from skillcue_hooks.contracts import Skill
from skillcue_hooks.errors import SkillFileError
from skillcue_hooks.protocols import SkillSource

__all__ = ["differences", "measured_file", "measured_library", "measured_skill"]

_NAMED = 5
"""Files named in a message about differences."""


def measured_library(sources: Sequence[SkillSource]) -> Lock:
    """Everything the sources hold now, copies of equal content included.

    Raises:
        SkillFileError: A file cannot be read, or there are too many beside one skill.
    """
    measured: list[LockedSkill] = []
    for source, label in zip(sources, distinct_labels(sources), strict=True):
        skills = source.scan(None).skills
        measured += [measured_skill(source, skill, label) for skill in skills]
    return Lock(tuple(measured))


def measured_skill(source: SkillSource, skill: Skill, label: str) -> LockedSkill:
    """`skill` as it is now.

    Raises:
        SkillFileError: As `measured_library`.
    """
    base_dir = source.base_dir(skill)
    files = {} if base_dir is None else _measured_files(base_dir, skill, limits_of(source))
    return LockedSkill(skill.id, label, skill.content_hash, files)


def measured_file(data: bytes) -> LockedFile:
    """A file that holds `data`."""
    return LockedFile(hashlib.sha256(data).hexdigest(), len(data))


def differences(locked: LockedSkill, now: LockedSkill) -> str:
    """What is not as it was, in words; "" where nothing is."""
    parts = _listed("differ", (n for n, f in now.files.items() if locked.files.get(n, f) != f))
    parts += _listed("are new", now.files.keys() - locked.files.keys())
    parts += _listed("are gone", locked.files.keys() - now.files.keys())
    if not parts and locked.content_hash != now.content_hash:
        return "its text differs"
    return "; ".join(parts)


def _measured_files(base_dir: Path, skill: Skill, limits: ReadLimits) -> dict[str, LockedFile]:
    listing = list_files(base_dir, limits.listed_entries, limits)
    if not listing.complete:
        raise SkillFileError(
            f"There are more files beside {skill.id} than can be pinned.",
            "Move skills into folders of their own, or raise listed_entries and walk_depth.",
        )
    names = (skill.path.name, *listing.paths)
    return {name: _hashed(base_dir / name, skill) for name in names}


def _hashed(path: Path, skill: Skill) -> LockedFile:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise OSError("not a regular file")
            digest = hashlib.file_digest(file, "sha256")
            return LockedFile(digest.hexdigest(), file.tell())
    except OSError as error:
        raise SkillFileError(
            f"{path.name} of {skill.id} cannot be read: {error.strerror or error}.",
            "Give the process read permission, or delete the file.",
        ) from error


def _listed(what: str, names: Iterable[str]) -> list[str]:
    found = sorted(names)
    if not found:
        return []
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    verb = what if len(found) > 1 else {"differ": "differs"}.get(what, what.replace("are", "is"))
    return [f"{', '.join(found[:_NAMED])}{more} {verb}"]
