"""The decision on one user turn: query, candidates, gate, budget, text."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from skillcue.library.naming import fold
from skillcue.loading import shown_name
from skillcue.push.body import REFUSED, is_refused, load_body
from skillcue.push.cues import text_cues
from skillcue.push.declines import evidence_mass
from skillcue.push.explicit import NamedSkills, named_skills
from skillcue.push.features import library_features, new_hits
from skillcue.push.fitting import Fitted
from skillcue.push.gate import Verdict, judge, suited
from skillcue.push.query import checked_query, turn_query
from skillcue.push.refitted import gate_facts, gate_in_use
from skillcue.push.render import advice_block, render_advice, wrap_custom
from skillcue.push.settings import PushSettings
from skillcue.push.turn import UserTurn
from skillcue_adapters.refine.composed import ID_PREFIX
from skillcue_hooks import (
    Advice,
    Hit,
    Query,
    Ranking,
    Rejection,
    Scope,
    Skill,
    Turn,
    TurnQuery,
)

if TYPE_CHECKING:
    from skillcue.library.protocols import Snapshot
    from skillcue.push.judge import Judge
    from skillcue_hooks.manager import SkillcuePluginManager

__all__ = [
    "Demoted",
    "PushHost",
    "decide_turn",
    "fit_budget",
    "may_be_named",
    "may_push",
    "read_turn",
]


Demoted = Callable[[Collection[str]], Mapping[str, float]]
"""The evidence that each of the skills needs that were declined too often, by id."""


class PushHost(Protocol):
    """What push needs from `SkillCue`."""

    @property
    def plugins(self) -> SkillcuePluginManager:
        """The plugin manager."""
        ...

    @property
    def judge(self) -> Judge | None:
        """Who is asked about turns that the gate is not sure of; None where nobody is."""
        ...

    def seen(self, run_context: Mapping[str, Any]) -> tuple[Snapshot, Scope | None]:
        """The library now, and what the policy plugins allow of it."""
        ...

    def check_mode(self, mode: str) -> str:
        """`mode`, or `UnknownModeError`."""
        ...

    def choose_mode(self, turn: Turn, snapshot: Snapshot) -> str:
        """The mode of a turn for which nobody named one."""
        ...

    def fitted_gate(self, mode: str, snapshot: Snapshot, *, complete: bool) -> Fitted:
        """The gate, fitted to the library in `mode` once its index is complete."""
        ...

    def search(self, query: Query, mode: str, snapshot: Snapshot) -> Ranking:
        """The ranking, from the cache where it is known."""
        ...


@dataclass(frozen=True, slots=True)
class _Choice:
    """What is offered, what else was looked at, and why."""

    offered: tuple[Hit, ...]
    rejected: tuple[Rejection, ...]
    reason: str
    sure: bool = False  # it is one skill, and its body may be loaded at once


@dataclass(frozen=True, slots=True)
class _Candidates:
    """A ranking, split by what may be pushed at all."""

    ranking: Ranking
    rejected: tuple[Rejection, ...]


def read_turn(
    turn: UserTurn,
    snapshot: Snapshot,
    scope: Scope | None,
    shown: Collection[str],
    loaded: Collection[str],
    refined: Sequence[Skill],
) -> Turn:
    """The public record of a user turn, with the skills its text names.

    Naming a skill that may not be pushed has no effect here; it can still be loaded. A name that
    no skill of the library has may be the one of a refined skill that this conversation holds;
    what other conversations know has no effect, so that equal messages are equal turns.

    Args:
        turn: The turn.
        snapshot: The library.
        scope: What a policy allows; a hidden skill cannot be named.
        shown: Ids of skills that earlier advice in the messages names.
        loaded: Ids of skills whose current text stands in the messages.
        refined: Those of both that are refined skills.
    """
    named = NamedSkills()
    own = _by_name(refined)
    if turn.text:
        named = named_skills(
            turn.text,
            lambda name: snapshot.find(name, scope) or own.get(fold(name)),
            snapshot.expect,
        )
    return Turn(
        user_text=turn.text,
        context=turn.context,
        earlier=turn.earlier,
        message_id=turn.key,
        position=turn.position,
        visible_skills=frozenset([*shown, *loaded]),
        explicit=tuple(s.id for s in named.wanted if s.id not in loaded and may_be_named(s)),
        declined=tuple(s.id for s in named.unwanted),
    )


def _by_name(skills: Iterable[Skill]) -> dict[str, Skill]:
    """The skills by name, without names that several have."""
    table: dict[str, list[Skill]] = {}
    for skill in skills:
        table.setdefault(skill.name, []).append(skill)
    return {name: same[0] for name, same in table.items() if len(same) == 1}


def decide_turn(
    host: PushHost,
    settings: PushSettings,
    load_tool: str | None,
    turn: Turn,
    mode: str,
    snapshot: Snapshot,
    scope: Scope | None,
    demoted: Demoted,
) -> Advice:
    """Decide on `turn`.

    Skills the user named come first and need no score; the gate decides on the others, and the
    judge where there is one and the gate is not sure.

    Args:
        host: The library and its modes.
        settings: Limits and thresholds.
        load_tool: Name of the load tool, None where there is none.
        turn: What the user said.
        mode: The retrieval mode.
        snapshot: The library.
        scope: What a policy allows.
        demoted: For ids of refined skills, and of those in an index, what `Turn.demoted` holds for
            others; nobody goes through all of them, so the ones that were found are asked about.

    Raises:
        Exception: Whatever the retriever raises; the caller fails open.
    """
    started = time.perf_counter()
    if not turn.user_text.strip():
        return Advice("abstain", reason="the message holds no text", mode=mode, turn=turn)
    query = _query(host, settings, turn)
    looked = _look(host, settings, turn, query, mode, snapshot, scope, demoted)
    turn, ranking, candidates, verdict = (
        looked.turn,
        looked.ranking,
        looked.candidates,
        looked.verdict,
    )
    found = (snapshot.get(skill_id, scope) for skill_id in turn.explicit)
    # What an index says of a hit may be newer than what it said of the name.
    newest = {hit.skill.id: hit.skill for hit in ranking.hits}
    explicit = [skill for skill in found if skill and may_be_named(newest.get(skill.id, skill))]
    cost, unjudged = ranking.cost, None
    if host.judge and not explicit:
        judged = host.judge.hear(verdict, turn, settings.k)
        verdict, cost, unjudged = judged.verdict, cost + judged.usage, judged.degraded
    choice = _choose(explicit, ranking, verdict, settings.k)
    refused = [Rejection(h, REFUSED) for h in choice.offered if is_refused(h.skill, snapshot)]
    gone = {rejection.hit.skill.id for rejection in refused}
    offered = tuple(hit for hit in choice.offered if hit.skill.id not in gone)
    reason = f"{choice.reason}; {REFUSED}" if refused else choice.reason
    body = ""
    if choice.sure and not refused and settings.load_tokens and looked.degraded is None:
        tried = load_body(offered[0].skill, snapshot, scope, load_tool, settings)
        body, reason = tried.text, f"{reason}; {tried.reason}"
    skills = [hit.skill for hit in (offered[:1] if body else offered)]
    text, kept = body, skills
    if not body:
        text, kept = fit_budget(host, settings, load_tool, skills, snapshot, scope)
    left_out = (Rejection(hit, "no room in the token budget") for hit in offered[len(kept) :])
    if offered and not kept:
        reason = "the advice does not fit in the token budget"
    return Advice(
        decision="load" if body else "offer" if kept else "abstain",
        hits=offered[: len(kept)],
        text=text,
        tokens=settings.count_tokens(text) if text else 0,
        confidence=verdict.confidence,
        threshold=verdict.threshold,
        reason=reason,
        rejected=(*refused, *choice.rejected, *candidates.rejected, *left_out),
        mode=mode,
        elapsed_s=time.perf_counter() - started,
        turn=turn,
        degraded="; ".join(filter(None, (looked.degraded, unjudged))) or None,
        features=verdict.features,
        gate=looked.gate,
        cost=cost,
    )


def _query(host: PushHost, settings: PushSettings, turn: Turn) -> TurnQuery:
    """What a plugin wants to be searched for, else what the turn says."""
    own: TurnQuery | None = host.plugins.first_valid(
        "skillcue_build_query",
        lambda answer: checked_query(answer, settings.query_tokens),
        turn=turn,
    )
    return own or turn_query(
        turn.user_text, turn.earlier, settings.query_tokens, settings.context_tokens
    )


@dataclass(frozen=True, slots=True)
class _Looked:
    """What was found for a turn, and what the gate says about it."""

    turn: Turn
    ranking: Ranking
    candidates: _Candidates
    verdict: Verdict
    degraded: str | None
    gate: Mapping[str, Any]


def _look(
    host: PushHost,
    settings: PushSettings,
    turn: Turn,
    query: TurnQuery,
    mode: str,
    snapshot: Snapshot,
    scope: Scope | None,
    demoted: Demoted,
) -> _Looked:
    """Search, and let the gate decide."""
    wanted = Query(
        query.text,
        context=query.context,
        k=settings.depth,
        scope=scope,
        task=turn.task,
        task_id=turn.task_id,
        follows=turn.user_text != turn.task,
    )
    ranking = host.search(wanted, mode, snapshot)
    more = demoted([h.skill.id for h in ranking.hits if not _is_listed(h.skill, snapshot)])
    turn = replace(turn, demoted={**turn.demoted, **more}) if more else turn
    candidates = _pushable(ranking, turn)
    hits = candidates.ranking.hits
    gate = host.fitted_gate(mode, snapshot, complete=ranking.degraded is None)
    features = {
        **library_features(new_hits(hits, turn.visible_skills)),
        **text_cues(turn.user_text),
        **gate.types(turn.user_text),
    }
    calibration = suited(gate.calibration, hits)
    refit = settings.gate.fitted if hits else None
    used = gate_in_use(refit, calibration, mode, gate.encoder)
    verdict = judge(
        candidates.ranking, settings.k, settings.gate, turn.visible_skills, features, used
    )
    pending = "the gate is being fitted to the library" if gate.pending else None
    asked = "score" in verdict.features
    facts = gate_facts(calibration, gate.encoder, refitted=used is refit) if asked else {}
    return _Looked(turn, ranking, candidates, verdict, ranking.degraded or pending, facts)


def _is_listed(skill: Skill, snapshot: Snapshot) -> bool:
    """`Turn.demoted` holds the skill if it is demoted: somebody went through all such skills."""
    return snapshot.library.index is None and not skill.id.startswith(ID_PREFIX)


def fit_budget(
    host: PushHost,
    settings: PushSettings,
    load_tool: str | None,
    skills: Sequence[Skill],
    snapshot: Snapshot,
    scope: Scope | None,
) -> tuple[str, list[Skill]]:
    """The advice block and the skills it names: as many, best first, as the budget holds.

    Depends on nothing but the skills, what they are called where `scope` is the policy, and the
    settings, so that replayed advice is byte-equal.
    """
    kept = list(skills[: settings.k])
    snapshot.expect([skill.name for skill in kept])
    while kept:
        block = advice_block(_wording(host, load_tool, kept, snapshot, scope))
        if settings.count_tokens(block) <= settings.tokens_per_turn:
            return block, kept
        kept.pop()
    return "", []


def _wording(
    host: PushHost,
    load_tool: str | None,
    skills: Sequence[Skill],
    snapshot: Snapshot,
    scope: Scope | None,
) -> str:
    hits = tuple(Hit(skill, 0.0, rank) for rank, skill in enumerate(skills, 1))
    custom = host.plugins.first("skillcue_render_advice", advice=Advice("offer", hits=hits))
    if isinstance(custom, str) and custom.strip():
        return wrap_custom(custom)
    return render_advice(hits, lambda skill: shown_name(skill, snapshot, scope), load_tool)


def _pushable(ranking: Ranking, turn: Turn) -> _Candidates:
    kept: list[Hit] = []
    rejected: list[Rejection] = []
    for hit in ranking.hits:
        reason = _bar(hit.skill, turn)
        if not reason and evidence_mass(hit) < turn.demoted.get(hit.skill.id, 0.0):
            reason = "offered twice in this conversation and not loaded"
        if reason:
            rejected.append(Rejection(hit, reason))
        else:
            kept.append(hit)
    return _Candidates(replace(ranking, hits=tuple(kept)), tuple(rejected))


def may_push(skill: Skill) -> bool:
    """Whether advice may name the skill although nobody asked for it."""
    return skill.trust == "trusted" and skill.pushable and skill.searchable


def may_be_named(skill: Skill) -> bool:
    """Whether advice may name the skill when the user does: also one that is in no search."""
    return skill.trust == "trusted" and skill.pushable and skill.user_invocable


def _bar(skill: Skill, turn: Turn) -> str | None:
    """Why a skill may not be pushed whatever its score, or None."""
    if skill.trust != "trusted":
        return "untrusted skills are never pushed"
    if not may_push(skill):
        return "the skill is not to be pushed"
    if skill.id in turn.declined:
        return "the user asked not to use it"
    return None


def _choose(explicit: Sequence[Skill], ranking: Ranking, verdict: Verdict, limit: int) -> _Choice:
    """The skills the user named, else what the gate lets through."""
    if not explicit:
        return _Choice(verdict.offered, verdict.rejected, verdict.reason, verdict.sure)
    by_id = {hit.skill.id: hit for hit in ranking.hits}
    unranked = len(ranking.hits) + 1
    named = [by_id.get(skill.id, Hit(skill, 0.0, unranked)) for skill in explicit]
    ids = {skill.id for skill in explicit}
    rejected = [Rejection(hit, "more were named than are offered") for hit in named[limit:]]
    rejected += [
        Rejection(hit, "the user named others")
        for hit in verdict.offered
        if hit.skill.id not in ids
    ]
    rejected += [item for item in verdict.rejected if item.hit.skill.id not in ids]
    names = ", ".join(skill.name for skill in explicit)
    reason = f"the user named {names}"
    return _Choice(tuple(named[:limit]), tuple(rejected), reason, len(explicit) == 1)
