"""What is known about all skills of an index: counts, terms, and a sample. Of one generation."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from skillcue_adapters.indexed.sample import Sample
from skillcue_adapters.locks import ForkSafeLock
from skillcue_adapters.term_index import generic_threshold
from skillcue_hooks.contracts import Library
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.protocols import Encoder
from skillcue_hooks.skill_index import IndexStatistics, SkillIndex, TermFrequency

__all__ = ["SAMPLE", "IndexFacts", "facts_of", "generic_below"]

SAMPLE = 2048
"""Skills from which means and deviations over a whole library are estimated; a library that is no
larger is known exactly."""

MOST_SAMPLED = 8 * SAMPLE
"""So many are asked for at most where most of a sample are copies of a few skills."""

REMEMBERED_TERMS = 65_536
"""Terms whose frequency is remembered, the last used ones: a query of known terms asks once."""

_NOWHERE = TermFrequency(0, 0, 0)

_shared: weakref.WeakKeyDictionary[Any, weakref.WeakValueDictionary[Any, IndexFacts]]
_shared = weakref.WeakKeyDictionary()
_shared_lock = ForkSafeLock()


class IndexFacts:
    """Facts about the skills of some tenants. Safe to share between threads.

    Each is asked for when it is first needed, and once: they are those of the generation, although
    the index may go on.

    Args:
        index: The index.
        tenants: Whose skills.
    """

    def __init__(self, index: SkillIndex, tenants: tuple[str, ...]) -> None:
        self.index = index
        self.tenants = tenants
        self._lock = ForkSafeLock()
        self._statistics: IndexStatistics | None = None
        self._sample: Sample | None = None
        self._thresholds: tuple[float, float] | None = None
        self._terms: OrderedDict[str, TermFrequency] = OrderedDict()
        self._encoder = ""

    @property
    def statistics(self) -> IndexStatistics:
        """Counts over all skills."""
        with self._lock:
            if self._statistics is None:
                self._statistics = self.index.statistics(self.tenants)
            return self._statistics

    @property
    def body_share(self) -> float:
        """Share of the skills that have a body, 0 to 1."""
        found = self.statistics
        return found.bodies / found.skills if found.skills else 0.0

    @property
    def thresholds(self) -> tuple[float, float]:
        """See `skillcue_adapters.term_index.generic_threshold`: of the heads, and of the bodies."""
        found = self.statistics
        if self._thresholds is None:
            self._thresholds = (
                generic_below(found.head_frequencies, found.skills),
                generic_below(found.body_frequencies, found.skills),
            )
        return self._thresholds

    @property
    def sample(self) -> Sample:
        """A sample of the skills, in which enough have different texts."""
        with self._lock:
            if self._sample is None:
                self._sample = self._drawn()
            return self._sample

    def frequencies(self, terms: Iterable[str]) -> dict[str, TermFrequency]:
        """In how many skills each of `terms` occurs, zeros where in none; the order is kept."""
        wanted = list(terms)
        with self._lock:
            found = {term: self._terms[term] for term in wanted if term in self._terms}
        missing = [term for term in wanted if term not in found]
        if missing:
            fresh = self.index.frequencies(missing, self.tenants)
            found |= {term: fresh.get(term, _NOWHERE) for term in missing}
        with self._lock:
            for term in wanted:
                self._terms[term] = found[term]
                self._terms.move_to_end(term)
            while len(self._terms) > REMEMBERED_TERMS:
                self._terms.popitem(last=False)
        return {term: found[term] for term in wanted}

    def check_encoder(self, encoder: Encoder) -> None:
        """Make sure that vectors of `encoder` can be compared with those of the index.

        Raises:
            ConfigurationError: The index was filled with another encoder.
        """
        held = self._encoder or self.index.encoder
        self._encoder = held  # another one takes an empty index, which is another generation
        if held and held != encoder.fingerprint:
            raise ConfigurationError(
                "The index holds vectors of another encoder than the one that encodes queries.",
                "Choose the encoder that it was published with: SkillCue(..., encoder=...), or "
                "publish the skills again into an empty index.",
            )

    def _drawn(self) -> Sample:
        count = SAMPLE
        while True:
            items = self.index.sample(count, self.tenants)
            sample = Sample(items)
            # The background is measured on the first thousand texts: copies count once.
            whole = len(items) < count or len(sample.distinct) >= SAMPLE // 2
            if whole or count >= MOST_SAMPLED:
                return sample
            count *= 2


def generic_below(frequencies: Mapping[int, int], documents: int) -> float:
    """The idf below which a term is generic.

    Args:
        frequencies: Number of terms by the number of documents they occur in.
        documents: Number of documents.
    """
    counted: Sequence[tuple[int, int]] = sorted(frequencies.items())
    each: npt.NDArray[np.int64] = np.repeat(
        np.array([frequency for frequency, _ in counted], dtype=np.int64),
        np.array([terms for _, terms in counted], dtype=np.int64),
    )
    return generic_threshold(each, documents)


def facts_of(library: Library) -> IndexFacts:
    """The facts that all modes over one generation of an index share."""
    key = (library.generation, library.tenants)
    with _shared_lock:
        try:
            known = _shared.setdefault(library.index, weakref.WeakValueDictionary())
        except TypeError:  # neither hashable nor weakly referable: nothing to share by
            return IndexFacts(library.index, library.tenants)
        facts = known.get(key)
        if facts is None:
            facts = known[key] = IndexFacts(library.index, library.tenants)
        return facts
