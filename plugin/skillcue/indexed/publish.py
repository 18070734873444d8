"""Publishing: the skills of folders, read and assessed as a `SkillCue` reads them, into an index."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from skillcue.encoders import DEFAULT_ENCODER, EncoderPool
from skillcue.indexed.connect import check_tenant, connect, one_tenant
from skillcue.indexed.names import answers_to
from skillcue.library.beside import SkillFiles, files_beside
from skillcue.library.naming import quote_path
from skillcue.library.protocols import Snapshot
from skillcue.registry import registered_factories
from skillcue_hooks.contracts import Skill
from skillcue_hooks.errors import ConfigurationError, SkillFileError
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.protocols import Encoder
from skillcue_hooks.skill_index import SkillIndex

if TYPE_CHECKING:
    from skillcue.facade import SkillCue
    from skillcue_adapters.indexed.prepare import Unprepared

__all__ = ["DIGEST_KEY", "PublishReport", "Published", "publish", "publish_library"]

DIGEST_KEY = "skillcue-digest"
"""Metadata key of the digest of everything that was stored of a skill."""
BATCH_SKILLS = 256
"""Most skills that are encoded and stored at once."""
BATCH_BYTES = 8 * 1024 * 1024
"""Texts and files that are stored at once have so many bytes, or are of one skill."""
COMPARED = 200
"""Skills that are compared with the index at once."""
DELETED = 1_000
"""Skills that are deleted at once."""
FILES = 200
"""Most files beside a skill that are stored."""
FILES_BYTES = 16 * 1024 * 1024
"""Most bytes of all files beside a skill that are stored."""

_FAILED = frozenset({"source-failed", "source-missing", "source-refused", "source-unreachable"})
"""Diagnostics after which nobody knows what a source holds."""

log = logging.getLogger("skillcue.index")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Published:
    """How far publishing is.

    Attributes:
        done: Skills that have been looked at.
        total: Skills there are.
        stored: Those of `done` that were encoded and stored.
    """

    done: int
    total: int
    stored: int


@dataclass(frozen=True, slots=True)
class PublishReport:
    """What publishing did, or would do.

    Attributes:
        tenant: Whose skills they are.
        new: Ids that were not in the index.
        changed: Ids of which the index had another version.
        unchanged: Number of skills that cost nothing but the comparison.
        deleted: Ids that no source holds any more.
        skipped: ``(id, reason)`` of skills and files that could not be read.
        untrusted: Number of skills that push will never use.
        revision: Of the tenant, after it.
        dry_run: Nothing was stored or deleted.
        seconds: Time it took.
    """

    tenant: str
    new: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: int
    deleted: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]
    untrusted: int
    revision: str
    dry_run: bool
    seconds: float


def publish(
    sources: Any,
    index: Any,
    *,
    tenant: str | None = None,
    encoder: Any = DEFAULT_ENCODER,
    keep: bool = False,
    dry_run: bool = False,
    progress: Callable[[Published], None] | None = None,
    **options: Any,
) -> PublishReport:
    """Make the skills of a tenant in an index those of `sources`.

    They are read once, by the same reader and with the same scanner and plugins as in a `SkillCue`
    of these sources, and are stored with the trust they have there. What the index has already is
    not encoded again. Each batch is stored as a whole; an interrupted run goes on when it is
    repeated.

    Args:
        sources: As in `SkillCue`.
        index: A `SkillIndex`, an `Indexed`, or the address of a server.
        tenant: Whose skills they are; None takes the one that `index` names, or nobody's.
        encoder: As in `SkillCue`; all skills of an index have one.
        keep: Leave skills of the tenant in the index that no source holds.
        dry_run: Only say what would be done.
        progress: Told now and then how far it is.
        options: Further arguments of `SkillCue`, such as ``trust``, ``strict``, ``plugins``,
            ``lock`` and ``frozen``.

    Raises:
        ConfigurationError: An argument is wrong, the index has another encoder, or the sources hold
            no skill and `keep` is not set.
        IndexUnavailableError: The index cannot be reached.
    """
    from skillcue.facade import SkillCue  # which imports this package

    connected = connect(index, makes_tables=not dry_run)
    try:
        with SkillCue(
            sources, encoder=encoder, **{"cache": False, "recheck": "manual", **options}
        ) as cue:
            return publish_library(
                cue,
                connected.indexed.index,
                tenant=one_tenant(connected.indexed, tenant),
                encoder=encoder,
                keep=keep,
                dry_run=dry_run,
                progress=progress,
            )
    finally:
        if connected.owned:
            connected.indexed.index.close()


def publish_library(
    cue: SkillCue,
    index: SkillIndex,
    *,
    tenant: str,
    encoder: Any,
    keep: bool = False,
    dry_run: bool = False,
    progress: Callable[[Published], None] | None = None,
) -> PublishReport:
    """As `publish`, for a library that is open."""
    check_tenant(tenant)
    snapshot = cue.snapshot()
    if snapshot.library.index is not None:
        raise ConfigurationError(
            "The skills are in an index already.", "Publish the folders that they come from."
        )
    failed = [item for item in snapshot.diagnostics if item.code in _FAILED]
    if failed and not keep:
        raise ConfigurationError(
            f"A source cannot be read: {failed[0].message}",
            "What it held would be deleted. Mend it, or keep what no source holds (keep=True).",
        )
    if not snapshot.skills and not keep:
        raise ConfigurationError(
            "There is no skill to publish, and all of the tenant would be deleted.",
            "Name a folder with skills; keep=True deletes nothing.",
        )
    opened = EncoderPool(registered_factories(cue.plugins, "encoder"), encoder).open()
    if index.encoder and index.encoder != opened.fingerprint:
        raise ConfigurationError(
            "The index holds vectors of another encoder.",
            "Use the encoder it was filled with, or fill a new index (another schema or database).",
        )
    work = _Publishing(snapshot, index, tenant, opened, dry_run, progress)
    return work.run(keep)


class _Publishing:
    """One run."""

    def __init__(
        self,
        snapshot: Snapshot,
        index: SkillIndex,
        tenant: str,
        encoder: Encoder,
        dry_run: bool,
        progress: Callable[[Published], None] | None,
    ) -> None:
        self._snapshot = snapshot
        self._index = index
        self._tenant = tenant
        self._encoder = encoder
        self._dry_run = dry_run
        self._progress = progress or (lambda _published: None)
        self._copies: dict[str, list[Skill]] = {}
        for copy in snapshot.copies:
            self._copies.setdefault(copy.content_hash, []).append(copy)
        self._new: list[str] = []
        self._changed: list[str] = []
        self._skipped: list[tuple[str, str]] = []
        self._done = 0
        self._stored = 0

    def run(self, keep: bool) -> PublishReport:
        started = time.monotonic()
        skills = self._snapshot.skills
        wanted = {_tenant_id(skill.id, self._tenant) for skill in skills}
        for batch in _batches(self._differing(skills)):
            self._store(batch)
        gone: list[str] = []
        if not keep:
            held = self._index.iterate((self._tenant,))
            gone = [skill.id for skill in held if skill.id not in wanted]
        for ids in _parts(gone, DELETED):
            if not self._dry_run:
                self._apply([], ids)
        revision = self._index.revision((self._tenant,))
        return PublishReport(
            tenant=self._tenant,
            new=tuple(self._new),
            changed=tuple(self._changed),
            unchanged=len(skills) - len(self._new) - len(self._changed) - self._unread(wanted),
            deleted=tuple(gone),
            skipped=tuple(self._skipped),
            untrusted=sum(skill.trust == "untrusted" for skill in skills),
            revision=revision,
            dry_run=self._dry_run,
            seconds=round(time.monotonic() - started, 3),
        )

    def _unread(self, wanted: set[str]) -> int:
        return len(wanted.intersection(name for name, _ in self._skipped))

    def _differing(self, skills: Sequence[Skill]) -> Iterator[Unprepared]:
        """What the index does not have as it is now."""
        for part in _parts(skills, COMPARED):
            read = [item for item in map(self._read, part) if item is not None]
            held = self._index.fetch([item.skill.id for item in read], (self._tenant,))
            for item in read:
                before = held.get(item.skill.id)
                if before == item.skill:
                    continue
                (self._new if before is None else self._changed).append(item.skill.id)
                yield item
            self._done += len(part)
            self._tell()

    def _read(self, skill: Skill) -> Unprepared | None:
        from skillcue_adapters.indexed.prepare import Unprepared  # costs numpy only where used

        source = self._snapshot.source_of(skill)
        skill_id = _tenant_id(skill.id, self._tenant)
        try:
            text = source.read_body(skill)
            beside = files_beside(source, skill, self._snapshot.closed_folders(skill, None))
            files = self._files(skill_id, beside) if beside else {}
        except Exception as error:  # whatever a source raises concerns this skill only
            self._skipped.append((skill_id, f"it cannot be read and stays as it was: {error}"))
            log.warning("%s is not published: %s", skill_id, error, exc_info=error)
            return None
        stored = replace(
            skill,
            id=skill_id,
            path=Path(skill_id.partition("@")[2] or skill.name) / "SKILL.md",
            aliases=self._aliases(skill),
            derived_from=tuple(_tenant_id(parent, self._tenant) for parent in skill.derived_from),
        )
        digest = fingerprint(
            self._encoder.fingerprint,
            text,
            [[path, fingerprint(data.hex())] for path, data in files.items()],
        )
        stored = replace(stored, metadata={**stored.metadata, DIGEST_KEY: digest})
        return Unprepared(stored, text, answers_to(stored), files)

    def _aliases(self, skill: Skill) -> tuple[str, ...]:
        """Its own, and the names of copies that are not published."""
        names = [*skill.aliases]
        for copy in self._copies.get(skill.content_hash, ()):
            names += [copy.name, *copy.aliases]
        return tuple(name for name in dict.fromkeys(names) if name != skill.name)

    def _files(self, skill_id: str, beside: SkillFiles) -> dict[str, bytes]:
        listing = beside.listing(FILES)
        if not listing.complete:
            self._skipped.append((f"{skill_id} files", f"only the first {FILES} are stored"))
        for path in listing.unprintable:
            reason = "its name has characters that cannot be shown"
            self._skipped.append((f"{skill_id} {path}", reason))
        found: dict[str, bytes] = {}
        left = FILES_BYTES
        for path in listing.paths:
            try:
                data = beside.data(path)
            except SkillFileError as error:
                self._skipped.append((f"{skill_id} {path}", error.message))
                continue
            if len(data) > left:
                reason = f"the files of the skill have more than {FILES_BYTES} bytes"
                self._skipped.append((f"{skill_id} {path}", reason))
                continue
            left -= len(data)
            found[path] = data
        return found

    def _store(self, batch: Sequence[Unprepared]) -> None:
        if not self._dry_run:
            from skillcue_adapters.indexed.prepare import prepare

            self._apply(prepare(batch, self._encoder), [])
        self._stored += len(batch)
        self._tell()

    def _apply(self, upserts: Sequence[Any], deletes: Sequence[str]) -> None:
        self._index.apply(upserts, deletes, tenant=self._tenant, encoder=self._encoder.fingerprint)

    def _tell(self) -> None:
        self._progress(Published(self._done, len(self._snapshot.skills), self._stored))


def _tenant_id(skill_id: str, tenant: str) -> str:
    """``name@tenant/path``: unique over all tenants."""
    if not tenant:
        return skill_id
    name, _, place = skill_id.partition("@")
    where = quote_path(tenant)
    return f"{name}@{where}" if place in ("", ".") else f"{name}@{where}/{place}"


def _batches(items: Iterable[Unprepared]) -> Iterator[list[Unprepared]]:
    batch: list[Unprepared] = []
    size = 0
    for item in items:
        own = len(item.text or "") + sum(map(len, item.files.values()))
        if batch and (len(batch) == BATCH_SKILLS or size + own > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += own
    if batch:
        yield batch


def _parts(items: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part
