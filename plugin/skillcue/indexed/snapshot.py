"""One revision of an index, asked as a library in memory is; holds only what was looked up."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from skillcue.indexed.names import answers_to, nearby, spellings
from skillcue.indexed.recent import Recent
from skillcue.indexed.skills import IndexSkills
from skillcue.indexed.source import IndexSource
from skillcue.library.characters import nfc
from skillcue.library.composed_names import Composed, ComposedNames
from skillcue.library.files import IsClosed
from skillcue.library.name_tables import NameTables
from skillcue.library.protocols import Listing
from skillcue.library.relations import Relations
from skillcue_hooks.contracts import Diagnostic, Library, Scope, Skill, allow_all
from skillcue_hooks.errors import SkillcueError, SkillNotFoundError
from skillcue_hooks.protocols import SkillSource
from skillcue_hooks.skill_index import SkillIndex

__all__ = ["LISTED_MOST", "IndexSnapshot"]

SKILLS_KEPT = 1024
"""Ids whose skills are remembered."""
NAMES_KEPT = 8192
"""Names of which it is remembered who answers to them: those in the longest turn, and more."""
MARKS_KEPT = 256
"""Places in lists that are remembered, so that the next page costs one page."""
NARROWED_KEPT = 64
"""Parts of the tenants that are remembered."""
PAGE = 200
"""Skills that are read at once for a list."""
LISTED_MOST = 20_000
"""Skills that one part of a list may cost to find."""

Place = tuple[str, str]
"""Casefolded name and id: where a skill stands in a list."""


class IndexSnapshot:
    """The skills of some tenants at one revision. Safe to share between threads.

    Facts are read when they are asked for, so some may be newer than the revision; a text is only
    given together with the skill that it belongs to (see `IndexSource.read_body`).

    Args:
        index: The index.
        tenants: Whose skills, in order of precedence.
        label: Name shown for the index.
        composed: Skills that were composed of others.

    Attributes:
        generation: The revision of what the tenants have.
        skills: All skills, read when walked.
        library: The searchable ones, for retrievers.
        diagnostics: None: they were told to whoever published.
        copies: None: a skill is published once, with the names of its copies.
    """

    def __init__(
        self,
        index: SkillIndex,
        tenants: tuple[str, ...],
        label: str,
        composed: Composed | None = None,
    ) -> None:
        self.generation = index.revision(tenants)
        self.skills: Sequence[Skill] = IndexSkills(index, tenants, searchable=False)
        searchable = IndexSkills(index, tenants, searchable=True)
        self.library = Library(self.generation, searchable, index, tenants)
        self.diagnostics: tuple[Diagnostic, ...] = ()
        self.copies: tuple[Skill, ...] = ()
        self._index = index
        self._tenants = tenants
        self._label = label
        self._composed = composed
        self._source = IndexSource(index, tenants, label)
        self._by_id: Recent[str, Skill | None] = Recent(SKILLS_KEPT)
        self._by_name: Recent[str, tuple[Skill, ...]] = Recent(NAMES_KEPT)
        self._marks: Recent[tuple[str, int], Place] = Recent(MARKS_KEPT)
        self._narrowed: Recent[tuple[str, ...], IndexSnapshot] = Recent(NARROWED_KEPT)
        self._composed_names = ComposedNames(composed, self._own, self._named)

    @property
    def found(self) -> int:
        """Number of skills; copies of equal content are not published."""
        return len(self.skills)

    def narrowed(self, tenants: tuple[str, ...] | None) -> IndexSnapshot:
        """The part of it that belongs to those of its tenants that are among `tenants`."""
        if tenants is None:
            return self
        kept = tuple(tenant for tenant in self._tenants if tenant in tenants)
        if kept == self._tenants:
            return self
        known = self._narrowed.get(kept)
        if known is None:
            known = IndexSnapshot(self._index, kept, self._label, self._composed)
            self._narrowed.put(kept, known)
        return known

    @property
    def relations(self) -> Relations:
        """None: which of them hold is known only where all skills are read."""
        return Relations()

    def expect(self, names: Collection[str]) -> None:
        """Look these names and ids up together, so that each of them costs nothing afterwards."""
        wanted = [name for name in dict.fromkeys(map(_plain, names)) if name not in self._by_name]
        spelled = dict.fromkeys(s for name in wanted for s in spellings(name))
        if not spelled:
            return
        found = self._index.named(list(spelled), self._tenants)
        held = [(skill, frozenset(answers_to(skill))) for skill in found]
        for name in wanted:
            own = frozenset(spellings(name))
            self._by_name.put(name, tuple(skill for skill, names in held if names & own))

    def get(self, skill_id: str, scope: Scope | None = None) -> Skill | None:
        """See `LibrarySnapshot.get`."""
        return self._own(skill_id) or self._composed_names.skill(skill_id, scope)

    def find(self, name: str, scope: Scope | None = None) -> Skill | None:
        """See `LibrarySnapshot.find`."""
        return self._named(name, scope) or self._composed_names.allowed(_plain(name), scope)

    def resolve(self, name: str, scope: Scope | None = None) -> Skill:
        """See `LibrarySnapshot.resolve`; the closest names are those nearby in the alphabet."""
        found = self.find(name, scope) or self._composed_names.named(name, scope)
        if found is None:
            near = _visible(nearby(name, self._index, self._tenants), scope)
            raise SkillNotFoundError(name, [s.id if "@" in name else nfc(s.name) for s in near])
        return found

    def load_name(self, skill: Skill, scope: Scope | None = None) -> str:
        """See `LibrarySnapshot.load_name`."""
        found = self.find(skill.name, scope)
        return skill.name if found is not None and found.id == skill.id else skill.id

    def listing(self, scope: Scope | None, start: int, count: int) -> Listing:
        """See `Snapshot.listing`. The one that follows on another costs one page. Where a policy
        hides nearly everything, a part may have less than `count` although there are more.

        Raises:
            SkillcueError: It begins too far from what was listed before.
        """
        key = "" if scope is None else scope.key
        at, place = self._mark(key, start)
        shown: list[Skill] = []
        for looked, skill in enumerate(self._from(place)):
            if looked >= LISTED_MOST and at < start:
                raise SkillcueError(
                    f"The list is too long to go to number {start + 1} at once.",
                    "Search the library, or list it page by page.",
                )
            if looked >= LISTED_MOST:  # the policy shows little here
                self._marks.put((key, start + count), _place(skill))
                return Listing(tuple(shown), self._total(scope), more=True)
            if scope is not None and not scope.allows(skill):
                continue
            if len(shown) == count:
                self._marks.put((key, start + count), _place(shown[-1]))
                return Listing(tuple(shown), self._total(scope), more=True)
            if at >= start:
                shown.append(skill)
            at += 1
        return Listing(tuple(shown), at, more=False)

    def closed_folders(self, skill: Skill, scope: Scope | None) -> IsClosed:
        """None are: each skill has its own files."""
        return lambda _folder: False

    def source_of(self, skill: Skill) -> SkillSource:
        """The index, or what reads composed skills."""
        return self._composed_names.source_of(skill) or self._source

    def _own(self, skill_id: str) -> Skill | None:
        if skill_id not in self._by_id:
            found = self._index.fetch([skill_id], self._tenants)
            self._by_id.put(skill_id, found.get(skill_id))
        return self._by_id.get(skill_id)

    def _named(self, name: str, scope: Scope | None) -> Skill | None:
        """The skill of the index that `name` means: all that answer to it are at hand, so the tables
        of these few say the same as those of the whole library would.
        """
        wanted = _plain(name)
        self.expect([wanted])
        found = self._by_name.get(wanted) or ()
        return NameTables(s for s in found if scope is None or scope.allows(s)).find(wanted)

    def _total(self, scope: Scope | None) -> int | None:
        everything = scope is None or scope.allows is allow_all
        return len(self.library.skills) if everything else None

    def _mark(self, key: str, start: int) -> tuple[int, Place | None]:
        place = self._marks.get((key, start))
        return (0, None) if place is None else (start, place)

    def _from(self, place: Place | None) -> Iterable[Skill]:
        while batch := self._index.page(place, PAGE, self._tenants):
            yield from batch
            place = _place(batch[-1])


def _plain(name: str) -> str:
    return nfc(name.strip())


def _place(skill: Skill) -> Place:
    return skill.name.casefold(), skill.id


def _visible(skills: Iterable[Skill], scope: Scope | None) -> Iterable[Skill]:
    return (s for s in skills if s.searchable and (scope is None or scope.allows(s)))
