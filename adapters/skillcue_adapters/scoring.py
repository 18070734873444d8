"""From scores of every skill to a ranking: what the built-in retrievers have in common."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from skillcue_adapters.generations import line_up
from skillcue_adapters.selection import SkillMasks, top_k
from skillcue_hooks.contracts import Hit, Library, Query, Ranking, Skill
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.protocols import Retriever

__all__ = ["EncodingProgress", "Pending", "Scored", "ScoringRetriever", "says_something"]


@dataclass(frozen=True, slots=True)
class Scored:
    """The answer to one query before the best are taken.

    Attributes:
        scores: One finite number a skill, higher is better.
        matched: Which skills match.
        signals: Position of a skill to its named component scores.
    """

    scores: npt.NDArray[np.float64]
    matched: npt.NDArray[np.bool_]
    signals: Callable[[int], Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Pending:
    """There is no answer yet.

    Attributes:
        reason: What is missing, for `Ranking.degraded`.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class EncodingProgress:
    """How far the encoding of a library is.

    Attributes:
        texts: Texts of the library, each once.
        new: Those without a vector when it began; 0 as long as that is not known.
        encoded: Those of the new ones that have one by now.
        failure: What the encoder raised, else None.
    """

    texts: int = 0
    new: int = 0
    encoded: int = 0
    failure: str | None = None


class ScoringRetriever(ABC):
    """A retriever that scores every skill, and lets another answer until it can.

    Args:
        identity: Identity of everything but the library that changes a ranking (hex).
        library: What is indexed.
        mode: Name it is registered under.
        fallback: Gives the retriever that answers while `score` is pending; asked when needed.
        previous: The retriever of the generation before.

    Attributes:
        mode: As given.
        fingerprint: As `identity`.
        generation: Of the library.
        skills: The library's, sorted by id: the order of every array.
        origin: Position of each skill among those of `previous`; -1 for new and changed ones.
    """

    def __init__(
        self,
        identity: str,
        library: Library,
        mode: str,
        fallback: Callable[[], Retriever] | None = None,
        previous: ScoringRetriever | None = None,
    ) -> None:
        self.mode = mode
        self.fingerprint = identity
        self.generation = library.generation
        # Sums over the library and ties must not depend on the order skills arrive in.
        before = () if previous is None else previous.skills
        self.skills: tuple[Skill, ...]
        self.skills, self.origin = line_up(before, tuple(library.skills))
        self._ranking_fingerprint = fingerprint(identity, self.generation)
        self._masks = SkillMasks(self.skills)
        self._fallback = fallback

    @abstractmethod
    def score(self, query: Query) -> Scored | Pending:
        """Score every skill, whatever `query` filters.

        The library is not empty, and the query's text holds a letter or a digit.
        """

    @property
    def progress(self) -> EncodingProgress:
        """How far encoding is; nothing but zeros for a retriever without vectors."""
        return EncodingProgress()

    def wait_ready(self, timeout: float | None = None) -> bool:
        """Wait until answers are complete.

        Args:
            timeout: Seconds; None waits as long as it takes.

        Returns:
            Whether they are; False at once when they never will be.
        """
        return True

    def search(self, query: Query) -> Ranking:
        """Rank the library for `query`; see `skillcue_hooks.protocols.Retriever`.

        While `score` is pending the answer is that of the fallback, marked as degraded.

        Raises:
            ConfigurationError: A filter names a field that cannot be filtered by.
        """
        started = time.perf_counter()
        allowed = self._masks.of(query)
        if not self.skills or not says_something(query.text):
            return Ranking((), self.mode, self._ranking_fingerprint, time.perf_counter() - started)
        scored = self.score(query)
        if isinstance(scored, Pending):
            return self._meanwhile(query, scored.reason, started)
        matched = scored.matched if allowed is None else scored.matched & allowed
        best = top_k(scored.scores, matched, query.offset + query.k)[query.offset :]
        hits = tuple(
            Hit(self.skills[n], float(scored.scores[n]), rank, scored.signals(n))
            for rank, n in enumerate(best.tolist(), start=query.offset + 1)
        )
        total = int(np.count_nonzero(matched))
        elapsed = time.perf_counter() - started
        return Ranking(hits, self.mode, self._ranking_fingerprint, elapsed, total=total)

    def _meanwhile(self, query: Query, reason: str, started: float) -> Ranking:
        answer = Ranking((), self.mode)
        if self._fallback is not None:
            answer = self._fallback().search(query)
        return replace(
            answer,
            mode=self.mode,
            fingerprint=self._ranking_fingerprint,
            elapsed_s=time.perf_counter() - started,
            degraded=reason,
            cached=False,
        )


def says_something(text: str) -> bool:
    """Whether `text` holds a letter or a digit; without one there is nothing to look for."""
    return any(map(str.isalnum, text))
