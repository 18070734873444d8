"""Histories of loads with known transitions, written into real stores of events."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillcue.telemetry.facts import Facts, load_facts, lookup_facts, next_facts
from skillcue.telemetry.store import EventStore, Row, row_of
from skillcue_hooks import Hit, LoadedSkill, Query, Ranking, Skill

BEGAN = 1_700_000_000.0
PAUSE_S = 60.0
"""Between two events of a conversation, seconds."""


def skill(name: str) -> Skill:
    return Skill(f"{name}@{name}", name, f"does {name}")


@dataclass(frozen=True)
class Chain:
    """What follows one skill.

    Attributes:
        first: The skill that is loaded.
        then: The one that follows with probability `q`; else one of `others` does.
        q: Where anything follows.
        p: Probability that search finds what follows.
        ends: Probability that nothing follows.
        others: What else may follow, each as likely.
    """

    first: str
    then: str
    q: float
    p: float
    ends: float = 0.1
    others: tuple[str, ...] = ("o0", "o1", "o2", "o3", "o4", "o5")

    def follows(self, rng: random.Random) -> str | None:
        if rng.random() < self.ends:
            return None
        return self.then if rng.random() < self.q else rng.choice(self.others)


class Writer:
    """Rows as the observer of events makes them, with times of our choice."""

    def __init__(self, at: float = BEGAN) -> None:
        self.at = at
        self.rows: list[Row] = []

    def load(self, thread: str, name: str, **more: Any) -> None:
        loaded = LoadedSkill(skill(name), "text", **more)
        self._add("load", load_facts(loaded, {"thread_id": thread}))

    def lookup(self, thread: str, *names: str) -> None:
        hits = tuple(Hit(skill(name), 1.0, rank) for rank, name in enumerate(names, 1))
        query, ranking = Query("words"), Ranking(hits, "m")
        self._add("lookup", lookup_facts(query, ranking, {"thread_id": thread}, text=False))

    def shown(self, thread: str, read: str, *names: str) -> None:
        ids = [skill(name).id for name in names]
        self._add("next", next_facts(skill(read).id, ids, {"thread_id": thread}))

    def turn(self, thread: str, turn: str, *names: str, **more: Any) -> None:
        ids = tuple(skill(name).id for name in names)
        decision = more.pop("decision", "offer" if names else "abstain")
        facts = {**session(thread), "skillcue.decision": decision, "skillcue.skills": ids, **more}
        self._add("turn", facts, turn)

    def pause(self, seconds: float) -> None:
        self.at += seconds

    def conversation(self, thread: str, chain: Chain, rng: random.Random) -> str | None:
        """One load, a search, and what follows; what that was."""
        self.load(thread, chain.first)
        following = chain.follows(rng)
        if following is not None:
            found = [following] if rng.random() < chain.p else []
            self.lookup(thread, "n0", *found, "n1")
            self.load(thread, following)
        return following

    def write(self, path: Path) -> None:
        store = EventStore(path, 2**30, 36_500.0)
        try:
            store.write(self.rows)
        finally:
            store.close()
        self.rows.clear()

    def _add(self, kind: str, facts: Mapping[str, Any], turn: str | None = None) -> None:
        self.at += PAUSE_S
        further = {"at": self.at, "kind": kind, "elapsed_ms": 1.0, "turn": turn}
        self.rows.append(row_of(facts, generation="g", **further))


def session(thread: str) -> Facts:
    return load_facts(LoadedSkill(skill("x"), ""), {"thread_id": thread})


def write_chains(path: Path, chains: Sequence[Chain], threads: int, seed: int) -> None:
    """So many conversations of each chain, one after the other, in turn."""
    rng, writer = random.Random(seed), Writer()
    for number in range(threads):
        for chain in chains:
            writer.conversation(f"{chain.first}-{number}", chain, rng)
    writer.pause(7_200.0)
    writer.load("last", "n0")
    writer.write(path)


def names_of(chains: Sequence[Chain]) -> Iterator[str]:
    yield from dict.fromkeys(n for c in chains for n in (c.first, c.then, *c.others))
