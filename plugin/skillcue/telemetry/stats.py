"""What stored events say: shown, loaded, ignored, missed, and what it cost. Pure functions.

Nothing here is read by a retriever or by the gate: that a skill was shown often says how often it
was shown, and a ranking that went by it would only show it more.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from skillcue.telemetry.facts import NEXT
from skillcue.telemetry.reading import Event, session_of_turn
from skillcue_hooks.language import Usage

__all__ = ["Missed", "ModeStats", "SkillStats", "Stats", "sum_up"]

Key = tuple[str, str]
"""Session and turn: equal words in two conversations are two turns."""


@dataclass(frozen=True, slots=True)
class ModeStats:
    """What happened in one mode.

    Attributes:
        mode: The mode.
        turns: Turns that events tell of. A lookup alone gives its turn a mode; turns of which
            nothing but loads is known are of the mode with an empty name.
        decided: Turns that push decided.
        advised: Of these, with advice.
        followed: Of these, in which the agent loaded an offered skill, or got its body at once.
        unadvised: Silent turns in which the agent loaded a skill by itself.
        failed: Turns on which push failed, and requests on which it failed before it knew the turn.
        lookups: Searches by the agent.
        missed: Of these, without a hit, or without a hit that holds a word of the query.
        loads: Skills that the agent read in turns of this mode, each once a turn.
        advice_tokens: Tokens of all advice.
        lookup_tokens: About the tokens of all lists of results.
        load_tokens: Tokens of everything that was read in turns of this mode.
        cost: What language models took.
    """

    mode: str
    turns: int = 0
    decided: int = 0
    advised: int = 0
    followed: int = 0
    unadvised: int = 0
    failed: int = 0
    lookups: int = 0
    missed: int = 0
    loads: int = 0
    advice_tokens: int = 0
    lookup_tokens: int = 0
    load_tokens: int = 0
    cost: Usage = field(default_factory=Usage)

    @property
    def tokens(self) -> int:
        """Everything that came into prompts."""
        return self.advice_tokens + self.lookup_tokens + self.load_tokens


@dataclass(frozen=True, slots=True)
class SkillStats:
    """What happened to one skill.

    Attributes:
        skill: Its id.
        offered: Turns whose advice named it, or gave its body.
        loaded_after: Of these, in which it was read.
        found: Lookups that listed it.
        loads: Turns in which it was read; loads that belong to no turn count each.
    """

    skill: str
    offered: int = 0
    loaded_after: int = 0
    found: int = 0
    loads: int = 0

    @property
    def ignored(self) -> int:
        """Turns that named it and did not read it."""
        return self.offered - self.loaded_after


@dataclass(frozen=True, slots=True)
class Missed:
    """A lookup that gave the agent nothing, as often as it happened.

    Attributes:
        why: ``none`` (no hit), ``weak`` (no hit holds a word of the query) or ``ignored`` (none
            of the hits was read in that turn).
        text: The query; empty where words are not stored.
        count: How often.
        last: When it last happened, seconds since 1970.
    """

    why: str
    text: str
    count: int
    last: float


@dataclass(frozen=True, slots=True)
class Stats:
    """What the events of a time say.

    Attributes:
        first: When the first ended, seconds since 1970; 0 without events.
        last: When the last ended.
        sessions: Conversations that are told apart.
        modes: By mode, sorted by name.
        skills: By skill, those that were read or offered most first.
        missed: Most frequent first.
        turns: Turns that events tell of.
        shadow: Turns whose advice was not shown.
        loads_elsewhere: Loads that belong to no turn.
        tokens_elsewhere: Tokens that these read.
    """

    first: float
    last: float
    sessions: int
    modes: tuple[ModeStats, ...]
    skills: tuple[SkillStats, ...]
    missed: tuple[Missed, ...]
    turns: int = 0
    shadow: int = 0
    loads_elsewhere: int = 0
    tokens_elsewhere: int = 0

    @property
    def tokens(self) -> int:
        """Everything that came into prompts."""
        return sum(mode.tokens for mode in self.modes) + self.tokens_elsewhere


def sum_up(events: Sequence[Event]) -> Stats:
    """The events summed up.

    A turn that was decided twice counts as it was decided last; what it cost counts each time.
    A skill counts as read in a turn once, by its first page; files beside it are tokens only.

    Args:
        events: Oldest first.
    """
    events = _with_sessions([event for event in events if event.kind != NEXT])
    decided = {_key(event): event for event in events if event.kind == "turn" and event.turn}
    read: dict[Key, set[str]] = defaultdict(set)
    for event in events:
        if event.kind == "load" and event.turn and _is_skill(event):
            read[_key(event)].update(event.skills)
    elsewhere = [event for event in events if event.kind == "load" and not event.turn]
    return Stats(
        first=events[0].at if events else 0.0,
        last=events[-1].at if events else 0.0,
        sessions=len({event.session for event in events if event.session}),
        modes=_modes(events, decided, read),
        skills=_skills(events, decided, read, elsewhere),
        missed=_missed(events, read),
        turns=len({_key(event) for event in events if event.turn}),
        shadow=sum(event.shadow for event in decided.values()),
        loads_elsewhere=sum(map(_is_skill, elsewhere)),
        tokens_elsewhere=sum(event.tokens for event in elsewhere),
    )


def _with_sessions(events: Sequence[Event]) -> list[Event]:
    """A call that named no conversation is of the only one that has its turn."""
    alone = session_of_turn((event.session, event.turn) for event in events)
    return [
        event if event.session else replace(event, session=alone.get(event.turn, ""))
        for event in events
    ]


def _key(event: Event) -> Key:
    return event.session, event.turn


def _is_skill(event: Event) -> bool:
    """The instructions themselves were read, from their beginning."""
    return event.page == 1 and not event.file


def _modes(
    events: Sequence[Event], decided: Mapping[Key, Event], read: Mapping[Key, set[str]]
) -> tuple[ModeStats, ...]:
    mode_of = {_key(event): "" for event in events if event.turn}
    mode_of |= {
        _key(event): event.mode for event in events if event.kind == "lookup" and event.turn
    }
    mode_of |= {key: event.mode for key, event in decided.items()}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for mode, turns in Counter(mode_of.values()).items():
        counts[mode]["turns"] = turns
    costs: dict[str, Usage] = defaultdict(Usage)
    for event in events:
        mode = mode_of.get(_key(event), "") if event.kind == "load" else event.mode
        if event.kind != "load":
            costs[mode] += event.cost
        if event.kind == "turn" and not event.turn:
            counts[mode]["failed"] += 1
        if event.kind == "lookup":
            counts[mode].update(lookups=1, missed=int(bool(event.miss)), lookup_tokens=event.tokens)
        if event.kind == "load" and event.turn:
            counts[mode]["load_tokens"] += event.tokens
    for key, event in decided.items():
        counts[event.mode].update(_turn(event, read.get(key, set())))
    for key, skills in read.items():
        counts[mode_of.get(key, "")]["loads"] += len(skills)
    return tuple(
        ModeStats(mode, **counts[mode], cost=costs[mode]) for mode in sorted({*counts, *costs})
    )


def _turn(event: Event, read: set[str]) -> dict[str, int]:
    spoken = bool(event.skills)
    return {
        "decided": 1,
        "advised": int(spoken),
        "followed": int(spoken and (event.decision == "load" or not read.isdisjoint(event.skills))),
        "unadvised": int(not spoken and bool(read)),
        "failed": int(bool(event.error)),
        "advice_tokens": 0 if event.shadow else event.tokens,
    }


def _skills(
    events: Sequence[Event],
    decided: Mapping[Key, Event],
    read: Mapping[Key, set[str]],
    elsewhere: Iterable[Event],
) -> tuple[SkillStats, ...]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for key, event in decided.items():
        for skill in event.skills:
            taken = event.decision == "load" or skill in read.get(key, ())
            counts[skill].update(offered=1, loaded_after=int(taken))
    for event in events:
        if event.kind == "lookup":
            for skill in event.skills:
                counts[skill]["found"] += 1
    loaded = [*read.values(), *(event.skills for event in elsewhere if _is_skill(event))]
    for skills in loaded:
        for skill in skills:
            counts[skill]["loads"] += 1
    made = [SkillStats(skill, **numbers) for skill, numbers in counts.items()]
    return tuple(sorted(made, key=lambda s: (-s.loads, -s.offered, -s.found, s.skill)))


def _missed(events: Sequence[Event], read: Mapping[Key, set[str]]) -> tuple[Missed, ...]:
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    for event in events:
        if event.kind != "lookup":
            continue
        why = event.miss
        if not why and event.turn and read.get(_key(event), set()).isdisjoint(event.skills):
            why = "ignored" if event.skills else ""
        if why:
            times[why, event.text].append(event.at)
    made = [Missed(why, text, len(at), max(at)) for (why, text), at in times.items()]
    return tuple(sorted(made, key=lambda m: (-m.count, m.why, m.text)))
