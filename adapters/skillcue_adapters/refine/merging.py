"""Refined skills and a base ranking, as one ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillcue_hooks.contracts import Hit, Query, Ranking, Scope, Skill
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.protocols import Retriever

__all__ = ["merged_hits"]

STEP = 1e-6
"""How far a refined skill lies above what it stands before, as a share of its score."""


def merged_hits(base: Retriever, query: Query, skills: Sequence[Skill], *, own: bool) -> Ranking:
    """The page of `query` of the base ranking with `skills` in place of their parents.

    Args:
        base: Gives the ranking.
        query: What is searched.
        skills: Refined skills, best first.
        own: The query is the task they were composed for: they come first. Else each stands where
            its best parent would, and is left out where none matches.
    """
    parents = {parent for skill in skills for parent in skill.derived_from}
    end = query.offset + query.k
    found = base.search(replace(query, k=end + len(parents), offset=0))
    ranked = _signals_of(base, query, parents)
    best = max((hit.score for hit in found.hits), default=0.0)
    refined = []
    for place, skill in enumerate(skills):
        hit = _best_parent(skill, ranked)
        if own:
            score = max(best, 0.0) + (len(skills) - place) * STEP * max(abs(best), 1.0)
            signals = dict(hit.signals) if hit else dict.fromkeys(_names(found), 0.0)
            refined.append(Hit(skill, score, 0, signals))
        elif hit is not None:
            score = hit.score + STEP * max(abs(hit.score), 1.0)
            refined.append(Hit(skill, score, 0, dict(hit.signals)))
    shown = {parent for hit in refined for parent in hit.skill.derived_from}
    rest = [hit for hit in found.hits if hit.skill.id not in shown]
    hits = sorted([*refined, *rest], key=lambda hit: (-hit.score, hit.skill.id))
    page = hits[query.offset : end]
    return replace(
        found,
        hits=tuple(replace(hit, rank=n) for n, hit in enumerate(page, query.offset + 1)),
        total=found.total + len(refined) - sum(parent in ranked for parent in shown),
    )


def _signals_of(base: Retriever, query: Query, parents: set[str]) -> dict[str, Hit]:
    """Where the parents stand in the base ranking, however far down, by id."""
    outer = query.scope
    key = fingerprint("parents", sorted(parents), None if outer is None else outer.key)
    scope = Scope(
        key,
        lambda skill: skill.id in parents and (not outer or outer.allows(skill)),
        outer.answers if outer else "",
        ids=frozenset(parents),
    )
    found = base.search(replace(query, k=len(parents), offset=0, scope=scope))
    return {hit.skill.id: hit for hit in found.hits}


def _best_parent(skill: Skill, ranked: dict[str, Hit]) -> Hit | None:
    hits = [ranked[parent] for parent in skill.derived_from if parent in ranked]
    return max(hits, key=lambda hit: hit.score, default=None)


def _names(ranking: Ranking) -> Sequence[str]:
    return tuple(ranking.hits[0].signals) if ranking.hits else ()
