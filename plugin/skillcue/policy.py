"""Who may see what: the answers of all policy plugins joined to one scope, failing closed."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skillcue.library.protocols import Snapshot
from skillcue_adapters.locks import ForkSafeLock
from skillcue_adapters.refine.composed import ID_PREFIX, found_ids, may_see, read_ids
from skillcue_hooks.contracts import Library, Query, Ranking, Scope, Skill, allow_all
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.manager import SkillcuePluginManager

__all__ = ["SettledScopes", "combined_scope", "within_scope", "within_tenants"]

log = logging.getLogger("skillcue.policy")

SCOPES_KEPT = 32
"""Policy answers over a whole library that are remembered, least recent dropped."""

ANSWERS_KEPT = 4096
"""Answers of one policy on skills of an index that are remembered, least recent dropped."""


def _deny_all(_skill: Skill) -> bool:
    return False


_NOTHING = Scope("skillcue:denied", _deny_all)


def combined_scope(
    plugins: SkillcuePluginManager, run_context: Mapping[str, Any], library: Library
) -> Scope | None:
    """What every policy plugin allows; None when no plugin has an opinion.

    A plugin that raises, answers something that is not a `Scope` with a text for its key, or
    whose ``allows`` raises, hides everything it was asked about.

    Args:
        plugins: The manager.
        run_context: Run-time values from the framework.
        library: The library the policy is about.
    """
    answers = plugins.collect_named(
        "skillcue_filter_skills",
        lambda _plugin, _error: _NOTHING,
        context=run_context,
        library=library,
    )
    if not answers:
        return None
    checked = [(name, scope if _is_scope(scope) else _NOTHING) for name, scope in answers]
    for (name, answer), (_, scope) in zip(answers, checked, strict=True):
        if answer is not scope:
            log.warning("policy %s gave no usable Scope, so everything is hidden: %r", name, answer)
    key = checked[0][1].key
    policies = [impl.plugin_name for impl in plugins.hook.skillcue_filter_skills.get_hookimpls()]
    if len(policies) > 1:
        # Equal keys mean the same of one policy only, so which of them said it is part of the key.
        # By its place: names of plugins that have none are different in every process.
        key = fingerprint([[policies.index(name), scope.key] for name, scope in checked])
    scopes = tuple(scope for _, scope in checked)
    tenants = _in_all([scope.tenants for scope in scopes if scope.tenants is not None])
    if tenants is not None:  # what may be seen goes by them as well
        key = fingerprint(key, "tenants", tenants)
    if all(scope.allows is allow_all for scope in scopes):
        return Scope(key, tenants=tenants)
    return Scope(key, _AllOf(scopes), tenants=tenants)


def within_tenants(snapshot: Snapshot, scope: Scope | None) -> Snapshot:
    """What of `snapshot` belongs to the tenants that `scope` leaves."""
    return snapshot if scope is None else snapshot.narrowed(scope.tenants)


class SettledScopes:
    """What scopes allow, asked once for each scope key and library generation. Thread-safe.

    Everything that is built for a scope is kept under its key and its answers: rankings, masks,
    look-up tables. So a policy is asked about all skills before anything is built. Where it cannot
    answer, the skill is hidden and the key says so; a policy that was out of order for a moment
    would otherwise hide skills for as long as the caches live. The answers are part of what things
    are kept under because folders outlive policies: a policy that says something else after a
    restart, under the same key, must not meet what was ranked under the old one.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], Scope] = OrderedDict()
        self._lock = ForkSafeLock()

    def settle(self, scope: Scope | None, skills: Iterable[Skill], generation: str) -> Scope | None:
        """`scope` with its answers on `skills` worked out; it raises for no skill.

        Args:
            scope: What `combined_scope` gave.
            skills: All skills of the library.
            generation: The generation of the library.
        """
        if scope is None:
            return None
        if scope.tenants is not None and "" not in scope.tenants:  # of which all in memory are
            scope = replace(scope, allows=_deny_all)
        name = (scope.key, generation)
        with self._lock:
            if name in self._known:
                self._known.move_to_end(name)
                return self._known[name]
        settled, whole = _worked_out(scope, skills)
        if whole:
            with self._lock:
                self._known[name] = settled
                while len(self._known) > SCOPES_KEPT:
                    self._known.popitem(last=False)
        return settled

    def over_index(
        self, scope: Scope | None, generation: str, find: Callable[[str], Skill | None]
    ) -> Scope | None:
        """`scope` for a library that nobody can ask about as a whole: each skill that is met is
        asked about once, without its body. It raises for no skill; what cannot be judged is hidden.

        Nothing tells whether another process gets the same answers, or this one after a restart.
        So they stay in memory, and what was ranked by them is not cached.

        Args:
            scope: What `combined_scope` gave.
            generation: The generation of the library.
            find: The skill of the library with an id.
        """
        if scope is None or scope.allows is allow_all:
            return scope
        if isinstance(scope.allows, _AllOf) and any(s is _NOTHING for s in scope.allows.scopes):
            return replace(scope, tenants=())  # else the index is searched to its end
        name = (scope.key, generation)
        with self._lock:
            known = self._known.get(name) or replace(scope, allows=_Asked(scope, find))
            self._known[name] = known
            self._known.move_to_end(name)
            while len(self._known) > SCOPES_KEPT:
                self._known.popitem(last=False)
        return known


def within_scope(ranking: Ranking, query: Query, scope: Scope) -> Ranking:
    """What a retriever would have answered that keeps to `scope`.

    Args:
        ranking: The answer to `query` for the whole library, from its first hit on.
        query: What was asked; its ``k`` and ``offset`` are cut out of what is allowed.
        scope: What the policy allows.
    """
    allowed = [hit for hit in ranking.hits if scope.allows(hit.skill)]
    hits = [replace(hit, rank=rank) for rank, hit in enumerate(allowed, start=1)]
    shown = hits[query.offset : query.offset + query.k]
    return replace(ranking, hits=tuple(shown), total=len(allowed))


@dataclass(frozen=True, slots=True)
class _AllOf:
    """Allows what every one of the scopes allows; hides what one of them cannot judge."""

    scopes: Sequence[Scope]

    def __call__(self, skill: Skill) -> bool:
        try:
            return self.judge(skill)
        except Exception:  # a policy that cannot answer must not let anything through
            log.exception("a policy failed on %s; the skill stays hidden", skill.id)
            return False

    def judge(self, skill: Skill) -> bool:
        """As a call, and raises what a policy raises."""
        return all(scope.allows(skill) is True for scope in self.scopes)


def _worked_out(scope: Scope, skills: Iterable[Skill]) -> tuple[Scope, bool]:
    """A scope that knows its answers, and whether the policy gave them all."""
    ask = scope.allows.judge if isinstance(scope.allows, _AllOf) else scope.allows
    allowed: set[str] = set()
    failed: list[str] = []
    asked: list[str] = []
    for skill in skills:
        asked.append(skill.id)
        try:
            if ask(skill):
                allowed.add(skill.id)
        except Exception:  # as in `_AllOf`; one message, however many skills
            if not failed:
                log.exception("a policy failed on %s; what it cannot judge is hidden", skill.id)
            failed.append(skill.id)
    key = fingerprint(scope.key, "unanswered", failed) if failed else scope.key
    settled = _Settled(frozenset(asked), frozenset(allowed))
    return Scope(key, settled, fingerprint(allowed)), not failed


@dataclass(frozen=True, slots=True)
class _Settled:
    """The answers on a library, and on what was composed of its skills."""

    asked: frozenset[str]
    allowed: frozenset[str]

    def __call__(self, skill: Skill) -> bool:
        if skill.id in self.asked or not skill.id.startswith(ID_PREFIX):
            return skill.id in self.allowed
        if not skill.derived_from or not self.allowed.issuperset(read_ids(skill)):
            return False
        return self.allowed.issuperset(self.asked.intersection(found_ids(skill)))


class _Asked:
    """A policy over an index, with what it said. Safe to share between threads."""

    def __init__(self, scope: Scope, find: Callable[[str], Skill | None]) -> None:
        self._scope = scope
        self._find = find
        self._known: OrderedDict[tuple[str, str, str], bool] = OrderedDict()
        self._lock = ForkSafeLock()

    def __call__(self, skill: Skill) -> bool:
        if skill.id.startswith(ID_PREFIX):
            return bool(skill.derived_from) and may_see(
                skill, replace(self._scope, allows=self), self._find
            )
        key = (skill.id, skill.content_hash, skill.trust)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        try:
            ask = self._scope.allows
            skill = replace(skill, body="")  # which is there for some ways to meet it only
            allowed = ask.judge(skill) if isinstance(ask, _AllOf) else ask(skill) is True
        except Exception:  # hidden, and asked about again: it may be out of order for a moment
            log.exception("a policy failed on %s; the skill stays hidden", skill.id)
            return False
        with self._lock:
            self._known[key] = allowed
            while len(self._known) > ANSWERS_KEPT:
                self._known.popitem(last=False)
        return allowed


def _in_all(several: Sequence[tuple[str, ...]]) -> tuple[str, ...] | None:
    """The tenants that are in each of them, sorted; None where there are none."""
    if not several:
        return None
    return tuple(sorted(set(several[0]).intersection(*several)))


def _is_scope(answer: object) -> bool:
    if not isinstance(answer, Scope) or not isinstance(answer.key, str):
        return False
    named = answer.tenants
    known = named is None or (isinstance(named, tuple) and all(isinstance(t, str) for t in named))
    return known and callable(answer.allows)
