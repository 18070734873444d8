"""The lock file: one entry a skill, as JSON that is the same for the same library."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillcue_hooks.errors import ConfigurationError

__all__ = ["LOCK_FILE", "Lock", "LockedFile", "LockedSkill", "read_lock", "write_lock"]

LOCK_FILE = "skillcue.lock"
"""Name of the lock file where none is given."""
FORMAT = 1
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class LockedFile:
    """One file.

    Attributes:
        sha256: Of its bytes (hex).
        size: Bytes.
    """

    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class LockedSkill:
    """One skill.

    Attributes:
        id: Its id in its source.
        source: Label of the source; the second source of one label is ``label~2``.
        content_hash: `Skill.content_hash`.
        files: SKILL.md and every file beside it that can be loaded, by relative POSIX path; none
            where the source has no files.
    """

    id: str
    source: str
    content_hash: str
    files: Mapping[str, LockedFile] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Lock:
    """All skills of a library, by source and id."""

    skills: tuple[LockedSkill, ...]

    def of_source(self, label: str) -> dict[str, LockedSkill]:
        """The entries of one source, by id."""
        return {skill.id: skill for skill in self.skills if skill.source == label}


def read_lock(path: Path) -> Lock:
    """The lock file at `path`.

    Raises:
        ConfigurationError: It cannot be read, or is no lock file of this version.
    """
    try:
        document = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigurationError(
            f"Lock file {path} cannot be read: {error.strerror or error}.",
            "Write it with `skillcue lock`.",
        ) from error
    except ValueError as error:
        raise _unfit(path, str(error)) from error
    if not isinstance(document, dict):
        raise _unfit(path, f"it holds a {type(document).__name__}, not an object")
    for key in ("version", "skills"):
        if key not in document:
            raise _unfit(path, f"it has no {key!r}")
    if document["version"] != FORMAT:
        raise _unfit(path, f"its version is {document['version']!r}")
    try:
        return Lock(tuple(_entry(item) for item in document["skills"]))
    except KeyError as error:
        raise _unfit(path, f"an entry has no {error.args[0]!r}") from error
    except (TypeError, AttributeError, ValueError) as error:
        raise _unfit(path, f"an entry is not as it should be ({error!r})") from error


def write_lock(path: Path, lock: Lock) -> None:
    """Write `lock`, sorted, at once: nobody sees half of it.

    Raises:
        ConfigurationError: It cannot be written.
    """
    skills = [_record(skill) for skill in sorted(lock.skills, key=lambda s: (s.source, s.id))]
    text = json.dumps({"version": FORMAT, "skills": skills}, indent=2, ensure_ascii=False)
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(f"{text}\n")
        os.chmod(name, 0o644)
        os.replace(name, path)
    except OSError as error:
        raise ConfigurationError(
            f"Lock file {path} cannot be written: {error.strerror or error}.",
            "Name a file in a folder that may be written: --lock path/to/skillcue.lock",
        ) from error


def _record(skill: LockedSkill) -> dict[str, Any]:
    return {
        "id": skill.id,
        "source": skill.source,
        "content_hash": skill.content_hash,
        "files": {
            name: {"sha256": file.sha256, "size": file.size}
            for name, file in sorted(skill.files.items())
        },
    }


def _entry(item: Mapping[str, Any]) -> LockedSkill:
    files = {str(name): _file(file) for name, file in item["files"].items()}
    return LockedSkill(str(item["id"]), str(item["source"]), str(item["content_hash"]), files)


def _file(item: Mapping[str, Any]) -> LockedFile:
    if not _SHA256.fullmatch(item["sha256"]) or not isinstance(item["size"], int):
        raise ValueError(item)
    return LockedFile(item["sha256"], item["size"])


def _unfit(path: Path, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"{path} is no lock file that this version reads: {reason}.",
        "Write it again with `skillcue lock`.",
    )
