"""One generation of the library: every skill, resolvable by id, name and alias. Immutable."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from skillcue.library.characters import nfc
from skillcue.library.composed_names import Composed, ComposedNames
from skillcue.library.files import IsClosed
from skillcue.library.merge import merge
from skillcue.library.name_tables import NameTables
from skillcue.library.protocols import Listing
from skillcue.library.relations import Relations, read_relations
from skillcue_adapters.lazy import cached_property
from skillcue_hooks.contracts import Diagnostic, Library, Scope, Skill, SourceScan, Trust
from skillcue_hooks.errors import SkillNotFoundError
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.protocols import SkillSource

__all__ = ["Assess", "Enrich", "InFolder", "LibrarySnapshot", "build_snapshot"]

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
    _index: NameTables = field(repr=False)
    _sources: Mapping[str, SkillSource] = field(repr=False)
    _scoped: dict[tuple[str, str], NameTables] = field(repr=False, default_factory=dict)
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
        return self._index.get(skill_id) or self._composed_names.skill(skill_id, scope)

    def find(self, name: str, scope: Scope | None = None) -> Skill | None:
        """The skill that `name` means, or None.

        In this order: an id; a name, of which the first in precedence counts; an alias that only
        one skill has; a name or else an alias that differs only in case, Unicode form, or in
        blanks, hyphens and underscores, if only one fits. Never a search. What `scope` hides
        does not exist: it neither answers nor takes a name from what is visible.
        """
        wanted = nfc(name.strip())
        found = self._visible(scope).find(wanted)
        return found or self._composed_names.allowed(wanted, scope)

    def resolve(self, name: str, scope: Scope | None = None) -> Skill:
        """As `find`, and where that finds nothing, what was composed and has that name.

        Raises:
            AmbiguousNameError: Several that were composed have that name.
            SkillNotFoundError: Nothing fits; carries the closest names that may be seen.
        """
        found = self.find(name, scope) or self._composed_names.named(name, scope)
        if found is None:
            known = self._visible(scope).by_id.values()
            shown = (s for s in known if s.searchable)  # a suggestion is a list as well
            raise SkillNotFoundError(name, [s.id if "@" in name else nfc(s.name) for s in shown])
        return found

    def load_name(self, skill: Skill, scope: Scope | None = None) -> str:
        """The name where it loads exactly `skill`, else its id."""
        found = self.find(skill.name, scope)
        return skill.name if found is not None and found.id == skill.id else skill.id

    def narrowed(self, tenants: tuple[str, ...] | None) -> LibrarySnapshot:
        """Itself, or nothing where `tenants` are named without ``""``: the tenant of all that is
        in no index.
        """
        return self if tenants is None or "" in tenants else build_snapshot((), ())

    def expect(self, names: Collection[str]) -> None:
        """Nothing: all is at hand."""

    def listing(self, scope: Scope | None, start: int, count: int) -> Listing:
        """Searchable skills by name and id, from number `start` on."""
        skills = [s for s in self._by_name if scope is None or scope.allows(s)]
        end = start + count
        return Listing(tuple(skills[start:end]), len(skills), end < len(skills))

    @cached_property
    def _by_name(self) -> tuple[Skill, ...]:
        return tuple(sorted(self.library.skills, key=lambda s: (s.name.casefold(), s.id)))

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
        composed = self._composed_names.source_of(skill)
        try:
            return composed or self._sources[skill.id]
        except KeyError:
            raise SkillNotFoundError(skill.id, self._index.by_id) from None

    @cached_property
    def _composed_names(self) -> ComposedNames:
        own = self._index.by_id.get
        return ComposedNames(
            self._composed, own, lambda name, scope: self._visible(scope).find(name)
        )

    def _visible(self, scope: Scope | None) -> NameTables:
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
    index = NameTables(skills, merged.copies)
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
