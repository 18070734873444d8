"""From candidates to a ranking: what the modes over an index have in common."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from skillcue_adapters.indexed.facts import IndexFacts, facts_of
from skillcue_adapters.indexed.panel import Panel
from skillcue_adapters.indexed.prepare import name_terms
from skillcue_adapters.indexed.pruning import growth
from skillcue_adapters.scoring import EncodingProgress, Pending, Scored, says_something
from skillcue_adapters.selection import SkillMasks, top_k
from skillcue_hooks.contracts import Hit, Library, Query, Ranking
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.protocols import Retriever
from skillcue_hooks.skill_index import IndexQuery, Legs, View

__all__ = ["Asked", "IndexedRetriever"]

LEAST_DEPTH = 50
"""Candidates of each leg at least."""

DEEPER = 4
"""So many times more candidates are asked for where a policy hides too many of them."""

MOST_CANDIDATES = 50_000
"""Candidates of a leg beyond which a policy that hides nearly everything is not followed; such a
policy is one about tenants."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One query, ready to ask an index for candidates.

    Attributes:
        views: The text, and the context where it counts.
        score: Scores the rows of a panel of those candidates.
        depth: Candidates of each leg that the mode needs in any case.
        postings: See `IndexQuery.postings`.
        every: Every skill matches, so that all of the library are in the ranking.
    """

    views: tuple[View, ...]
    score: Callable[[Panel], Scored]
    depth: int
    postings: int | None
    every: bool


class IndexedRetriever(ABC):
    """A retriever that scores the candidates of an index.

    The skills of hits come without their bodies.

    `Ranking.total` is exact where every skill matches and nothing is filtered; otherwise it counts
    the candidates that match, and more may.

    Args:
        identity: Identity of everything but the library that changes a ranking (hex).
        library: Whose `index` is asked.
        mode: Name it is registered under.
        fallback: Gives the retriever that answers where the query cannot be asked.

    Attributes:
        mode: As given.
        fingerprint: As `identity`.
        generation: Of the library.
        facts: About all skills.
    """

    def __init__(
        self,
        identity: str,
        library: Library,
        mode: str,
        fallback: Callable[[], Retriever] | None = None,
    ) -> None:
        self.mode = mode
        self.fingerprint = identity
        self.generation = library.generation
        self.facts: IndexFacts = facts_of(library)
        self._ranking_fingerprint = fingerprint(identity, self.generation)
        self._fallback = fallback

    @abstractmethod
    def ask(self, query: Query) -> Asked | Pending:
        """What is asked for `query`, whatever it filters.

        The library is not empty, and the query's text holds a letter or a digit.
        """

    @property
    def progress(self) -> EncodingProgress:
        """Nothing but zeros: all skills of an index are encoded."""
        return EncodingProgress()

    def wait_ready(self, timeout: float | None = None) -> bool:
        """Make sure that the index answers; see `ScoringRetriever.wait_ready`.

        Raises:
            ConfigurationError: It was filled with another encoder.
            IndexUnavailableError: It cannot be reached.
        """
        self.check()
        return True

    def check(self) -> None:
        """Make sure that the index can be asked; nothing is read from it twice.

        Raises:
            ConfigurationError: It was filled with another encoder.
            IndexUnavailableError: It cannot be reached.
        """
        if self.facts.statistics.skills:
            self.facts.sample  # noqa: B018  # read now, so that the first query need not wait

    def search(self, query: Query) -> Ranking:
        """Rank the library for `query`; see `skillcue_hooks.protocols.Retriever`.

        Raises:
            ConfigurationError: A filter names a field that cannot be filtered by, or the index was
                filled with another encoder.
            IndexUnavailableError: The index cannot be reached.
        """
        started = time.perf_counter()
        SkillMasks(()).of(replace(query, scope=None))  # what is wrong with it is said here
        if not says_something(query.text) or not self.facts.statistics.skills:
            return self._ranking((), started)
        self.check()
        asked = self.ask(query)
        if isinstance(asked, Pending):
            return self._meanwhile(query, asked.reason, started)
        only = None if query.scope is None else query.scope.ids
        if only is not None:
            asked = self._by_name(asked, only)
        wanted = query.offset + query.k
        depth, postings = max(LEAST_DEPTH, asked.depth, 2 * wanted), asked.postings
        most = max(MOST_CANDIDATES, depth)
        while True:
            legs = self._candidates(query, asked, depth, postings)
            found = _Found.of(self.facts, legs, asked, query)
            full = any(len(leg) >= depth for leg in (*legs.dense, *legs.lexical))
            restricted = bool(query.filters) or query.scope is not None
            exhausted = found.panel.whole or only is not None or (not full and postings is None)
            if found.count >= wanted or not restricted or exhausted:
                break
            if depth >= most:
                return self._ranking(
                    found.hits(query), started, found.count, f"{depth} candidates looked at"
                )
            # A pruned leg that is not full may have left out what the filter lets through.
            depth, postings = (min(DEEPER * depth, most), postings) if full else (depth, None)
        total = found.count
        if asked.every and not restricted:
            total = max(total, self.facts.statistics.skills)
        return self._ranking(found.hits(query), started, total)

    def _by_name(self, asked: Asked, ids: frozenset[str]) -> Asked:
        """`asked` with the skills of some ids among the candidates, wherever they rank."""
        skills = self.facts.index.fetch(sorted(ids), self.facts.tenants).values()
        names = {name_terms(skill.name) for skill in skills} - {""}
        first, *others = asked.views
        first = replace(first, names=tuple(sorted({*first.names, *names})))
        return replace(asked, views=(first, *others))

    def _candidates(self, query: Query, asked: Asked, depth: int, postings: int | None) -> Legs:
        facts = self.facts
        budget = None
        if postings is not None:
            # As many as are wanted must be looked at, whatever the budget.
            budget = max(round(growth(facts.statistics.skills) * postings), 2 * depth)
        return facts.index.candidates(
            IndexQuery(asked.views, depth, facts.tenants, query.filters, budget)
        )

    def _ranking(
        self, hits: tuple[Hit, ...], started: float, total: int = 0, degraded: str | None = None
    ) -> Ranking:
        elapsed = time.perf_counter() - started
        return Ranking(
            hits, self.mode, self._ranking_fingerprint, elapsed, degraded=degraded, total=total
        )

    def _meanwhile(self, query: Query, reason: str, started: float) -> Ranking:
        found = Ranking((), self.mode) if self._fallback is None else self._fallback().search(query)
        return self._ranking(found.hits, started, found.total, reason)


@dataclass(frozen=True, slots=True)
class _Found:
    """Candidates that match and may be seen."""

    panel: Panel
    scored: Scored
    seen: np.typing.NDArray[np.bool_]

    @classmethod
    def of(cls, facts: IndexFacts, legs: Legs, asked: Asked, query: Query) -> _Found:
        panel = Panel(facts, legs)
        scored = asked.score(panel)
        seen = scored.matched[: len(panel.skills)]
        allowed = SkillMasks(panel.skills).of(query)
        return cls(panel, scored, seen if allowed is None else seen & allowed)

    @property
    def count(self) -> int:
        return int(np.count_nonzero(self.seen))

    def hits(self, query: Query) -> tuple[Hit, ...]:
        scores = self.scored.scores[: len(self.panel.skills)]
        best = top_k(scores, self.seen, query.offset + query.k)[query.offset :]
        return tuple(
            Hit(self.panel.skills[n], float(scores[n]), rank, self.scored.signals(n))
            for rank, n in enumerate(best.tolist(), start=query.offset + 1)
        )
