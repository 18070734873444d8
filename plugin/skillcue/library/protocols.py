"""What a library is asked, whether its skills are in memory or in an index."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from skillcue.library.files import IsClosed
from skillcue.library.relations import Relations
from skillcue_hooks.contracts import Diagnostic, Library, Scope, Skill
from skillcue_hooks.errors import IndexUnavailableError
from skillcue_hooks.protocols import SkillSource

__all__ = ["Listing", "Live", "Snapshot"]


@dataclass(frozen=True, slots=True)
class Listing:
    """A part of the list of searchable skills.

    Attributes:
        skills: In the order of the list.
        total: Skills in the whole list; None where nobody counted.
        more: There are further ones behind these.
    """

    skills: tuple[Skill, ...]
    total: int | None
    more: bool


class Snapshot(Protocol):
    """One generation of a library; see `skillcue.library.snapshot.LibrarySnapshot`."""

    @property
    def generation(self) -> str:
        """Changes whenever any skill changes."""
        ...

    @property
    def skills(self) -> Sequence[Skill]:
        """All skills; of an index each walk reads it."""
        ...

    @property
    def library(self) -> Library:
        """The searchable ones, for retrievers."""
        ...

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything that is not clean."""
        ...

    @property
    def found(self) -> int:
        """Number of skills the sources gave, copies of equal content included."""
        ...

    @property
    def copies(self) -> tuple[Skill, ...]:
        """Those copies; of an index there are none."""
        ...

    @property
    def relations(self) -> Relations:
        """What front matter says of pairs of skills; of an index nothing is known."""
        ...

    def narrowed(self, tenants: tuple[str, ...] | None) -> Snapshot:
        """What of it belongs to `tenants`; None means all. Skills in folders are of tenant ``""``."""
        ...

    def expect(self, names: Collection[str]) -> None:
        """These names and ids are about to be looked up: an index is asked for all at once."""
        ...

    def get(self, skill_id: str, scope: Scope | None = None) -> Skill | None:
        """The skill with that id, hidden or not."""
        ...

    def find(self, name: str, scope: Scope | None = None) -> Skill | None:
        """The skill that `name` means, or None."""
        ...

    def resolve(self, name: str, scope: Scope | None = None) -> Skill:
        """As `find`; an error names the closest names."""
        ...

    def load_name(self, skill: Skill, scope: Scope | None = None) -> str:
        """The name where it loads exactly `skill`, else its id."""
        ...

    def listing(self, scope: Scope | None, start: int, count: int) -> Listing:
        """Searchable skills by name and id, from number `start` on."""
        ...

    def closed_folders(self, skill: Skill, scope: Scope | None) -> IsClosed:
        """Folders whose files are no files of `skill` for whoever asks."""
        ...

    def source_of(self, skill: Skill) -> SkillSource:
        """What reads the body of `skill`."""
        ...


class Live(Protocol):
    """The snapshots of a library over time."""

    @property
    def sources(self) -> tuple[SkillSource, ...]:
        """Where the skills come from."""
        ...

    def snapshot(self) -> Snapshot:
        """The current one; looks for changes first when that is due."""
        ...

    def refresh(self) -> Snapshot:
        """Look now."""
        ...

    def failed(self, error: IndexUnavailableError) -> None:
        """Take note that an index could not be reached."""
        ...

    def close(self) -> None:
        """Stop looking."""
        ...
