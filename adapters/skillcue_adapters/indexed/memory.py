"""`MemoryIndex`: an index in this process, for tests, for trying things, and as the reference."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from skillcue_adapters.indexed.memory_arrays import SearchArrays
from skillcue_adapters.locks import ForkSafeLock
from skillcue_hooks.contracts import Skill
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.fingerprint import canonical_json, fingerprint
from skillcue_hooks.skill_index import (
    IndexedSkill,
    IndexQuery,
    IndexStatistics,
    Legs,
    TermFrequency,
)

__all__ = ["MemoryIndex"]

_REVISION_BITS = 256


@dataclass(frozen=True, slots=True)
class _Stored:
    """A skill, whose it is, its place in the order of storing, and a hash of all that is stored."""

    item: IndexedSkill
    tenant: str
    encoder: str
    place: int
    digest: int


class MemoryIndex:
    """A `skillcue_hooks.skill_index.SkillIndex` in this process. Safe to share between threads.

    Exact and simple: what is searched is put into arrays again after each change.
    """

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._stored: dict[str, _Stored] = {}
        self._encoder = ""
        self._dim = 0
        self._places = 0
        self._arrays: dict[tuple[str, ...], SearchArrays] = {}
        self._listeners: list[Callable[[str], None]] = []

    @property
    def encoder(self) -> str:
        """See `SkillIndex.encoder`."""
        return self._encoder

    @property
    def dim(self) -> int:
        """See `SkillIndex.dim`."""
        return self._dim

    def apply(
        self,
        upserts: Sequence[IndexedSkill],
        deletes: Sequence[str] = (),
        *,
        tenant: str,
        encoder: str,
    ) -> str:
        """See `SkillIndex.apply`.

        Raises:
            ConfigurationError: It holds vectors of another encoder or length, or an id belongs to
                another tenant.
        """
        with self._lock:
            self._check(upserts, deletes, tenant, encoder)
            before = self.revision((tenant,))
            stored = dict(self._stored)
            for skill_id in deletes:
                stored.pop(skill_id, None)
            for item in upserts:
                known = stored.get(item.skill.id)
                digest = _digest(item, encoder)
                if known is None or known.digest != digest:
                    place = self._places if known is None else known.place
                    stored[item.skill.id] = _Stored(item, tenant, encoder, place, digest)
                    self._places += 1
            self._stored = stored
            revision = self.revision((tenant,))
            changed = revision != before
            if changed:
                self._arrays = {}
                self._encoder = next((one.encoder for one in stored.values()), "")
                self._dim = next((len(one.item.vector) for one in stored.values()), 0)
            listeners = list(self._listeners) if changed else []
        for listener in listeners:  # outside the lock: they may ask for something
            listener(tenant)
        return revision

    def candidates(self, query: IndexQuery) -> Legs:
        """See `SkillIndex.candidates`."""
        return self._searchable(query.tenants).legs(query)

    def statistics(self, tenants: Sequence[str]) -> IndexStatistics:
        """See `SkillIndex.statistics`."""
        return self._searchable(tenants).statistics

    def frequencies(
        self, terms: Sequence[str], tenants: Sequence[str]
    ) -> Mapping[str, TermFrequency]:
        """See `SkillIndex.frequencies`."""
        return self._searchable(tenants).frequencies(terms)

    def sample(self, count: int, tenants: Sequence[str]) -> Sequence[IndexedSkill]:
        """See `SkillIndex.sample`."""
        return self._searchable(tenants).sample(count)

    def fetch(self, ids: Sequence[str], tenants: Sequence[str]) -> Mapping[str, Skill]:
        """See `SkillIndex.fetch`."""
        found = (self._find(skill_id, tenants) for skill_id in ids)
        return {one.item.skill.id: one.item.skill for one in found if one is not None}

    def named(self, names: Sequence[str], tenants: Sequence[str]) -> Sequence[Skill]:
        """See `SkillIndex.named`."""
        wanted = set(names)
        found = [one for one in self._of(tenants) if wanted.intersection(one.item.names)]
        order = {tenant: number for number, tenant in reversed(list(enumerate(tenants)))}
        found.sort(key=lambda one: (order[one.tenant], one.place))
        return [one.item.skill for one in found]

    def page(
        self, after: tuple[str, str] | None, limit: int, tenants: Sequence[str]
    ) -> Sequence[Skill]:
        """See `SkillIndex.page`."""
        keyed = sorted(
            ((one.item.skill.name.casefold(), one.item.skill.id), one.item.skill)
            for one in self._of(tenants)
            if one.item.skill.searchable
        )
        return [replace(skill, body="") for key, skill in keyed if after is None or key > after][
            :limit
        ]

    def iterate(self, tenants: Sequence[str]) -> Iterator[Skill]:
        """See `SkillIndex.iterate`."""
        for skill in sorted((one.item.skill for one in self._of(tenants)), key=lambda s: s.id):
            yield replace(skill, body="")

    def read_text(self, skill_id: str, tenants: Sequence[str]) -> str:
        """See `SkillIndex.read_text`."""
        return self._get(skill_id, tenants).text

    def files(self, skill_id: str, tenants: Sequence[str]) -> Mapping[str, int]:
        """See `SkillIndex.files`."""
        found = self._find(skill_id, tenants)
        if found is None:
            return {}
        return {path: len(data) for path, data in sorted(found.item.files.items())}

    def read_file(self, skill_id: str, path: str, tenants: Sequence[str]) -> bytes:
        """See `SkillIndex.read_file`."""
        return self._get(skill_id, tenants).files[path]

    def revision(self, tenants: Sequence[str]) -> str:
        """See `SkillIndex.revision`: a hash of what they have, the same in any process."""
        total = sum(one.digest for one in self._of(tenants)) % 2**_REVISION_BITS
        return fingerprint(sorted(set(tenants)), f"{total:x}")

    def listen(self, changed: Callable[[str], None]) -> Callable[[], None]:
        """See `SkillIndex.listen`: `changed` is called by the thread that made the change."""
        with self._lock:
            self._listeners.append(changed)

        def end() -> None:
            with self._lock:
                self._listeners = [one for one in self._listeners if one is not changed]

        return end

    def close(self) -> None:
        """Nothing to release."""

    def _check(
        self, upserts: Sequence[IndexedSkill], deletes: Sequence[str], tenant: str, encoder: str
    ) -> None:
        if upserts and self._encoder and encoder != self._encoder:
            raise ConfigurationError(
                "The index holds vectors of another encoder.",
                "Use the encoder it was filled with, or fill a new index.",
            )
        dims = {len(item.vector) for item in upserts} | ({self._dim} if self._dim else set())
        if len(dims) > 1:
            raise ConfigurationError(
                f"The index cannot hold vectors of lengths {sorted(dims)} together.",
                "Encode all skills with one encoder.",
            )
        for skill_id in [*(item.skill.id for item in upserts), *deletes]:
            known = self._stored.get(skill_id)
            if known is not None and known.tenant != tenant:
                raise ConfigurationError(
                    f"Skill {skill_id!r} belongs to another tenant.",
                    "Ids are unique over all tenants: give it another id.",
                )

    def _searchable(self, tenants: Sequence[str]) -> SearchArrays:
        key = tuple(sorted(set(tenants)))
        with self._lock:
            arrays = self._arrays.get(key)
            if arrays is None:
                items = [one.item for one in self._of(key) if one.item.skill.searchable]
                items.sort(key=lambda item: item.skill.id)
                arrays = self._arrays[key] = SearchArrays(items, self.revision(key))
            return arrays

    def _of(self, tenants: Sequence[str]) -> list[_Stored]:
        stored = self._stored  # replaced as a whole by every change
        return [one for one in stored.values() if one.tenant in tenants]

    def _find(self, skill_id: str, tenants: Sequence[str]) -> _Stored | None:
        found = self._stored.get(skill_id)
        return found if found is not None and found.tenant in tenants else None

    def _get(self, skill_id: str, tenants: Sequence[str]) -> IndexedSkill:
        found = self._find(skill_id, tenants)
        if found is None:
            raise KeyError(skill_id)
        return found.item


def _digest(item: IndexedSkill, encoder: str) -> int:
    """Of everything that is stored."""
    skill = {field.name: getattr(item.skill, field.name) for field in fields(item.skill)}
    plain = {**skill, "path": os.fsdecode(item.skill.path)}
    text = canonical_json([encoder, plain, item.text, item.head, item.body, item.name, item.names])
    found = hashlib.sha256(text.encode())
    found.update(item.key)
    found.update(np.asarray(item.vector, dtype=np.float32).tobytes())
    for path, data in sorted(item.files.items()):
        found.update(canonical_json([path, len(data)]).encode())
        found.update(data)
    return int.from_bytes(found.digest(), "big")
