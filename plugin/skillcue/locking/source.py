"""A source held to its lock: what is not as it was is reported, and, frozen, not served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from skillcue.library.codes import diagnostic
from skillcue.library.files import read_file_data
from skillcue.library.limits import ReadLimits, limits_of
from skillcue.library.merge import distinct_labels
from skillcue.library.reader import read_body
from skillcue.library.whole import whole_text
from skillcue.locking.lock_file import Lock, LockedSkill
from skillcue.locking.measure import differences, measured_file, measured_skill
from skillcue_adapters.locks import ForkSafeLock
from skillcue_hooks.contracts import Diagnostic, Skill, SourceScan, Trust
from skillcue_hooks.errors import SkillFileError
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.protocols import SkillSource

__all__ = ["LockedSource", "locked_sources"]

_CURE = "It is refused until the files are as they were, or `skillcue lock` is run again."


def locked_sources(
    sources: Sequence[SkillSource], lock: Lock, path: Path, *, frozen: bool
) -> tuple[SkillSource, ...]:
    """`sources`, each held to its part of `lock`.

    Args:
        sources: In precedence order.
        lock: What they were.
        path: The lock file, for messages.
        frozen: Serve only what is as it was; else it is only reported.
    """
    labels = distinct_labels(sources)
    strays = {s.id: s for s in lock.skills if s.source not in labels}
    held: list[SkillSource] = []
    for source, label in zip(sources, labels, strict=True):
        first = strays if not held else {}
        held.append(LockedSource(source, label, lock.of_source(label), path, frozen, first))
    return tuple(held)


class LockedSource:
    """A source that is compared with a lock file whenever it changed.

    Args:
        inner: The source.
        name: Its label in the lock file.
        entries: What the lock file says of it, by id.
        path: The lock file, for messages.
        frozen: Serve only what is as it was.
        strays: Entries of sources that are not there, reported along.
    """

    def __init__(
        self,
        inner: SkillSource,
        name: str,
        entries: Mapping[str, LockedSkill],
        path: Path,
        frozen: bool,
        strays: Mapping[str, LockedSkill],
    ) -> None:
        self._inner = inner
        self._name = name
        self._entries = entries
        self._path = path
        self._frozen = frozen
        self._strays = strays
        self._lock = ForkSafeLock()
        self._seen: SourceScan | None = None
        self._answer: SourceScan | None = None
        self._stale = False
        self._changed: list[Skill] = []  # left out for what they are now

    @property
    def label(self) -> str:
        return self._inner.label

    @property
    def trust(self) -> Trust:
        return self._inner.trust

    @property
    def path(self) -> Path | None:
        """The folder of the source itself, None where it has none."""
        return getattr(self._inner, "path", None)

    @property
    def limits(self) -> ReadLimits:
        """Bounds of reading of the source itself."""
        return limits_of(self._inner)

    def scan(self, previous: SourceScan | None) -> SourceScan:
        """What the source holds, and how it differs from the lock; frozen, only what is the same.

        Files beside a skill are measured when anything in the source changed, when loading one
        found it changed, and while one differs.
        """
        with self._lock:
            now = self._inner.scan(self._seen)
            if self._answer is None or now is not self._seen or self._stale or self._is_mended():
                self._seen, self._stale = now, False
                self._answer = self._compared(now)
            if previous is not None and previous.fingerprint == self._answer.fingerprint:
                return previous
            return self._answer

    def read_text(self, skill: Skill) -> str:
        """The whole text of a skill, as the source gives it."""
        return whole_text(self._inner, skill)

    def read_body(self, skill: Skill) -> str:
        """The whole body; frozen, only while the skill and all files beside it are as they were.

        What is handed out is made of the very text that was compared.

        Raises:
            SkillFileError: It cannot be read, or it is frozen and has changed.
        """
        if not self._frozen:
            return self._inner.read_body(skill)
        self.check_skill(skill)
        if not hasattr(self._inner, "read_text"):
            return self._inner.read_body(skill)
        text = self.read_text(skill)  # raises where it is not the text of `content_hash`
        return read_body(text.encode("utf-8"), skill.path, self.limits)

    def check_skill(self, skill: Skill) -> None:
        """Make sure that a skill may be handed out, with all files beside it.

        Raises:
            SkillFileError: It is frozen and has changed, or cannot be read.
        """
        if self._frozen:
            changed = differences(
                self._entry(skill), measured_skill(self._inner, skill, self._name)
            )
            if changed:
                raise self._refused(skill, changed)

    def read_file_data(self, skill: Skill, path: Path) -> bytes:
        """The bytes of a file beside a skill; frozen, only those that the lock names.

        Raises:
            SkillFileError: It cannot be read, or it is frozen and that is not the file of the lock.
        """
        data = read_file_data(path, self.limits)
        base = self._inner.base_dir(skill)
        name = path.relative_to(base.resolve()).as_posix() if base else path.name
        self.check_file(skill, name, data)
        return data

    def check_file(self, skill: Skill, name: str, data: bytes) -> None:
        """Make sure that `data` may be handed out as a file of a skill.

        Args:
            skill: One of this source.
            name: Relative POSIX path of SKILL.md or of a file beside it.
            data: Its bytes.

        Raises:
            SkillFileError: It is frozen, and that is not the file of the lock.
        """
        if self._frozen and self._entry(skill).files.get(name) != measured_file(data):
            raise self._refused(skill, f"{name} is not the file it was")

    def base_dir(self, skill: Skill) -> Path | None:
        """The local folder of the skill, None where there is none."""
        return self._inner.base_dir(skill)

    def _entry(self, skill: Skill) -> LockedSkill:
        # The library may have given it a longer id, where an earlier source has one like it.
        for candidate in (skill.id, self._own_id(skill)):
            if candidate in self._entries:
                return self._entries[candidate]
        raise self._refused(skill, "the lock file does not name it")

    def _own_id(self, skill: Skill) -> str:
        scanned = self._answer.skills if self._answer else ()
        same = (skill.path, skill.name, skill.content_hash)
        return next((s.id for s in scanned if (s.path, s.name, s.content_hash) == same), "")

    def _refused(self, skill: Skill, why: str) -> SkillFileError:
        self._stale = True  # the next look leaves it out
        if skill.trust == "untrusted":  # names of files are its words, and an agent reads this
            why = "its files are not those that were locked"
        return SkillFileError(f"Skill {skill.name!r} is frozen and has changed: {why}.", _CURE)

    def _compared(self, now: SourceScan) -> SourceScan:
        kept: list[Skill] = []
        notes: list[Diagnostic] = []
        self._changed = []
        for skill in now.skills:
            note = self._judged(skill)
            if note is not None:
                notes.append(note)
                self._changed += [skill] if skill.id in self._entries else []
            if note is None or not self._frozen:
                kept.append(skill)
        there = {skill.id for skill in now.skills}
        gone = [e for i, e in self._entries.items() if i not in there] + [*self._strays.values()]
        notes += [
            diagnostic(self._code("missing"), self._path, f"{e.source}: {e.id}.") for e in gone
        ]
        mark = fingerprint(now.fingerprint, [[n.code, n.message] for n in notes])
        diagnostics = (*now.diagnostics, *notes)
        return replace(now, skills=tuple(kept), diagnostics=diagnostics, fingerprint=mark)

    def _is_mended(self) -> bool:
        """Whether a skill that differed is as it was: a look at the source does not see the files
        beside a skill.
        """
        return any(self._judged(skill) is None for skill in self._changed)

    def _judged(self, skill: Skill) -> Diagnostic | None:
        entry = self._entries.get(skill.id)
        if entry is None:
            return diagnostic(self._code("unknown"), skill.path, f"{skill.id}.")
        try:
            changed = differences(entry, measured_skill(self._inner, skill, self._name))
        except SkillFileError as error:
            changed = error.message
        if not changed:
            return None
        return diagnostic(self._code("changed"), skill.path, f"{skill.id}: {changed}.")

    def _code(self, what: str) -> str:
        return f"{'frozen' if self._frozen else 'lock'}-{what}"
