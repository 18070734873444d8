"""What skills answer to: ids, names, aliases, and how these may be spelled."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from skillcue.library.characters import nfc
from skillcue.library.naming import fold
from skillcue_adapters.lazy import cached_property
from skillcue_hooks.contracts import Scope, Skill

__all__ = ["NameTables"]


class NameTables:
    """What some skills answer to; the tolerant tables are built when first needed.

    Args:
        skills: What they find, in precedence order.
        copies: Id of a skill to those that are not shown because their text is: it answers to
            their ids and names as well.
        hidden: What a policy hides, copies included.
    """

    def __init__(
        self,
        skills: Iterable[Skill],
        copies: Mapping[str, Sequence[Skill]] | None = None,
        hidden: Sequence[Skill] = (),
    ) -> None:
        self._copies = {} if copies is None else copies
        self._hidden = hidden
        self.by_id: dict[str, Skill] = {skill.id: skill for skill in skills}
        self.by_name: dict[str, Skill] = {}
        for skill in self.by_id.values():
            self.by_name.setdefault(nfc(skill.name), skill)
        self._copied = {
            copy.id: kept for kept in self.by_id.values() for copy in self._copies.get(kept.id, ())
        }

    def restricted(self, scope: Scope) -> NameTables:
        """The tables of what `scope` allows."""
        copies = {
            kept: [copy for copy in found if scope.allows(copy)]
            for kept, found in self._copies.items()
        }
        allowed = {s.id for s in self.by_id.values() if scope.allows(s)}
        hidden = [s for s in self.by_id.values() if s.id not in allowed]
        for kept, found in self._copies.items():
            hidden += [c for c in found if kept not in allowed or c not in copies[kept]]
        return NameTables((self.by_id[i] for i in self.by_id if i in allowed), copies, hidden)

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
        """The skill with that id, or the one that is shown for a copy with it."""
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
        """Folded name to its skill, None where several names fold to it."""
        return _unique((fold(name), skill) for name, skill in self.by_name.items())

    @cached_property
    def folded_aliases(self) -> dict[str, Skill | None]:
        """Folded alias to its skill, None where several skills share it."""
        return _unique((fold(alias), skill) for alias, skill in self._further_names())

    def _further_names(self) -> Iterator[tuple[str, Skill]]:
        for skill in self.by_id.values():
            names = [*skill.aliases]
            for copy in self._copies.get(skill.id, ()):
                names += [copy.name, *copy.aliases]
            yield from ((name, skill) for name in dict.fromkeys(names) if name != skill.name)


def _unique(pairs: Iterable[tuple[str, Skill]]) -> dict[str, Skill | None]:
    table: dict[str, Skill | None] = {}
    for key, skill in pairs:
        table[key] = None if key in table and table[key] is not skill else skill
    return table
