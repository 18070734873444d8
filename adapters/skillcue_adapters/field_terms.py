"""Terms of one text field of a library over generations: an edit costs what it touches.

Texts have slots, in the order in which they came; a slot never changes. A generation says which
slot each of its documents has, and shares the slots with the generations before. Documents with
the same text share a slot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skillcue_adapters.analyzer import ANALYZER
from skillcue_adapters.index.keys import KEY_BYTES, Keys, Positions, content_keys, match_keys
from skillcue_adapters.lazy import cached_property
from skillcue_adapters.terms import TermRows, Vocabulary, analysed

__all__ = ["FieldTerms", "Postings", "count_terms", "follow_terms"]

RECENT_SHARE = 0.1
"""Slots that came after the first, as a share of those: beyond it all are put together anew."""

RECENT_SLOTS = 1024
"""So many are kept apart in any case."""

Read = Callable[[Positions], TermRows]


class Postings:
    """Some slots, by text and by term. Immutable.

    Args:
        rows: Terms of each.
        width: Number of terms there are.
        first: Slot of the first row.

    Attributes:
        rows: As given.
        first: As given.
        starts: Where each term begins in the next two, int64, shape ``(width + 1,)``.
        slots: Slots in which the term occurs, ascending, int32.
        counts: How often, int32.
        lengths: Number of terms of each row, repeats included.
    """

    def __init__(self, rows: TermRows, width: int, first: int) -> None:
        self.rows = rows
        self.first = first
        self.lengths = rows.lengths()
        by_text = sparse.csr_matrix(
            (rows.counts, rows.columns, rows.starts), shape=(len(rows), width)
        )
        by_term = by_text.tocsc()
        self.starts = by_term.indptr.astype(np.int64)
        self.slots: npt.NDArray[np.int32] = by_term.indices.astype(np.int32) + np.int32(first)
        self.counts: npt.NDArray[np.int32] = by_term.data


@dataclass(frozen=True)
class FieldTerms:
    """What is known about one field of one generation.

    Attributes:
        vocabulary: Numbers of terms; it may hold more than occur here.
        keys: Name of each slot's text.
        postings: Slots, in order; one or two parts.
        slots: Slot of each document.
        frequency: Documents in which each term occurs, by number.
    """

    vocabulary: Vocabulary
    keys: Keys
    postings: tuple[Postings, ...]
    slots: Positions
    frequency: Positions

    @property
    def documents(self) -> int:
        """Number of documents."""
        return len(self.slots)

    @property
    def is_worn(self) -> bool:
        """Most of the slots belong to texts that are no longer here."""
        alive = int(np.count_nonzero(np.bincount(self.slots)))
        return len(self.keys) > 2 * alive + RECENT_SLOTS

    @cached_property
    def lengths(self) -> Positions:
        """Number of terms of each slot, repeats included."""
        return np.concatenate([part.lengths for part in self.postings])

    def rows(self, slots: Positions) -> TermRows:
        """Terms of some slots."""
        if len(self.postings) == 1:
            return self.postings[0].rows.take(slots)
        parts = [part.rows.take(_inside(part, slots)) for part in self.postings]
        order = np.argsort(
            np.concatenate([np.flatnonzero(_belongs(part, slots)) for part in self.postings])
        )
        return TermRows.joined(parts).take(order)

    def renewed(self, vocabulary: Vocabulary) -> FieldTerms:
        """The same documents without what is no longer here, in numbers of `vocabulary`."""
        alive = np.flatnonzero(np.bincount(self.slots))
        slots = np.searchsorted(alive, self.slots)
        rows = self.rows(alive)
        used = np.flatnonzero(np.bincount(rows.columns, minlength=1))
        numbers = np.zeros(int(used.max(initial=0)) + 1, dtype=np.int64)
        numbers[used] = vocabulary.add(map(self.vocabulary.term, used.tolist()))
        return _assembled(vocabulary, self.keys[alive], [rows.renumbered(numbers)], slots)


def count_terms(
    texts: Sequence[str], previous: FieldTerms | None = None, vocabulary: Vocabulary | None = None
) -> FieldTerms:
    """Analyse `texts`, all but those that `previous` holds already."""
    if vocabulary is None:
        vocabulary = Vocabulary() if previous is None else previous.vocabulary
    keys = content_keys(ANALYZER.fingerprint, texts)
    origin = np.full(len(texts), -1, dtype=np.int64)

    def read(wanted: Positions) -> TermRows:
        return analysed((texts[n] for n in wanted.tolist()), vocabulary)

    return follow_terms(previous, origin, keys, read, vocabulary)


def follow_terms(
    previous: FieldTerms | None,
    origin: Positions,
    keys: Keys,
    read: Read,
    vocabulary: Vocabulary,
) -> FieldTerms:
    """The field of a generation that shares documents with the one before.

    Args:
        previous: The field of the generation before, with the same vocabulary.
        origin: Document of the generation before that each document is, -1 for a new one.
        keys: Names of the new documents' texts, in order.
        read: Terms of some of the new documents: called once, with those whose text has no slot.
        vocabulary: Where `read` adds terms.
    """
    new = np.flatnonzero(origin < 0)
    distinct, first, inverse = _distinct(keys)
    base = 0 if previous is None else len(previous.keys)
    slot_of = np.full(len(first), -1, dtype=np.int64)
    if previous is not None:
        slot_of = match_keys(previous.keys, distinct)
    unknown = np.flatnonzero(slot_of < 0)
    slot_of[unknown] = base + np.arange(len(unknown))
    slots = np.empty(len(origin), dtype=np.int64)
    slots[new] = slot_of[inverse]
    fresh = read(first[unknown])
    if previous is None:
        return _assembled(vocabulary, distinct[unknown], [fresh], slots)
    kept = np.flatnonzero(origin >= 0)
    slots[kept] = previous.slots[origin[kept]]
    all_keys = np.concatenate([previous.keys, distinct[unknown]]) if len(unknown) else previous.keys
    grown = _grown(previous, fresh, len(vocabulary)) if len(unknown) else previous.postings
    field = FieldTerms(vocabulary, all_keys, grown, slots, previous.frequency)
    gone = np.ones(previous.documents, dtype=np.bool_)
    gone[origin[kept]] = False
    return FieldTerms(
        vocabulary,
        all_keys,
        grown,
        slots,
        _frequency(field, slots[new], previous.slots[gone], len(vocabulary)),
    )


def _distinct(keys: Keys) -> tuple[Keys, Positions, Positions]:
    """Each key once, in the order in which they come; its first position; each one's number."""
    plain = np.ascontiguousarray(keys).view(f"S{KEY_BYTES}").ravel()
    _, first, inverse = np.unique(plain, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    return keys[first[order]], first[order], number[inverse.ravel()]


def _assembled(
    vocabulary: Vocabulary, keys: Keys, parts: Sequence[TermRows], slots: Positions
) -> FieldTerms:
    width = len(vocabulary)
    rows = TermRows.joined(parts)
    times = np.bincount(slots, minlength=len(keys))
    weights = np.repeat(times, np.diff(rows.starts))
    frequency = np.bincount(rows.columns, weights=weights, minlength=width).astype(np.int64)
    return FieldTerms(vocabulary, keys, (Postings(rows, width, 0),), slots, frequency)


def _grown(previous: FieldTerms, fresh: TermRows, width: int) -> tuple[Postings, ...]:
    first, *recent = previous.postings
    added = TermRows.joined([*(part.rows for part in recent), fresh])
    if len(added) <= max(RECENT_SLOTS, RECENT_SHARE * len(first.rows)):
        return first, Postings(added, width, len(first.rows))
    return (Postings(TermRows.joined([first.rows, added]), width, 0),)


def _frequency(field: FieldTerms, came: Positions, went: Positions, width: int) -> Positions:
    before = np.zeros(width, dtype=np.int64)
    before[: len(field.frequency)] = field.frequency
    before += np.bincount(field.rows(came).columns, minlength=width)
    before -= np.bincount(field.rows(went).columns, minlength=width)
    return before


def _belongs(part: Postings, slots: Positions) -> npt.NDArray[np.bool_]:
    return (slots >= part.first) & (slots < part.first + len(part.rows))


def _inside(part: Postings, slots: Positions) -> Positions:
    return slots[_belongs(part, slots)] - part.first
