"""From what happened to steps: after this skill, that one was read. Pure functions.

A run is what one conversation read without a long pause. In a run a skill counts once, where it was
first read: that it is opened again leads to nothing new, and what stands in the conversation
already is never suggested.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from skillcue.successors.history import Happening
from skillcue.successors.settings import NextSettings

__all__ = ["Step", "find_steps"]


@dataclass(frozen=True, slots=True)
class Step:
    """What came after one load.

    Attributes:
        at: When it was known, seconds since 1970.
        after: Id of the skill that was read.
        then: Id of the one that was read next; None where the run ended.
        found: Whether search had it among its first results; None where nothing was searched, or
            nothing was read next.
        shown: What had been suggested since: (id of the skill that was read, id of the one that was
            suggested after it). The step is then no evidence of what is read without it.
    """

    at: float
    after: str
    then: str | None
    found: bool | None = None
    shown: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class _Conversation:
    """One conversation and its newest run.

    Attributes:
        turn: Id of the newest turn that is known.
        turns: Number of turns so far.
        skill: What was read last; empty before the first load.
        at: When.
        at_turn: In which turn, by number.
        seen: What the run has read.
        before: The newest search before that load.
        since: The first search after it.
        latest: The newest search.
        shown: See `Step`.
    """

    turn: str = ""
    turns: int = 0
    skill: str = ""
    at: float = 0.0
    at_turn: int = 0
    seen: set[str] = field(default_factory=set)
    before: Sequence[str] = ()
    since: Sequence[str] | None = None
    latest: Sequence[str] = ()
    shown: list[tuple[str, str]] = field(default_factory=list)

    def enter(self, turn: str) -> None:
        if turn and turn != self.turn:
            self.turn, self.turns = turn, self.turns + 1

    def searched(self, found: Sequence[str]) -> None:
        self.latest = found
        if self.since is None:
            self.since = found

    def loaded(self, skill: str, at: float, settings: NextSettings) -> Step | None:
        """The step that the load ends, if it ends any."""
        over = at - self.at > settings.gap_s or self.turns - self.at_turn > settings.gap_turns
        step = None
        if self.skill and over:
            step = self.end(at)
        elif self.skill:
            if skill in self.seen:
                return None
            step = Step(at, self.skill, skill, self._found(skill, settings.k), tuple(self.shown))
        self.seen = {skill} if over else {*self.seen, skill}
        self.skill, self.at, self.at_turn = skill, at, self.turns
        self.before, self.since, self.shown = self.latest, None, []
        return step

    def end(self, at: float) -> Step:
        """The step that leads nowhere."""
        return Step(at, self.skill, None, None, tuple(self.shown))

    def _found(self, skill: str, k: int) -> bool | None:
        """Whether search found it.

        The first search after the load before is the one that a suggestion would have saved; what
        agents read they mostly found at last, so the last one would nearly always be right.
        """
        if self.since is not None:
            return skill in self.since[:k]
        return True if skill in self.before[:k] else None


def find_steps(
    history: Iterable[Happening], settings: NextSettings, is_known: Callable[[str], bool]
) -> list[Step]:
    """The steps of all conversations, in the order they were known.

    A skill that is not of the library any more is not stepped to, nor from: what came after it did
    not come after the one before.

    Args:
        history: Oldest first.
        settings: How long a run is.
        is_known: Whether the library has a skill with that id.
    """
    conversations: dict[str, _Conversation] = defaultdict(_Conversation)
    steps: list[Step] = []
    now = 0.0
    for happening in history:
        now = happening.at
        conversation = conversations[happening.thread]
        conversation.enter(happening.turn)
        if happening.kind == "search":
            conversation.searched(happening.skills)
        elif happening.kind == "load":
            step = conversation.loaded(happening.skills[0], now, settings)
            steps += [step] if step else []
        elif happening.kind == "next":
            read, *suggested = happening.skills
            conversation.shown += [(read, skill) for skill in suggested]
    over = [c for c in conversations.values() if c.skill and now - c.at > settings.gap_s]
    steps += [conversation.end(conversation.at + settings.gap_s) for conversation in over]
    known = (s for s in steps if is_known(s.after) and (s.then is None or is_known(s.then)))
    return sorted(known, key=lambda step: (step.at, step.after, step.then or ""))
