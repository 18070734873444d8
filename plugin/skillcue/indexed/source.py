"""Reads what an index holds of a skill: its text and the files beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from skillcue.library.files import FileListing, decoded_file, matching_path, relative_path
from skillcue.library.limits import DEFAULT_LIMITS
from skillcue_hooks.contracts import Skill, SourceScan, Trust
from skillcue_hooks.errors import SkillFileError
from skillcue_hooks.skill_index import SkillIndex

__all__ = ["IndexSource", "SkillChangedError"]

T = TypeVar("T")

_AGAIN = "Look the skill up again."


class SkillChangedError(SkillFileError):
    """The index holds another version of the skill than the one that was found, or none."""


class IndexSource:
    """The skills of some tenants of an index; a `SkillSource` without folders.

    Args:
        index: The index.
        tenants: Whose skills.
        label: Name shown for it.
    """

    def __init__(self, index: SkillIndex, tenants: tuple[str, ...], label: str) -> None:
        self._index = index
        self._tenants = tenants
        self._label = label

    @property
    def label(self) -> str:
        """Where the index is, or what it is."""
        return self._label

    @property
    def location(self) -> str:
        """As `label`."""
        return self._label

    @property
    def trust(self) -> Trust:
        """Trusted: each skill has the trust that it was published with."""
        return "trusted"

    @property
    def digest(self) -> str:
        """The revision of what it holds now."""
        return f"revision:{self._index.revision(self._tenants)}"

    def scan(self, previous: SourceScan | None = None) -> SourceScan:
        """All skills, which reads the whole index; `previous` where nothing has changed."""
        revision = self._index.revision(self._tenants)
        if previous is not None and previous.fingerprint == revision:
            return previous
        return SourceScan(tuple(self._index.iterate(self._tenants)), (), revision)

    def read_body(self, skill: Skill) -> str:
        """The whole body of exactly this version of the skill.

        Raises:
            SkillChangedError: The index holds another version by now, which may have another trust.
        """
        return self._of_this_version(skill, lambda: self._index.read_text(skill.id, self._tenants))

    def base_dir(self, skill: Skill) -> Path | None:
        """None: it is on no disk."""
        return None

    def skill_files(self, skill: Skill) -> _IndexFiles:
        """The files beside the skill."""
        return _IndexFiles(self, skill)

    def file_sizes(self, skill: Skill) -> dict[str, int]:
        """Sizes in bytes of the files beside a skill, by path, sorted."""
        return dict(sorted(self._index.files(skill.id, self._tenants).items()))

    def read_data(self, skill: Skill, path: str) -> bytes:
        """The bytes of a file beside exactly this version of the skill.

        Raises:
            SkillFileError: There is none, or the skill has changed.
        """
        return self._of_this_version(
            skill, lambda: self._index.read_file(skill.id, path, self._tenants)
        )

    def _of_this_version(self, skill: Skill, read: Callable[[], T]) -> T:
        try:
            found = read()
        except KeyError:
            raise _changed(skill) from None
        # Asked afterwards: what was read is not newer than what is compared.
        now = self._index.fetch([skill.id], self._tenants).get(skill.id)
        if now is None or (now.content_hash, now.trust) != (skill.content_hash, skill.trust):
            raise _changed(skill)
        return found


@dataclass(frozen=True, slots=True)
class _IndexFiles:
    """The files of one skill; see `skillcue.library.beside.SkillFiles`."""

    source: IndexSource
    skill: Skill

    def listing(self, limit: int) -> FileListing:
        paths = tuple(self.source.file_sizes(self.skill))
        return FileListing(paths[:limit], len(paths) <= limit)

    def resolve(self, name: str) -> str:
        return matching_path(name, relative_path(name), list(self.source.file_sizes(self.skill)))

    def place(self, path: str) -> Path:
        return self.skill.path.parent / path

    def decoded(self, path: str, data: bytes) -> str:
        return decoded_file(self.place(path), data, local=False)

    def data(self, path: str) -> bytes:
        size, most = self.source.file_sizes(self.skill).get(path, 0), DEFAULT_LIMITS.file_bytes
        if size > most:
            raise SkillFileError(
                f"File {path!r} has {size} bytes; at most {most} (file_bytes) are read.",
                "Split it, and publish the skill again.",
            )
        return self.source.read_data(self.skill, path)


def _changed(skill: Skill) -> SkillChangedError:
    return SkillChangedError(f"Skill {skill.name!r} has just changed.", _AGAIN)
