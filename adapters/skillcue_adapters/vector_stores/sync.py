"""Bringing a vector store up to date with a library: at once where little is new, else meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skillcue_adapters.batched_work import BatchedWork
from skillcue_adapters.bm25 import head_text
from skillcue_adapters.index.keys import Keys, content_keys
from skillcue_adapters.text_plan import TextPlan
from skillcue_adapters.threads import is_ending
from skillcue_adapters.vector_stores.ledger import Ledger
from skillcue_hooks.contracts import Skill
from skillcue_hooks.dense_leg import DenseLeg

__all__ = ["StoreSync", "StoredTexts", "SyncLimits", "text_keys"]

CHECKED_TEXTS = 512
"""Texts that a store is asked about, or told to forget, at a time."""

log = logging.getLogger("skillcue.vectors")


@dataclass(frozen=True, slots=True)
class SyncLimits:
    """When work is done.

    Attributes:
        inline: Up to so many new texts are waited for.
        inline_s: So long, seconds.
        batch: Texts that are stored at a time, 1 or more.
    """

    inline: int
    inline_s: float
    batch: int


@dataclass(frozen=True, slots=True)
class StoredTexts:
    """The texts of one library, all of which are in the store.

    Attributes:
        plan: Which they are, and which skill has which.
        skills: Positions of the skills that have a text, by the text's id.
        revision: Of the leg, when they were all there.
        lacked: How many were not, of those that the store was asked about; None where it cannot
            tell.
    """

    plan: TextPlan
    skills: dict[str, list[int]]
    revision: str
    lacked: int | None


class StoreSync(BatchedWork[StoredTexts]):
    """Stores what a library has and a store has not, and deletes what the library had before.

    Only what is known to have been stored for this leg is deleted. Making one waits for a while
    where little is new.

    Args:
        plan: Makes the plan of the library's texts.
        skills: The library's.
        leg: The store.
        ledger: What is known to be in it.
        previous: What the generation before had; its texts need not be looked for again.
        limits: See there.
    """

    def __init__(
        self,
        plan: Callable[[], TextPlan],
        skills: Sequence[Skill],
        leg: DenseLeg,
        ledger: Ledger,
        previous: StoredTexts | None,
        limits: SyncLimits,
    ) -> None:
        super().__init__("storing", "checking the vector store", log)
        self._make_plan = plan
        self._skills = skills
        self._leg = leg
        self._ledger = ledger
        self._before = previous
        self._limits = limits
        self._plan: TextPlan | None = None
        self._may_delete = True
        self._tells = True
        self._start()
        self._wait_for_few(limits.inline, limits.inline_s)

    def check_again(self) -> None:
        """Something has changed in the store: look whether all is there, and store what is not.

        Deletes nothing: another library of the same tenant may be newer.
        """
        with self._retrying:
            if self._result is None or self._stopped:
                return
            self._result = self._before = None
            self._may_delete = False
            self._begin_again()

    def _work(self) -> None:
        with self._ledger.turn:
            plan = self._plan or self._prepared()
            texts = _texts(plan)
            revision = self._leg.revision
            known = plan.kept if self._before and self._before.revision == revision else 0
            missing = self._missing(plan, texts, known)
            self._planned_work(len(texts), len(missing))
            self._planned.set()
            self._store(texts, missing)
            if self._left:  # stopped
                return
            if self._may_delete:
                self._delete(texts)
            lacked = len(missing) if self._tells else None
            self._result = StoredTexts(plan, texts, self._leg.revision, lacked)
            self._before = None

    def _prepared(self) -> TextPlan:
        plan = self._plan = replace(self._make_plan(), new={})
        return plan

    def _missing(self, plan: TextPlan, texts: dict[str, list[int]], known: int) -> list[str]:
        looked_for = [key for key in _hex(plan.keys[known:]) if key in texts]
        missing: list[str] = []
        for ids in _batches(looked_for, CHECKED_TEXTS):
            told = self._leg.stored(ids)
            self._tells = told is not None
            held = self._ledger.ids() if told is None else told
            missing += [i for i in ids if i not in held]
            self._ledger.add([i for i in ids if i in held])
        return missing

    def _store(self, texts: dict[str, list[int]], missing: Sequence[str]) -> None:
        for ids in _batches(missing, self._limits.batch):
            if self._stopped or is_ending():
                return
            self._leg.upsert(ids, [head_text(self._skills[texts[i][0]]) for i in ids])
            self._ledger.add(ids)
            self._left -= len(ids)

    def _delete(self, texts: dict[str, list[int]]) -> None:
        gone = sorted(self._ledger.ids() - texts.keys())
        for ids in _batches(gone, CHECKED_TEXTS):
            self._leg.delete(ids)
            self._ledger.remove(ids)


def text_keys(leg: DenseLeg, texts: Sequence[str]) -> Keys:
    """Names of texts in a leg."""
    return content_keys(leg.fingerprint, texts)


def _texts(plan: TextPlan) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for position, key in enumerate(_hex(plan.keys[plan.head.rows])):
        found.setdefault(key, []).append(position)
    return found


def _hex(keys: Keys) -> list[str]:
    whole = np.ascontiguousarray(keys).tobytes()
    size = keys.shape[1]
    return [whole[n : n + size].hex() for n in range(0, len(whole), size)]


def _batches(ids: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), size):
        yield ids[start : start + size]
