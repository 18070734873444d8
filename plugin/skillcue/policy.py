"""Who may see what: the answers of all policy plugins joined to one scope, failing closed."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skillcue_adapters.locks import ForkSafeLock
from skillcue_adapters.refine.composed import ID_PREFIX, found_ids, read_ids
from skillcue_hooks.contracts import Library, Query, Ranking, Scope, Skill
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.manager import SkillcuePluginManager

__all__ = ["SettledScopes", "combined_scope", "within_scope"]

log = logging.getLogger("skillcue.policy")

SCOPES_KEPT = 32
"""Policy answers over a whole library that are remembered, least recent dropped."""

_NOTHING = Scope("skillcue:denied", lambda _skill: False)


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
    key = checked[0][1].key
    policies = [impl.plugin_name for impl in plugins.hook.skillcue_filter_skills.get_hookimpls()]
    if len(policies) > 1:
        # Equal keys mean the same of one policy only, so which of them said it is part of the key.
        # By its place: names of plugins that have none are different in every process.
        key = fingerprint([[policies.index(name), scope.key] for name, scope in checked])
    return Scope(key, _AllOf(tuple(scope for _, scope in checked)))


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


def _is_scope(answer: object) -> bool:
    return isinstance(answer, Scope) and isinstance(answer.key, str) and callable(answer.allows)
