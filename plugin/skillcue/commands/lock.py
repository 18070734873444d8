"""``skillcue lock``: what every skill is, written down or compared with what was."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

from skillcue.commands.library import open_library
from skillcue.commands.output import Screen, write_json
from skillcue.locking.lock_file import LOCK_FILE, Lock, read_lock, write_lock
from skillcue.locking.measure import differences, measured_library
from skillcue_hooks.errors import ConfigurationError

__all__ = ["run"]


@dataclass(frozen=True, slots=True)
class _Compared:
    changed: dict[str, str]
    added: list[str]
    removed: list[str]

    @property
    def count(self) -> int:
        return len(self.changed) + len(self.added) + len(self.removed)


def run(args: Namespace) -> int:
    """Write the lock file, or with ``--check`` compare; 1 when anything differs, or is no skill."""
    path = Path(args.lock or LOCK_FILE)
    before = read_lock(path) if args.check else None
    with open_library(args) as library:
        library.check_folders("Lock the folders they come from, and publish with --frozen.")
        if library.is_empty:
            library.note_problems()
            return 1
        now = measured_library(library.cue.sources)
    if before is None:
        return _write(path, now, args.json)
    return _check(path, before, now, args.json)


def _write(path: Path, now: Lock, as_json: bool) -> int:
    if path.is_dir():
        raise ConfigurationError(f"--lock {path} is a folder.", f"Name a file: {path}/{LOCK_FILE}")
    write_lock(path, now)
    files = sum(len(skill.files) for skill in now.skills)
    if as_json:
        write_json({"lock": str(path), "skills": len(now.skills), "files": files})
    else:
        Screen().show(f"{path}: {len(now.skills)} skills, {files} files")
    return 0


def _check(path: Path, before: Lock, now: Lock, as_json: bool) -> int:
    found = _compare(before, now)
    if as_json:
        document = {"changed": found.changed, "added": found.added, "removed": found.removed}
        write_json({"lock": str(path), "skills": len(now.skills), **document})
        return 1 if found.count else 0
    screen = Screen()
    for skill_id, what in found.changed.items():
        screen.show(f"changed: {skill_id}: {what}")
    for skill_id in found.added:
        screen.show(f"added: {skill_id}")
    for skill_id in found.removed:
        screen.show(f"removed: {skill_id}")
    if found.count:
        screen.show(f"{path}: {found.count} of {len(now.skills)} skills are not as they were")
        screen.show("If that is right, run `skillcue lock` again.")
    else:
        screen.show(f"{path}: {len(now.skills)} skills, nothing has changed")
    return 1 if found.count else 0


def _compare(before: Lock, now: Lock) -> _Compared:
    old = {(skill.source, skill.id): skill for skill in before.skills}
    new = {(skill.source, skill.id): skill for skill in now.skills}
    both = sorted(old.keys() & new.keys())
    changed = {f"{key[0]}: {key[1]}": differences(old[key], new[key]) for key in both}
    return _Compared(
        {name: what for name, what in changed.items() if what},
        [f"{label}: {skill_id}" for label, skill_id in sorted(new.keys() - old.keys())],
        [f"{label}: {skill_id}" for label, skill_id in sorted(old.keys() - new.keys())],
    )
