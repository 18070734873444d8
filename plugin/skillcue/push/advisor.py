"""The push advisor: one decision a user turn, replayed byte for byte afterwards.

The advice of a turn is a pure function of the messages up to that turn, the library generation
and the mode. That is why it can be replayed from memory, from a thread's record, or be worked out
again in a fresh process, and every request stays a byte prefix of the next one.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from skillcue.loading import PAGE_CHARS
from skillcue.mode import named_task
from skillcue.push.body import is_refused, load_body
from skillcue.push.budget import active_turns, body_cost
from skillcue.push.decide import (
    PushHost,
    decide_turn,
    fit_budget,
    may_push,
    read_turn,
)
from skillcue.push.declines import DECLINED_KEY, Declines, evidence_mass
from skillcue.push.followed import Followed
from skillcue.push.judge import gate_saw_all
from skillcue.push.memo import (
    OFFER_BYTES,
    Decided,
    Memo,
    MemoKey,
    Records,
    bounded_records,
    read_record,
    record_size,
)
from skillcue.push.messages import MessageView, view_messages
from skillcue.push.query import CHARS_PER_TOKEN
from skillcue.push.settings import PushSettings
from skillcue.push.turn import (
    UserTurn,
    known_turns,
    loaded_skills,
    skill_version,
    thread_task,
    user_turns,
)
from skillcue_adapters.asking import no_questions
from skillcue_adapters.refine.composed import ID_PREFIX
from skillcue_hooks import Advice, Hit, Scope, Skill, Turn
from skillcue_hooks.errors import ConfigurationError, IndexUnavailableError, MissingExtraError
from skillcue_hooks.language import Usage

if TYPE_CHECKING:
    from skillcue.library.protocols import Snapshot

__all__ = ["Advisor", "Plan"]

log = logging.getLogger("skillcue.push")

NO_TURN = "there is no user message"

_KEYS_PER_TURN = 3
"""Memo entries that one decision may take: by turn, by the mode asked for, by its record."""

QUIET_S = 60.0
"""That an index cannot be reached is logged once in so many seconds."""

_SILENT = Decided("", (), "", "", 0, durable=False)


@dataclass(frozen=True, slots=True)
class Plan:
    """What push does to one request.

    Attributes:
        placements: ``(message position, advice block)``, oldest first.
        records: What the thread may persist.
        advice: The decision on the newest user turn.
        fresh: That decision was made just now, not replayed.
        shadow: Nothing is to be added, whatever was decided.
    """

    placements: tuple[tuple[int, str], ...] = ()
    records: Mapping[str, list[str]] = field(default_factory=dict)
    advice: Advice = field(default_factory=lambda: Advice("abstain", reason=NO_TURN))
    fresh: bool = False
    shadow: bool = False


@dataclass(frozen=True, slots=True)
class _Run:
    """What stays the same while one request is planned."""

    snapshot: Snapshot
    scope: Scope | None
    views: Sequence[MessageView]
    turns: Sequence[UserTurn]
    records: Records
    requested: str | None
    recorded: int  # index of the newest turn the thread has a record of, -1 where it has none
    followed: Followed
    task_id: str
    begun: bool  # the caller knows that the newest turn is under way

    def key(self, index: int, *more: str) -> MemoKey:
        """What the memo knows a turn by: all messages up to it, what may be seen, and the task."""
        scope = (self.scope.key, self.scope.answers) if self.scope else ("", "")
        return (self.turns[index].digest, *scope, self.task_id, *more)

    def asked_key(self, index: int) -> MemoKey:
        """The turn in a conversation with these declines in which this mode was asked for."""
        return self.key(index, "asked", self.requested or "", self.followed.state())

    def record_key(self, index: int, record: Sequence[str]) -> MemoKey:
        """The turn in a conversation whose record says this."""
        return self.key(index, "record", *record)

    def is_newest(self, index: int) -> bool:
        return index == len(self.turns) - 1

    def has_begun(self, index: int) -> bool:
        """The turn is surely the one that was decided on, and not the same words somewhere else."""
        turn = self.turns[index]
        followed_by_more = turn.position < len(self.views) - 1 or self.begun
        return turn.identified or turn.key in self.records or followed_by_more

    def visible(self, ids: Sequence[str]) -> list[Skill]:
        """Those of the skills that exist and that the policies show, each once."""
        found = (self.snapshot.get(skill_id, self.scope) for skill_id in ids)
        allowed = (s for s in found if s and (self.scope is None or self.scope.allows(s)))
        return list({skill.id: skill for skill in allowed}.values())

    def hides(self, ids: Sequence[str]) -> bool:
        """Some of the skills exist, and the policies do not show them."""
        if self.scope is None:
            return False
        found = (self.snapshot.get(skill_id, self.scope) for skill_id in ids)
        return any(skill is not None and not self.scope.allows(skill) for skill in found)


class Advisor:
    """Decides on user turns and remembers it; safe to share between threads and agents.

    Args:
        host: Library, modes and search, usually a `SkillCue`.
        settings: Limits and thresholds.
        load_tool: Name of the load tool the agent really has; None when it has none.
        shadow: Decide, and place nothing.
    """

    def __init__(
        self,
        host: PushHost,
        settings: PushSettings,
        load_tool: str | None,
        *,
        shadow: bool = False,
    ) -> None:
        self._host = host
        # A body that nobody sees must not count as at hand, or be left out of what shadow shows.
        self._settings = replace(settings, load_tokens=0) if shadow else settings
        self._load_tool = load_tool
        self._shadow = shadow
        self._memo = Memo(_KEYS_PER_TURN * settings.memo_turns)
        self._tags: tuple[str, dict[str, str]] = ("", {})  # of a library generation
        self._quiet_until = 0.0

    def plan(
        self,
        messages: Sequence[Any],
        *,
        mode: str | None = None,
        records: Records | None = None,
        run_context: Mapping[str, Any] | None = None,
        begun: bool = False,
    ) -> Plan:
        """What to add to a request made of `messages`.

        Args:
            messages: LangChain or LlamaIndex messages, or OpenAI-style dicts; never changed.
            mode: The mode the user asked for; None lets records, plugins and default decide.
            records: What an earlier `Plan.records` of this thread said.
            run_context: Run-time values for policy plugins.
            begun: The newest turn is under way, though nothing stands behind it in `messages`:
                it keeps the decision that it began with.

        Raises:
            ConfigurationError: Such as an unknown mode; raised before anything else happens.
            MissingExtraError: The mode needs a package that is not installed.

        Any other failure is logged and gives no advice.
        """
        if mode is not None:
            self._host.check_mode(mode)
        try:
            known = records if isinstance(records, Mapping) else {}
            return self._plan(messages, mode, known, run_context or {}, begun)
        except (ConfigurationError, MissingExtraError):
            raise
        except Exception as error:  # noqa: BLE001  # push fails open: no advice stops no agent
            self._note(error)
            advice = Advice(
                "abstain",
                reason=_failed(error),
                shadow=self._shadow,
                degraded=_degraded(error),
            )
            context = run_context or {}
            self._host.plugins.notify("skillcue_advised", advice=advice, context=context)
            return Plan(advice=advice, shadow=self._shadow)

    def _plan(
        self,
        messages: Sequence[Any],
        mode: str | None,
        records: Records,
        run_context: Mapping[str, Any],
        begun: bool,
    ) -> Plan:
        views = view_messages(messages)
        turns = user_turns(views, CHARS_PER_TOKEN * self._settings.context_tokens, records)
        if not turns:
            return Plan()
        records = known_turns(records, turns, views)
        snapshot, scope = self._host.seen(run_context)
        known = (i for i, turn in enumerate(turns) if read_record(records, turn.key))
        recorded = max(known, default=-1)
        load_tool = None if self._shadow else self._load_tool  # what nobody saw, nobody declined
        followed = Followed(records, turns, views, load_tool, max(recorded, 0))
        run = _Run(
            snapshot,
            scope,
            views,
            turns,
            records,
            mode,
            recorded,
            followed,
            named_task(run_context),
            begun,
        )
        decisions: list[Decided] = []
        fresh = False
        for index in range(len(turns)):
            followed.begins(index)
            decided, fresh = self._settle(run, index, decisions)
            followed.decided(index, decided)
            decisions.append(decided)
        advice = decisions[-1].advice or self._replayed(run, decisions)
        advice = replace(advice, shadow=True) if self._shadow else advice
        if fresh:
            self._host.plugins.notify("skillcue_advised", advice=advice, context=run_context)
        elif advice.cost.calls:  # spent when the turn was decided, not now
            advice = replace(advice, cost=Usage())
        return Plan(
            placements=() if self._shadow else self._placements(turns, decisions),
            records=self._records(run, decisions),
            advice=advice,
            fresh=fresh,
            shadow=self._shadow,
        )

    def _settle(self, run: _Run, index: int, before: Sequence[Decided]) -> tuple[Decided, bool]:
        """The decision on a turn, and whether it was made just now."""
        decided = self._recall(run, index)
        if decided is None and index < max(run.recorded, self._history_start(len(run.turns))):
            decided = _SILENT  # too far back, or before a record: silent then, or replayed no more
        if decided is not None:
            return decided, False
        with self._memo.deciding(run.asked_key(index)):
            decided = self._recall(run, index)  # another thread may have had the same request
            if decided is not None:
                return decided, False
            decided = self._decide(run, index, before)
            self._remember(run, index, decided)
            return decided, True

    def _recall(self, run: _Run, index: int) -> Decided | None:
        """The decision that was made on this turn before, rendered from the library of now.

        The newest turn keeps the very text it began with, so that an edit in the middle of a
        tool loop cannot change it, unless the user asks for another mode.
        """
        key, decided = self._known(run, index)
        if decided is None:
            return None
        hidden = run.hides(decided.shown)
        stale = decided.generation != run.snapshot.generation
        if run.is_newest(index) and not hidden:
            usable = run.has_begun(index) or (decided.durable and not stale)
            return decided if usable else None
        if stale or hidden:
            again = self._render(run, index, decided.mode, decided.skill_ids, load=decided.load)
            decided = replace(again, durable=decided.durable, evidence=decided.evidence)
            self._memo.put(key, decided)
        return decided

    def _known(self, run: _Run, index: int) -> tuple[MemoKey, Decided | None]:
        """Where the memo has a decision on this turn, and the decision.

        A message with an id is in one conversation only, so the last decision on it counts.
        Without one, equal words may stand in many conversations, and a decision must be this
        conversation's: what its record says, or what was decided for the same request.
        """
        turn, key = run.turns[index], run.key(index)
        decided = self._memo.get(key) if turn.identified else None
        if self._fits(run, index, decided):
            return key, decided
        record = read_record(run.records, turn.key)
        if record is not None:
            key = run.record_key(index, run.records[turn.key])
            mode, ids, load = record
            decided = self._memo.get(key) or self._render(run, index, mode, ids, load=load)
            if self._fits(run, index, decided):
                self._memo.put(key, decided)
                return key, decided
        key = run.asked_key(index)
        decided = None if turn.identified else self._memo.get(key)
        if decided is None and not run.is_newest(index):
            key = run.key(index)
            decided = self._memo.get(key)
        return key, decided if self._fits(run, index, decided) else None

    def _fits(self, run: _Run, index: int, decided: Decided | None) -> bool:
        """There is a decision, and on the newest turn it is of the mode that is asked for."""
        if decided is None:
            return False
        return run.requested in (None, decided.mode) or not run.is_newest(index)

    def _remember(self, run: _Run, index: int, decided: Decided) -> None:
        self._memo.put(run.key(index), decided)
        if run.turns[index].identified:
            return
        self._memo.put(run.asked_key(index), decided)
        if decided.durable:
            self._memo.put(run.record_key(index, decided.record()), decided)

    def _decide(self, run: _Run, index: int, before: Sequence[Decided]) -> Decided:
        record = self._turn(run, index, before)
        mode = run.requested or self._host.choose_mode(record, run.snapshot)
        try:
            # A conversation without records would cost a call for every turn it ever had.
            with nullcontext() if run.is_newest(index) else no_questions():
                advice = decide_turn(
                    self._host,
                    self._settings,
                    self._load_tool,
                    record,
                    mode,
                    run.snapshot,
                    run.scope,
                    lambda ids: run.followed.demoted(Declines.tags(ids)),
                )
        except (ConfigurationError, MissingExtraError):
            raise
        except Exception as error:  # noqa: BLE001  # push fails open; the turn keeps its bytes
            self._note(error)
            advice = Advice(
                "abstain",
                reason=_failed(error),
                mode=mode,
                turn=record,
                degraded=_degraded(error),
            )
            return Decided(mode, (), run.snapshot.generation, "", 0, advice, durable=False)
        ids = tuple(hit.skill.id for hit in advice.hits)
        load = advice.decision == "load"
        return Decided(
            mode=mode,
            skill_ids=ids,
            generation=run.snapshot.generation,
            text=advice.text,
            tokens=advice.tokens,
            advice=advice,
            durable=gate_saw_all(advice.degraded),
            shown=ids,
            evidence=tuple(evidence_mass(hit) for hit in advice.hits),
            load=load,
            given=ids if load else (),
        )

    def _note(self, error: Exception) -> None:
        """Log a failure; an index that cannot be reached now and then only, however many turns."""
        if not isinstance(error, IndexUnavailableError):
            log.exception("push failed; the request goes on without advice")
            return
        now = time.monotonic()
        if now >= self._quiet_until:
            self._quiet_until = now + QUIET_S
            log.warning("push: %s Requests go on without advice.", error)

    def _turn(self, run: _Run, index: int, before: Sequence[Decided]) -> Turn:
        turn = run.turns[index]
        replayed = self._replayed_of(before, run.turns)
        shown = {skill_id for decided in replayed for skill_id in decided.shown}
        given = {skill_id for decided in replayed for skill_id in decided.given}
        loaded = self._loaded(run, turn.position) | given
        composed = sorted(i for i in shown | loaded if i.startswith(ID_PREFIX))
        refined = [skill for skill in run.visible(composed) if may_push(skill)]
        read = read_turn(turn, run.snapshot, run.scope, shown, loaded, refined)
        task_id = (
            run.task_id if run.is_newest(index) else ""
        )  # earlier turns had names of their own
        task = turn.text if task_id else thread_task(run.turns)
        read = replace(read, task=task, task_id=task_id)
        return replace(read, demoted=self._demoted(run)) if run.followed.state() else read

    def _demoted(self, run: _Run) -> dict[str, float]:
        """The evidence that demoted skills need, by id; of an index, what is found is asked about."""
        if run.snapshot.library.index is not None:
            return {}
        generation, ids = self._tags
        if generation != run.snapshot.generation:
            ids = Declines.tags([skill.id for skill in run.snapshot.skills])
            self._tags = (run.snapshot.generation, ids)
        demoted = run.followed.demoted(ids)  # by whoever had the thread before
        return {skill.id: demoted[skill.id] for skill in run.visible(list(demoted))}

    def _render(
        self, run: _Run, index: int, mode: str, ids: Sequence[str], *, load: bool
    ) -> Decided:
        """A decision made earlier, in the words of the present library.

        A record is data that others may have written, or that is older than a policy: whatever
        it names must exist, be visible and be allowed in advice now, and a body is given only if
        bodies are enabled and it fits. Else the skill is offered.
        """
        skills = self._advisable(run, index, ids)
        text, kept = "", skills
        if load and skills and self._settings.load_tokens:
            tried = load_body(skills[0], run.snapshot, run.scope, self._load_tool, self._settings)
            text = tried.text
        given = tuple(skill.id for skill in skills) if text else ()
        if not given:
            settings, load_tool = self._settings, self._load_tool
            text, kept = fit_budget(
                self._host, settings, load_tool, skills, run.snapshot, run.scope
            )
        return Decided(
            mode=mode,
            skill_ids=tuple(ids),
            generation=run.snapshot.generation,
            text=text,
            tokens=self._settings.count_tokens(text) if text else 0,
            shown=tuple(skill.id for skill in kept),
            load=load,
            given=given,
        )

    def _advisable(self, run: _Run, index: int, ids: Sequence[str]) -> list[Skill]:
        """Those of the skills that may stand in the advice of a turn now.

        One that is in no search may where the turn itself names it.
        """
        skills = run.visible(ids)
        named: set[str] = set()
        if not all(skill.searchable for skill in skills):
            wanted = read_turn(run.turns[index], run.snapshot, run.scope, (), (), ()).explicit
            named = set(wanted)
        allowed = (skill for skill in skills if may_push(skill) or skill.id in named)
        return [skill for skill in allowed if not is_refused(skill, run.snapshot)]

    def _replayed_of(
        self, before: Sequence[Decided], turns: Sequence[UserTurn]
    ) -> Sequence[Decided]:
        """The decisions on earlier turns whose advice is still replayed."""
        active = self._active(turns, before)
        return [decided for decided, stays in zip(before, active, strict=True) if stays]

    def _active(self, turns: Sequence[UserTurn], decisions: Sequence[Decided]) -> list[bool]:
        """Which turns' advice is still replayed: as much as the request and the record hold.

        Both limits count, so that a process that finds nothing but the record replays the same.
        """
        limit = self._settings.tokens_replayed
        costs = []
        for turn, decided in zip(turns, decisions, strict=False):
            share, tokens = 0, decided.tokens
            if decided.given:
                tokens = body_cost(tokens, self._settings.load_tokens, limit)
            if tokens and decided.durable:
                size = record_size(turn.key, decided.record())
                share = math.ceil(size * limit / OFFER_BYTES)
            costs.append(max(tokens, share))
        return active_turns(costs, limit)

    def _loaded(self, run: _Run, end: int) -> frozenset[str]:
        """Ids of skills whose present text was loaded before message `end`.

        Its first page tells: files beside a skill may stay when a summary took the skill away.
        A result that was cut to its first lines holds no text any more.
        """
        marks = loaded_skills(run.views, self._load_tool, end)
        return frozenset(
            skill.id
            for skill in run.visible(list(marks))
            if any(
                mark.version == skill_version(skill)
                and mark.page == 1
                and mark.file is None
                and mark.chars >= min(len(skill.body.strip()), PAGE_CHARS // 2)
                for mark in marks.get(skill.id, ())
            )
        )

    def _placements(
        self, turns: Sequence[UserTurn], decisions: Sequence[Decided]
    ) -> tuple[tuple[int, str], ...]:
        return tuple(
            (turn.position, decided.text)
            for turn, decided, active in zip(
                turns, decisions, self._active(turns, decisions), strict=True
            )
            if active
        )

    def _records(self, run: _Run, decisions: Sequence[Decided]) -> dict[str, list[str]]:
        """What is needed to replay this request: advice that is replayed no more needs no record."""
        active = self._active(run.turns, decisions)
        records = {
            turn.key: decided.record()
            for turn, decided, stays in zip(run.turns, decisions, active, strict=True)
            if decided.durable and (stays or not decided.tokens)
        }
        declines = run.followed.record()
        return bounded_records({**records, **({DECLINED_KEY: declines} if declines else {})})

    def _replayed(self, run: _Run, decisions: Sequence[Decided]) -> Advice:
        """The newest decision where only its record was left."""
        newest, index = decisions[-1], len(decisions) - 1
        skills = run.visible(newest.shown)
        advice = Advice(
            decision="load" if newest.given else "offer" if newest.text else "abstain",
            hits=tuple(Hit(skill, 0.0, rank) for rank, skill in enumerate(skills, 1)),
            text=newest.text,
            tokens=newest.tokens,
            reason="decided earlier in this turn",
            mode=newest.mode,
            turn=self._turn(run, index, decisions[:-1]),
        )
        key = run.record_key(index, newest.record())
        self._memo.put(key, replace(newest, advice=advice))  # hits stay with their text
        return advice

    def _history_start(self, turns: int) -> int:
        """First turn whose advice is worked out again when nothing is known of it.

        Moves in steps of half the window: a window that moved with every turn would drop one
        more block of old advice each time, and break the prompt prefix each time.
        """
        window = self._settings.history_turns
        step = max(window // 2, 1)
        return max(0, -(-(turns - window) // step) * step)


def _failed(error: Exception) -> str:
    """The reason that observers and streams are told; what an error says may name hidden skills."""
    return f"push failed: {type(error).__name__}"


def _degraded(error: Exception) -> str | None:
    return "the index cannot be reached" if isinstance(error, IndexUnavailableError) else None
