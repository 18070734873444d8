"""One generation of the library: every skill, resolvable by id, name and alias. Immutable."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol, runtime_checkable

from skillcue.library.characters import nfc
from skillcue.library.files import IsClosed
from skillcue.library.merge import merge
from skillcue.library.naming import fold
from skillcue.library.relations import Relations, read_relations
from skillcue_adapters.refine.composed import ID_PREFIX, may_see
from skillcue_hooks.contracts import Diagnostic, Library, Scope, Skill, SourceScan, Trust
from skillcue_hooks.errors import AmbiguousNameError, SkillNotFoundError
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.protocols import SkillSource

__all__ = ["Assess", "Composed", "Enrich", "InFolder", "LibrarySnapshot", "build_snapshot"]

Assess = Callable[[Skill, SkillSource], tuple[Skill, tuple[Diagnostic, ...]]]
"""Gives a skill of a source, with lower trust if need be, and what was found in it."""

Enrich = Callable[[tuple[Skill, ...]], tuple[Skill, ...]]
"""Gives the same skills in the same order, with `Skill.search_terms`."""

SCOPES_KEPT = 32
"""Policy answers whose look-up tables are kept."""


@runtime_checkable
class InFolder(Protocol):
    """A source whose skills lie below one folder."""

    @property
    def path(self) -> Path | None:
        """The folder, None where there is none."""
        ...

    @property
    def trust(self) -> Trust: ...


class Composed(Protocol):
    """Skills that were composed of skills of the library."""

    @property
    def source(self) -> SkillSource:
        """Reads their bodies."""
        ...

    def get(
        self, skill_id: str, find: Callable[[str], Skill | None], taken: Callable[[str], bool]
    ) -> Skill | None:
        """The skill with that id, by a name that is not `taken`, what was read for it looked up by
        `find`; None where some of that is gone.
        """
        ...

    def candidates(self, name: str, scope: Scope | None) -> Sequence[str]:
        """Ids of the skills that may have that name where `scope` is the policy, sorted."""
        ...


class _Index:
    """Look-up tables; the tolerant ones are built when first needed.

    Args:
        skills: What they find.
        copies: Id of a skill to those that are not shown because their text is: it answers to
            their ids and names as well.
        hidden: What a policy hides, copies included.
    """

    def __init__(
        self,
        skills: Iterable[Skill],
        copies: Mapping[str, Sequence[Skill]],
        hidden: Sequence[Skill] = (),
    ) -> None:
        self._copies = copies
        self._hidden = hidden
        self.by_id: dict[str, Skill] = {skill.id: skill for skill in skills}
        self.by_name: dict[str, Skill] = {}
        for skill in self.by_id.values():
            self.by_name.setdefault(nfc(skill.name), skill)
        self._copied = {
            copy.id: kept for kept in self.by_id.values() for copy in copies.get(kept.id, ())
        }

    def restricted(self, scope: Scope) -> _Index:
        """The tables of what `scope` allows."""
        copies = {
            kept: [copy for copy in found if scope.allows(copy)]
            for kept, found in self._copies.items()
        }
        allowed = {s.id for s in self.by_id.values() if scope.allows(s)}
        hidden = [s for s in self.by_id.values() if s.id not in allowed]
        for kept, found in self._copies.items():
            hidden += [c for c in found if kept not in allowed or c not in copies[kept]]
        return _Index((self.by_id[i] for i in self.by_id if i in allowed), copies, hidden)

    @cached_property
    def hidden_folders(self) -> frozenset[str]:
        """Folders of what the policy hides, links resolved."""
        return frozenset(os.path.realpath(skill.path.parent) for skill in self._hidden)

    @cached_property
    def untrusted_folders(self) -> frozenset[str]:
        """Folders of untrusted skills, shown or hidden, links resolved."""
        shown = [*self.by_id.values(), *(c for found in self._copies.values() for c in found)]
        return frozenset(
            os.path.realpath(skill.path.parent)
            for skill in (*shown, *self._hidden)
            if skill.trust == "untrusted"
        )

    def get(self, skill_id: str) -> Skill | None:
        return self.by_id.get(skill_id) or self._copied.get(skill_id)

    def find(self, name: str) -> Skill | None:
        """See `LibrarySnapshot.find`."""
        found = self.get(name) or self.by_name.get(name) or self.aliases.get(name)
        if found is not None:
            return found
        folded = fold(name)
        return self.folded_names.get(folded) or self.folded_aliases.get(folded)

    @cached_property
    def aliases(self) -> dict[str, Skill | None]:
        """Alias to its skill, None where several skills share it."""
        return _unique((nfc(alias), skill) for alias, skill in self._further_names())

    @cached_property
    def folded_names(self) -> dict[str, Skill | None]:
        return _unique((fold(name), skill) for name, skill in self.by_name.items())

    @cached_property
    def folded_aliases(self) -> dict[str, Skill | None]:
        return _unique((fold(alias), skill) for alias, skill in self._further_names())

    def _further_names(self) -> Iterator[tuple[str, Skill]]:
        for skill in self.by_id.values():
            names = [*skill.aliases]
            for copy in self._copies.get(skill.id, ()):
                names += [copy.name, *copy.aliases]
            yield from ((name, skill) for name in dict.fromkeys(names) if name != skill.name)


@dataclass(frozen=True, eq=False)
class LibrarySnapshot:
    """One generation of the library.

    Attributes:
        generation: Changes whenever any skill changes (hex).
        skills: All skills in precedence order: earlier source first, then the source's order.
        library: The searchable ones, sorted by id, for retrievers.
        diagnostics: Everything that is not clean: sources in order, then the whole library.
        found: Number of skills the sources gave, copies of equal content included.
        copies: Those copies.
        relations: What trusted skill files say about other skills, as far as it holds.
    """

    generation: str
    skills: tuple[Skill, ...]
    library: Library
    diagnostics: tuple[Diagnostic, ...]
    found: int
    copies: tuple[Skill, ...]
    _index: _Index = field(repr=False)
    _sources: Mapping[str, SkillSource] = field(repr=False)
    _scoped: dict[tuple[str, str], _Index] = field(repr=False, default_factory=dict)
    _composed: Composed | None = field(repr=False, default=None)
    _roots: Sequence[tuple[str, Trust]] = field(repr=False, default=())
    relations: Relations = field(repr=False, default=Relations())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All names, sorted, each once."""
        return tuple(sorted(self._index.by_name))

    def get(self, skill_id: str, scope: Scope | None = None) -> Skill | None:
        """The skill with that id, hidden or not; the id of a copy gives the one that is shown.

        What was composed has no name of a skill that `scope` shows.
        """
        return self._index.get(skill_id) or self._composed_skill(skill_id, scope)

    def find(self, name: str, scope: Scope | None = None) -> Skill | None:
        """The skill that `name` means, or None.

        In this order: an id; a name, of which the first in precedence counts; an alias that only
        one skill has; a name or else an alias that differs only in case, Unicode form, or in
        blanks, hyphens and underscores, if only one fits. Never a search. What `scope` hides
        does not exist: it neither answers nor takes a name from what is visible.
        """
        wanted = nfc(name.strip())
        return self._visible(scope).find(wanted) or self._allowed(wanted, scope)

    def resolve(self, name: str, scope: Scope | None = None) -> Skill:
        """As `find`, and where that finds nothing, what was composed and has that name.

        Raises:
            AmbiguousNameError: Several that were composed have that name.
            SkillNotFoundError: Nothing fits; carries the closest names that may be seen.
        """
        found = self.find(name, scope) or self._composed_named(name, scope)
        if found is None:
            known = self._visible(scope).by_id.values()
            shown = (s for s in known if s.searchable)  # a suggestion is a list as well
            raise SkillNotFoundError(name, [s.id if "@" in name else nfc(s.name) for s in shown])
        return found

    def load_name(self, skill: Skill, scope: Scope | None = None) -> str:
        """The name where it loads exactly `skill`, else its id."""
        found = self.find(skill.name, scope)
        return skill.name if found is not None and found.id == skill.id else skill.id

    def closed_folders(self, skill: Skill, scope: Scope | None) -> IsClosed:
        """Tells of folders, links resolved, whether their files are no files of `skill` although
        they may lie in its folder: of what `scope` hides, of less trusted skills, and whole sources
        that are less trusted or under a policy. What a source has rejected is no skill that a
        policy could judge.

        The links of a large library are resolved with the first folder that is asked about.
        """
        index = self._visible(scope)
        trusted = skill.trust == "trusted"
        roots = {root for root, trust in self._roots if scope or (trusted and trust == "untrusted")}
        return lambda folder: (
            folder in roots
            or folder in index.hidden_folders
            or (trusted and folder in index.untrusted_folders)
        )

    def source_of(self, skill: Skill) -> SkillSource:
        """The source that reads the body of `skill`.

        Raises:
            SkillNotFoundError: The skill is not part of this snapshot.
        """
        if self._composed_skill(skill.id, None) is not None and self._composed is not None:
            return self._composed.source
        try:
            return self._sources[skill.id]
        except KeyError:
            raise SkillNotFoundError(skill.id, self._index.by_id) from None

    def _composed_skill(self, skill_id: str, scope: Scope | None) -> Skill | None:
        """A skill that is not of the library, hidden or not."""
        if self._composed is None or not skill_id.startswith(ID_PREFIX):
            return None
        find, names = self._index.by_id.get, self._visible(scope)
        if find(skill_id) is not None:
            return None
        return self._composed.get(skill_id, find, lambda name: names.find(name) is not None)

    def _allowed(self, skill_id: str, scope: Scope | None) -> Skill | None:
        """As `_composed_skill`, if `scope` allows all that it was composed of."""
        skill = self._composed_skill(skill_id, scope)
        visible = skill is not None and may_see(skill, scope, self._index.by_id.get)
        return skill if visible else None

    def _composed_named(self, name: str, scope: Scope | None) -> Skill | None:
        if self._composed is None:
            return None
        folded = fold(name.strip())
        ids = self._composed.candidates(folded, scope)
        skills = [s for s in (self._allowed(i, scope) for i in ids) if s and s.name == folded]
        if len(skills) > 1:
            raise AmbiguousNameError(name, [skill.id for skill in skills])
        return skills[0] if skills else None

    def _visible(self, scope: Scope | None) -> _Index:
        """The look-up tables of what `scope` allows; the last few are kept."""
        if scope is None:
            return self._index
        name = (scope.key, scope.answers)
        index = self._scoped.get(name)
        if index is None:
            index = self._index.restricted(scope)
            while len(self._scoped) >= SCOPES_KEPT:
                self._scoped.pop(next(iter(self._scoped), ("", "")), None)
            self._scoped[name] = index
        return index


def build_snapshot(
    sources: Sequence[SkillSource],
    scans: Sequence[SourceScan],
    assess: Assess | None = None,
    extra: Iterable[Diagnostic] = (),
    composed: Composed | None = None,
    enrich: Enrich | None = None,
) -> LibrarySnapshot:
    """Put the scans of `sources` together.

    Args:
        sources: In precedence order.
        scans: What each of them holds, in the same order.
        assess: Looks at every skill that is kept.
        extra: Diagnostics that come first.
        composed: Skills composed of others; they are found by id and are not part of the library.
        enrich: Adds search terms to the skills that are kept.
    """
    merged = merge(sources, scans)
    skills = merged.skills
    diagnostics = [*extra, *(item for scan in scans for item in scan.diagnostics)]
    diagnostics += merged.diagnostics
    if assess is not None:
        assessed = [assess(*pair) for pair in zip(skills, merged.sources, strict=True)]
        skills = tuple(skill for skill, _ in assessed)
        diagnostics += [item for _, findings in assessed for item in findings]
    if enrich is not None:
        skills = enrich(skills)
    index = _Index(skills, merged.copies)
    relations = read_relations(skills, index.find)
    diagnostics += relations.diagnostics
    copies = tuple(copy for found in merged.copies.values() for copy in found)
    generation = fingerprint("\n".join(_identity(skill) for skill in (*skills, *copies)))
    searchable = sorted((s for s in skills if s.searchable), key=lambda skill: skill.id)
    return LibrarySnapshot(
        generation,
        skills,
        Library(generation, tuple(searchable)),
        tuple(diagnostics),
        sum(len(scan.skills) for scan in scans),
        copies,
        index,
        {skill.id: source for skill, source in zip(skills, merged.sources, strict=True)},
        _composed=composed,
        _roots=[
            (os.path.realpath(s.path), s.trust)
            for s in sources
            if isinstance(s, InFolder) and s.path
        ],
        relations=relations,
    )


def _identity(skill: Skill) -> str:
    """Everything about a skill that a ranking, a filter or a rendering can depend on."""
    return "\x1f".join(
        (
            skill.id,
            skill.name,
            skill.content_hash,
            skill.description,
            skill.source,
            skill.trust,
            skill.category,
            f"{len(skill.body)} {skill.searchable} {skill.pushable}",
            *skill.tags,
            "\x1e",
            *skill.aliases,
            *(("\x1e", *skill.search_terms) if skill.search_terms else ()),
            *(() if skill.user_invocable else ("\x1e\x1e",)),
        )
    )


def _unique(pairs: Iterable[tuple[str, Skill]]) -> dict[str, Skill | None]:
    table: dict[str, Skill | None] = {}
    for key, skill in pairs:
        table[key] = None if key in table and table[key] is not skill else skill
    return table
