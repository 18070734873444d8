"""Libraries in a `MemoryIndex`, modes over them, and made-up skills."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from skillcue_adapters import bm25, dense, hybrid, skillsight
from skillcue_adapters.indexed import MemoryIndex, Unprepared, prepare
from skillcue_hooks.contracts import Library, RetrieverContext, Skill
from skillcue_hooks.protocols import Encoder
from skillcue_hooks.testing import make_skill

__all__ = [
    "TENANT",
    "Bodyless",
    "NeverWalked",
    "in_memory_index",
    "library_of",
    "made_up",
    "modes",
]

TENANT = "t"

FACTORIES: dict[str, Callable[..., Any]] = {
    "bm25": bm25.build,
    "dense": dense.build,
    "hybrid": hybrid.build,
    "skillsight": skillsight.build,
}

_TEXT = (
    "pdf form invoice table clean merge git commit test deploy docker image resize audio video cut "
    "note draft mail plan budget chart plot sql query index cache node graph agent prompt model "
    "train tune lint format parse scrape crawl render theme colour font slide deck sheet cell macro"
)
_WORDS = _TEXT.split()


class Bodyless(tuple[Skill, ...]):
    """Skills of an index: what it gives of one of them has no body."""

    def __contains__(self, item: object) -> bool:
        return any(item == replace(skill, body="") for skill in self)


class NeverWalked(Sequence[Skill]):
    """The skills of a library of which nothing may look at all."""

    def __len__(self) -> int:
        raise AssertionError("the skills of an index were counted")

    def __getitem__(self, place: Any) -> Any:
        raise AssertionError("the skills of an index were walked over")


def in_memory_index(skills: Iterable[Skill], encoder: Encoder, tenant: str = TENANT) -> MemoryIndex:
    """A new index that holds `skills`."""
    index = MemoryIndex()
    items = prepare([Unprepared(skill, names=(skill.name,)) for skill in skills], encoder)
    index.apply(items, tenant=tenant, encoder=encoder.fingerprint)
    return index


def library_of(index: MemoryIndex, *tenants: str) -> Library:
    """What `tenants` have in `index` now."""
    whose = tenants or (TENANT,)
    return Library(index.revision(whose), NeverWalked(), index, whose)


def modes(
    library: Library,
    encoder: Encoder,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    previous: Callable[[str], Any] | None = None,
) -> Callable[[str], Any]:
    """Gives the retriever of a mode over `library`, complete, each built once."""
    built: dict[str, Any] = {}

    def get(mode: str) -> Any:
        if mode not in built:
            context = RetrieverContext(
                mode,
                (settings or {}).get(mode, {}),
                None if previous is None else previous(mode),
                get,
                encoder=lambda spec: encoder,
            )
            built[mode] = FACTORIES[mode](library, context)
            built[mode].wait_ready()
        return built[mode]

    return get


def made_up(count: int, seed: int = 1) -> list[Skill]:
    """Skills whose words follow Zipf, two thirds of them with a body, some of them copies."""
    rng = random.Random(seed)
    weights = [1 / (rank + 3) for rank in range(len(_WORDS))]

    def words(number: int) -> str:
        return " ".join(rng.choices(_WORDS, weights, k=number))

    skills = []
    for number in range(count):
        name = words(2).replace(" ", "-")
        body = words(40) if number % 3 else ""
        fields = {"tags": (words(1),), "category": rng.choice(["office", "web/data"])}
        skill = make_skill(f"{name}-{number}", f"Use when you {words(7)}.", body, **fields)
        skills.append(skill)
        if not number % 20:  # the same text in another folder
            skills.append(replace(skill, id=f"{skill.name}@copy/{number}"))
    return skills[:count]
