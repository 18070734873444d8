"""Mode ``dense`` over a vector store of the user: the store says what is similar.

What matches is what the store was asked for, at least `depth` texts, and more where filters or a
policy hide some of them. Skills rank in the store's order: ``score = 1 / (60 + rank) +
context_weight / (60 + rank of the context)``, for scores of two searches of an unknown store cannot
be added up. Skills with the same text tie.
"""

from __future__ import annotations

import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from skillcue_adapters.locks import ForkSafeLock
from skillcue_adapters.scoring import (
    EncodingProgress,
    Pending,
    Scored,
    ScoringRetriever,
    says_something,
)
from skillcue_adapters.settings import number, read_settings
from skillcue_adapters.text_plan import DEAD_TEXTS, TextPlan, follow_plan
from skillcue_adapters.vector_stores.ledger import Ledger, open_ledger
from skillcue_adapters.vector_stores.sync import StoredTexts, StoreSync, SyncLimits, text_keys
from skillcue_hooks.contracts import Library, Query, RetrieverContext
from skillcue_hooks.dense_leg import DenseLeg
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.protocols import Retriever

__all__ = ["StoreRetriever", "VectorStoreSettings", "build_over_store"]

VERSION = 1
"""Part of the fingerprint; raised whenever the same settings give other scores."""

RANK_OFFSET = 60
"""How little the first ranks differ, as in mode ``hybrid``."""

GROWTH = 4
"""Where too few of what the store gave may be shown, it is asked for so many times as many."""

SLOW_S = 0.5
"""A failure that took so long, seconds, is one of the store and not of the query."""

REST_S = 5.0
"""After such a failure, or where texts seem to be lost, the store is left alone for so long, seconds."""

ANSWERS_KEPT = 1024
"""Answers of the store that are remembered, least recently used dropped first."""

LOGGED_S = 60.0
"""Of the failures within so long, seconds, one is logged."""

log = logging.getLogger("skillcue.vectors")


@dataclass(frozen=True, slots=True)
class VectorStoreSettings:
    """Settings of mode ``dense`` with ``SkillCue(vectors=...)``.

    Attributes:
        context_weight: Weight of `Query.context`, 0 to 10; 0 saves a search of the store.
        depth: Texts that the store is asked for at least.
        inline_texts: Up to so many new texts are waited for; more are stored in the background,
            and until they are, answers are lexical and marked as degraded.
        inline_ms: Milliseconds that they are waited for.
        batch_texts: Texts that are stored at a time.
    """

    context_weight: float = number(0.5, 0.0, 10.0)
    depth: int = number(100, 1, 10_000)
    inline_texts: int = number(512, 0, 10_000_000)
    inline_ms: int = number(5_000, 0, 3_600_000)
    batch_texts: int = number(64, 1, 100_000)


class StoreRetriever(ScoringRetriever):
    """See the module. Hits carry the signal ``semantic``: the store's own score.

    Args:
        library: What is stored.
        leg: Where.
        ledger: What is known to be there.
        settings: Settings of the mode.
        previous: The retriever of the generation before.
        fallback: Gives the retriever that answers while the store cannot.
        mode: Name it is registered under.
    """

    def __init__(
        self,
        library: Library,
        leg: DenseLeg,
        ledger: Ledger,
        settings: VectorStoreSettings,
        previous: StoreRetriever | None,
        fallback: Callable[[], Retriever],
        mode: str = "dense",
    ) -> None:
        identity = fingerprint("dense over a store", VERSION, leg.fingerprint, asdict(settings))
        super().__init__(identity, library, mode, fallback, previous)
        self.settings = settings
        self._leg = leg
        self._failure = ""
        self._lock = ForkSafeLock()
        self._answers: OrderedDict[tuple[str, int, str], Sequence[tuple[str, float]]]
        self._answers = OrderedDict()
        self._warned_of_few = False
        self._doubted: tuple[StoredTexts, int] | None = None  # what gave too few, and how many
        self._usual = math.inf  # what the store gives at least where it lacks nothing
        self._rests_until = self._logged_at = -math.inf
        self._sync: StoreSync | None = None
        if self.skills:
            self._sync = self._synchronize(leg, ledger, previous)

    def score(self, query: Query) -> Scored | Pending:
        """See `ScoringRetriever.score`."""
        if self._sync is None:
            raise LookupError("the empty library has no scores")
        stored = self._sync.result
        if stored is None:
            return Pending(self._sync.pending)
        if stored.revision != self._leg.revision:
            self._sync.check_again()
            return Pending("the vector store has changed and is being checked")
        began = time.monotonic()
        if began < self._rests_until:
            return Pending(self._failure)
        try:
            return self._score(query, stored, self._sync)
        except Exception as error:  # noqa: BLE001  a store may raise anything
            return self._failed(error, began)

    @property
    def progress(self) -> EncodingProgress:
        """See `ScoringRetriever.progress`."""
        return EncodingProgress() if self._sync is None else self._sync.progress

    def wait_ready(self, timeout: float | None = None) -> bool:
        """See `ScoringRetriever.wait_ready`."""
        return self._sync is None or self._sync.wait(timeout)

    def close(self) -> None:
        """Stop storing; what is stored is kept."""
        if self._sync is not None:
            self._sync.stop()

    def _score(self, query: Query, stored: StoredTexts, sync: StoreSync) -> Scored | Pending:
        found, asked = self._search(query, stored)
        if not any(text_id in stored.skills for text_id, _ in found):
            return self._distrusted(sync, "the vector store finds nothing")
        if len(found) < asked:
            if self._seems_to_lack(len(found), query, stored):
                return self._distrusted(sync, "the vector store finds too few")
            self._warn_of_few(len(found), asked)
        scores = np.zeros(len(self.skills))
        similar: dict[int, float] = {}
        for rank, (text_id, similarity) in enumerate(found, start=1):
            for position in stored.skills.get(text_id, ()):
                scores[position] = 1.0 / (RANK_OFFSET + rank)
                similar[position] = similarity
        matched = scores > 0.0
        weight = self.settings.context_weight
        if found and weight and says_something(query.context):
            context = self._found(query.context, len(found), stored)
            for rank, (text_id, _) in enumerate(context, start=1):
                positions = stored.skills.get(text_id, [])
                scores[positions] += weight / (RANK_OFFSET + rank)
            scores[~matched] = 0.0

        def signals(position: int) -> Mapping[str, float]:
            return {"semantic": similar[position]} if position in similar else {}

        return Scored(scores, matched, signals)

    def _search(self, query: Query, stored: StoredTexts) -> tuple[Sequence[tuple[str, float]], int]:
        """The best texts, so many that enough of the skills that have one may be shown.

        With the number that the store was asked for.
        """
        allowed = self._masks.of(query)
        wanted = query.offset + query.k
        count = max(self.settings.depth, wanted)
        while True:
            count = min(count, len(stored.skills))
            found = self._found(query.text, count, stored)
            if len(found) < count or count == len(stored.skills):
                return found, count
            if _shown(found, stored, allowed) >= wanted:
                return found, count
            count *= GROWTH

    def _found(self, text: str, count: int, stored: StoredTexts) -> Sequence[tuple[str, float]]:
        """What the store gives, which is remembered: fitting the push gate asks some 500 times, and
        begins again when one search fails.
        """
        key = (text, count, stored.revision)
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key]
        found = self._leg.search(text, count)
        if found:
            with self._lock:
                self._answers[key] = found
                while len(self._answers) > ANSWERS_KEPT:
                    self._answers.popitem(last=False)
        return found

    def _warn_of_few(self, found: int, asked: int) -> None:
        if not self._warned_of_few:
            self._warned_of_few = True
            log.warning(
                "the vector store finds %d of %d texts that are in it; an approximate index that "
                "is filtered looks at too few (pgvector: set hnsw.iterative_scan)",
                found,
                asked,
            )

    def _seems_to_lack(self, found: int, query: Query, stored: StoredTexts) -> bool:
        """Whether too few are `found` because texts are gone.

        An approximate index gives too few as well. That is known once the store was asked and
        lacked nothing; of one that cannot tell, a page that is not filled is not believed.
        """
        if stored.lacked is None:
            return found < min(query.offset + query.k, len(stored.skills))
        if self._doubted is not None and self._doubted[0] is not stored and not stored.lacked:
            self._usual = min(self._usual, self._doubted[1])
        if found >= self._usual:
            return False
        self._doubted = stored, found
        return True

    def _distrusted(self, sync: StoreSync, reason: str) -> Pending:
        """Of texts that are all there some are always the most similar, and as many as asked for."""
        log.warning("%s of what was stored in it; it is checked", reason)
        with self._lock:
            self._answers.clear()
        sync.check_again()
        return self._resting(reason)

    def _failed(self, error: Exception, began: float) -> Pending:
        now = time.monotonic()
        if now - self._logged_at >= LOGGED_S:
            self._logged_at = now
            log.warning("the vector store failed; answers are lexical", exc_info=error)
        # The message may hold a key or a page of HTML, and a model reads this.
        reason = f"the vector store failed: {type(error).__name__}"
        return self._resting(reason) if now - began >= SLOW_S else Pending(reason)

    def _resting(self, reason: str) -> Pending:
        self._failure = reason
        self._rests_until = time.monotonic() + REST_S
        return Pending(reason)

    def _synchronize(
        self, leg: DenseLeg, ledger: Ledger, previous: StoreRetriever | None
    ) -> StoreSync:
        # Revisions are those of one object.
        alike = previous is not None and (previous.fingerprint, previous._leg) == (
            self.fingerprint,
            leg,
        )
        before = None
        if previous is not None and alike:
            before, self._usual = previous._reusable(), previous._usual
        origin = self.origin if before is not None else np.full(len(self.skills), -1)
        new = [self.skills[n] for n in np.flatnonzero(origin < 0).tolist()]
        plan = None if before is None else before.plan

        def make_plan() -> TextPlan:
            return follow_plan(plan, origin, new, None, lambda texts: text_keys(leg, texts))

        settings = self.settings
        limits = SyncLimits(settings.inline_texts, settings.inline_ms / 1000, settings.batch_texts)
        return StoreSync(make_plan, self.skills, leg, ledger, before, limits)

    def _reusable(self) -> StoredTexts | None:
        """The texts for the next generation; None where most belong to skills that are gone."""
        stored = None if self._sync is None else self._sync.result
        if stored is None or len(stored.plan.keys) > 2 * len(stored.skills) + DEAD_TEXTS:
            return None
        return stored


def build_over_store(leg: DenseLeg, library: Library, context: RetrieverContext) -> StoreRetriever:
    """Factory of mode ``dense`` where the user gave a vector store.

    Raises:
        UnknownSettingError: `context.settings` holds a name that `VectorStoreSettings` has not.
        ConfigurationError: A setting is out of range.
    """
    return StoreRetriever(
        library,
        leg,
        open_ledger(leg, context.cache_dir),
        read_settings(VectorStoreSettings, context.settings, context.mode),
        context.previous if isinstance(context.previous, StoreRetriever) else None,
        lambda: context.retriever("bm25"),
        context.mode,
    )


def _shown(
    found: Sequence[tuple[str, float]], stored: StoredTexts, allowed: npt.NDArray[np.bool_] | None
) -> int:
    positions = [position for i, _ in found for position in stored.skills.get(i, ())]
    return len(positions) if allowed is None else int(np.count_nonzero(allowed[positions]))
