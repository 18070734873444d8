"""What skill files say about other skills: ``requires``, ``precedes``, ``alternative-to`` and others.

They are shown to who has loaded a skill. No retriever reads them: a relation is the same whatever is
asked, and at an equal budget more results of a search find more than the neighbours of its first.

A relation that misleads is worse than none. Where relations of a pair of skills contradict each
other, all of that pair are dropped; what lies on a circle of an order is dropped after that.
Both are the same for any order of the files.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from skillcue.library.codes import diagnostic
from skillcue_adapters.lazy import cached_property
from skillcue_hooks.contracts import Diagnostic, Skill

__all__ = ["KINDS", "Kind", "Relation", "Relations", "read_relations"]

MOST_TARGETS = 50
"""Skills that one skill may name in one relation; further ones are not read."""
SHOWN_IN_MESSAGE = 5
KEYS_KEPT = 1_024
"""Spellings of keys that are looked at once: a large library has the same few again and again."""

_POSITIONS = re.compile(r"^(?:\d+(?:\.|$))+")
"""Where an item stands in lists, at the beginning of a path."""

Order = Literal["", "time", "kind"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of relation.

    Attributes:
        name: As front matter spells it.
        told: What is said of the target to who has loaded the skill; empty for nothing.
        told_back: What is said of the skill to who has loaded the target.
        order: In which order it puts the two: in ``time``, or from special to general (``kind``).
        reverse: The target comes first in that order.
        one_way: It cannot hold in both directions.
    """

    name: str
    told: str
    told_back: str = ""
    order: Order = ""
    reverse: bool = False
    one_way: bool = True


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("requires", "Requires", order="time", reverse=True),
        Kind("precedes", "Comes next", order="time"),
        Kind("follows", "", "Comes next", order="time", reverse=True),
        Kind("feeds-into", "Works on the result", order="time"),
        Kind("verifies", "", "Checks the result", order="time", reverse=True),
        Kind("routes-to", "Hands over to"),
        Kind("specializes", "More general", "More special", order="kind"),
        Kind("complements", "Goes with", "Goes with", one_way=False),
        Kind("alternative-to", "Alternative", "Alternative", one_way=False),
    )
}
"""By name, in the order in which they are shown."""

_NOT_INSTEAD = frozenset({"requires", "precedes", "follows", "feeds-into", "complements"})
"""What is done together with another skill is not done instead of it."""


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation that a skill file names.

    Attributes:
        kind: Its type, a key of `KINDS`.
        skill: Id of the skill that names it.
        target: Id of the skill that is named.
    """

    kind: str
    skill: str
    target: str

    @property
    def earlier(self) -> tuple[str, str]:
        """(the one that comes first, the other) in the order of its type."""
        pair = (self.skill, self.target)
        return pair[::-1] if KINDS[self.kind].reverse else pair


@dataclass(frozen=True)
class Relations:
    """The relations of a library that hold.

    Attributes:
        all: Sorted by skill, type and target.
        diagnostics: About those that do not.
    """

    all: tuple[Relation, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    def of(self, skill_id: str) -> Sequence[tuple[str, str]]:
        """(what is said, id of another skill) to who has loaded the skill, in a fixed order."""
        return self._told.get(skill_id, ())

    @cached_property
    def _told(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        told: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for relation in self.all:
            kind = KINDS[relation.kind]
            if kind.told:
                told[relation.skill].add((kind.told, relation.target))
            if kind.told_back:
                told[relation.target].add((kind.told_back, relation.skill))
        return {
            i: sorted(t, key=lambda pair: (_TOLD.index(pair[0]), pair[1])) for i, t in told.items()
        }


_TOLD = tuple(dict.fromkeys(said for k in KINDS.values() for said in (k.told, k.told_back) if said))


def read_relations(skills: Iterable[Skill], find: Callable[[str], Skill | None]) -> Relations:
    """The relations that the front matter of `skills` names, as far as they hold.

    Args:
        skills: All skills of the library.
        find: The skill that a name or an id means, None where it is none or several.
    """
    by_id: dict[str, Skill] = {}
    named: set[Relation] = set()
    notes: list[Diagnostic] = []
    for skill in skills:
        by_id[skill.id] = skill
        written = list(_written(skill))
        if written and skill.trust == "untrusted":
            keys = ", ".join(dict.fromkeys(kind for kind, _ in written))
            notes.append(diagnostic("relation-untrusted", skill.path, f"It names: {keys}."))
            continue
        for kind, target in written:
            found = find(target)
            if found is None:
                message = f"{kind}: there is no skill {target[:80]!r}."
                notes.append(diagnostic("relation-unknown", skill.path, message))
            elif found.id == skill.id:
                message = f"{kind}: it names itself."
                notes.append(diagnostic("relation-cycle", skill.path, message))
            else:
                named.add(Relation(kind, skill.id, found.id))
    held = sorted(named, key=lambda r: (r.skill, r.kind, r.target))
    held, against = _without_contradictions(held, by_id)
    held, circles = _without_cycles(held, by_id)
    return Relations(tuple(held), (*notes, *against, *circles))


def _written(skill: Skill) -> Iterator[tuple[str, str]]:
    """(type, name or id of the target) as the file has them."""
    targets: dict[str, list[str]] = defaultdict(list)
    for key, text in skill.metadata.items():
        kind, inner = _kind(key)
        if kind and inner:  # a map, which names no skill; as written, so that it can be told
            targets[kind].append(f"{inner}: {text}")
        elif kind:
            targets[kind] += (part.strip().strip("\"'`[]").strip() for part in text.split(","))
    for kind, names in targets.items():
        for name in list(dict.fromkeys(filter(None, names)))[:MOST_TARGETS]:
            yield kind, name


@lru_cache(KEYS_KEPT)
def _kind(key: str) -> tuple[str, str]:
    """The type that a key of front matter names, and the path in a map in it.

    Metadata has a list that holds more than plain values as a key for each of them: ``requires.0``.
    """
    head, _, inner = re.sub(r"(?i)^metadata\.", "", key.strip()).partition(".")
    spelled = re.sub(r"[\s_]+", "-", head.strip().casefold())
    return (spelled, _POSITIONS.sub("", inner, count=1)) if spelled in KINDS else ("", "")


def _without_contradictions(
    relations: Sequence[Relation], by_id: Mapping[str, Skill]
) -> tuple[list[Relation], list[Diagnostic]]:
    pairs: dict[frozenset[str], list[Relation]] = defaultdict(list)
    for relation in relations:
        pairs[frozenset((relation.skill, relation.target))].append(relation)
    held, notes = [], []
    for relation in relations:
        same = pairs[frozenset((relation.skill, relation.target))]
        if len(same) > 1 and (why := _contradiction(same)):
            message = f"{_said(relation)}; with {_short(relation.target)}, {why}."
            path = by_id[relation.skill].path
            notes.append(diagnostic("relation-contradiction", path, message))
        else:
            held.append(relation)
    return held, notes


def _contradiction(same: Sequence[Relation]) -> str:
    """How the relations of one pair contradict each other; empty where they do not."""
    kinds = {relation.kind for relation in same}
    if "alternative-to" in kinds and (both := sorted(kinds & _NOT_INSTEAD)):
        return f"alternative-to and {both[0]} cannot both hold"
    directed: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for relation in same:
        kind = KINDS[relation.kind]
        if kind.one_way:
            directed[kind.order or kind.name].add(relation.earlier)
    for name, ways in sorted(directed.items()):
        if len(ways) > 1:
            return "each comes first" if name in ("time", "kind") else f"{name} goes both ways"
    return ""


def _without_cycles(
    relations: Sequence[Relation], by_id: Mapping[str, Skill]
) -> tuple[list[Relation], list[Diagnostic]]:
    on_circle: dict[Relation, list[str]] = {}
    for order in ("time", "kind"):
        ordered = [r for r in relations if KINDS[r.kind].order == order]
        part = _strong_components([r.earlier for r in ordered])
        members: dict[int, list[str]] = defaultdict(list)
        for node, number in sorted(part.items()):
            members[number].append(node)
        for relation in ordered:
            if part[relation.skill] == part[relation.target]:
                on_circle[relation] = members[part[relation.skill]]
    notes = []
    for relation, nodes in on_circle.items():
        shown = ", ".join(map(_short, nodes[:SHOWN_IN_MESSAGE]))
        more = f" and {len(nodes) - SHOWN_IN_MESSAGE} more" * (len(nodes) > SHOWN_IN_MESSAGE)
        message = f"{_said(relation)}; the circle: {shown}{more}."
        notes.append(diagnostic("relation-cycle", by_id[relation.skill].path, message))
    return [r for r in relations if r not in on_circle], notes


def _strong_components(edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Node to the number of its component: two are in one where each leads to the other."""
    if not edges:
        return {}
    from scipy.sparse import coo_array  # only where a library has relations
    from scipy.sparse.csgraph import connected_components

    nodes = sorted({node for edge in edges for node in edge})
    number = {node: position for position, node in enumerate(nodes)}
    rows, columns = zip(*((number[a], number[b]) for a, b in edges), strict=True)
    graph = coo_array(([1] * len(edges), (rows, columns)), shape=(len(nodes), len(nodes)))
    _, labels = connected_components(graph, directed=True, connection="strong")
    return dict(zip(nodes, map(int, labels), strict=True))


def _said(relation: Relation) -> str:
    return f"{relation.kind}: {_short(relation.target)}"


def _short(skill_id: str) -> str:
    return skill_id.partition("@")[0][:80]
