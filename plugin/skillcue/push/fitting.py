"""Fits the gate to libraries: when first needed, kept, stored beside the index, refused when stale.

A fit takes a fraction of a second for a library of some hundred skills and some seconds for tens of
thousands. It runs in a thread; whoever asks first waits `FIT_WAIT_S` for it, and goes on with the
shipped calibration, or with that of a library that differs little, while it is not there.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from skillcue.push.calibration import Calibration, fit_calibration
from skillcue.push.features import SIGNAL_SETS
from skillcue.push.query import CONTEXT_TOKENS, DEPTH, QUERY_TOKENS, turn_query
from skillcue.push.stored import load_calibration, store_calibration
from skillcue.push.turn_type import TurnRegression, TurnTypes, VectorTurnType, bundled_turns
from skillcue.push.weights import GATE_VERSION, gate_weights
from skillcue_adapters.locks import ForkSafeLock
from skillcue_adapters.threads import is_ending, start_background
from skillcue_hooks import Hit, Library, Query, Ranking, Skill
from skillcue_hooks.fingerprint import fingerprint

__all__ = ["FIT_WAIT_S", "Fitted", "GateFits", "Searcher"]

log = logging.getLogger("skillcue.push")

FIT_WAIT_S = 5.0
"""How long a turn waits for a fit, seconds."""

RETRY_S = 30.0
"""After a failure, such as an encoder that is out of reach, it is tried again so much later, seconds."""

READY_S = 1.0
"""While the index is not complete, it is tried again so much later, seconds."""

FITS_KEPT = 4
"""Fits in memory: modes and generations."""

KNOWN = 64
"""Calibrations that all `SkillCue` of a process share."""

DRIFT = 0.05
"""A library of which no larger share is new or gone since lends its calibration for the meantime."""


SAMPLED = 1024
"""Of a library in an index so many skills stand for all: a fit takes 60 of them, spread evenly."""

COMPARED = 256
"""So many tell how much of a library in an index is another one."""


class Searcher(Protocol):
    """A retriever, and where it has one, its encoder."""

    @property
    def fingerprint(self) -> str: ...

    def search(self, query: Query) -> Ranking:
        """Rank the library."""
        ...


@dataclass(frozen=True, slots=True)
class Fitted:
    """What the gate knows about one library in one mode.

    Attributes:
        types: Tells what kind of turn a text is.
        calibration: None where there is none; the shipped one holds then.
        pending: It is still being fitted, and what is decided now may be decided otherwise soon.
        encoder: Fingerprint of the encoder, empty where the mode has none; None while it is pending.
    """

    types: TurnTypes
    calibration: Calibration | None
    pending: bool = False
    encoder: str | None = None


class GateFits:
    """Fits of one `SkillCue`, by mode and library generation. Safe to share between threads.

    Args:
        cache_dir: The user's cache folder; fits are kept in its folder ``gate``. None keeps none.
    """

    def __init__(self, cache_dir: Path | None) -> None:
        self._folder = None if cache_dir is None else cache_dir / "gate"
        self._lock = ForkSafeLock()
        self._fits: OrderedDict[tuple[str, str], _Fit] = OrderedDict()

    def unfitted(self, mode: str, library: Library) -> Fitted:
        """What is known of `library` in `mode` without searching it."""
        return Fitted(TurnTypes(), self._lent(mode, library), pending=True)

    def fitted(
        self, mode: str, library: Library, retriever: Searcher, wait: float | None
    ) -> Fitted:
        """The gate for `library` in `mode`.

        Args:
            mode: Name of the mode.
            library: What is searched.
            retriever: Searches it.
            wait: Seconds to wait for a fit that is not done; None waits as long as it takes.
        """
        key = (mode, library.generation)
        with self._lock:
            fit = self._fits.get(key)
            if fit is None or fit.is_over:
                fit = self._fits[key] = self._followed(mode, library) or _Fit(
                    library, retriever, self._folder
                )
            self._fits.move_to_end(key)
            while len(self._fits) > FITS_KEPT:
                self._fits.popitem(last=False)
        return fit.wait(wait) or self.unfitted(mode, library)

    def close(self) -> None:
        """Stop what is being fitted."""
        with self._lock:
            for fit in self._fits.values():
                fit.stop()

    def _followed(self, mode: str, library: Library) -> _Fit | None:
        """For a library in an index, the fit of a revision that differs little: others edit it all
        the time, and a fit makes hundreds of searches.
        """
        if library.index is None:
            return None
        hashes = _content(library)
        for (name, _), fit in reversed(self._fits.items()):
            same = name == mode and fit.tenants == library.tenants and not fit.is_over
            if same and _differ_little(fit.hashes, hashes):
                return fit
        return None

    def _lent(self, mode: str, library: Library) -> Calibration | None:
        """The newest calibration of nearly the same library."""
        with self._lock:
            others = [fit for (name, _), fit in self._fits.items() if name == mode and fit.result]
        hashes = _content(library)
        for fit in reversed(others):
            if fit.result is not None and _differ_little(fit.hashes, hashes):
                return fit.result.calibration
        return None


class _Fit:
    """One fit, in a thread of its own."""

    def __init__(self, library: Library, retriever: Searcher, folder: Path | None) -> None:
        self.result: Fitted | None = None
        self.hashes = _content(library)
        self.tenants = library.tenants
        self._library = library
        self._retriever = retriever
        self._folder = folder
        self._done = threading.Event()
        self._pid = os.getpid()
        self._retry_at = math.inf
        self._stopped = False
        start_background("skillcue-gate", self._guarded)

    @property
    def is_over(self) -> bool:
        """It will give nothing: its thread did not survive a fork, or failed some time ago."""
        if self.result is not None:
            return False
        if self._done.is_set():
            return time.monotonic() >= self._retry_at
        return self._pid != os.getpid()

    def stop(self) -> None:
        """Give up soon, without a result."""
        self._stopped = True

    def wait(self, seconds: float | None) -> Fitted | None:
        self._done.wait(seconds)
        return self.result

    def _guarded(self) -> None:
        delay = RETRY_S
        try:
            self.result = self._work()
        except _IncompleteError:
            delay = READY_S
        except Exception:  # an encoder or a retriever may raise anything; push goes on uncalibrated
            if not is_ending():
                log.exception("the gate could not be fitted; the shipped calibration is used")
        finally:
            self._retry_at = time.monotonic() + delay
            self._done.set()

    def _work(self) -> Fitted:
        if not self._library.skills:
            return Fitted(TurnTypes(), None)
        key = fingerprint(
            "gate",
            GATE_VERSION,
            *(asdict(gate_weights(signals)) for signals in SIGNAL_SETS),
            self._library.generation,
            self._retriever.fingerprint,
            *(bundled_turns(name) for name in ("needs_nothing", "requests")),
        )
        stored = None if self._folder is None else load_calibration(self._folder, key)
        with _lock:  # another `SkillCue` of this process may have fitted the same
            known = key in _known
            calibration = _known.get(key)
        if stored is None and not known:
            self._search("hello", ())  # is the index ready? Before anything is encoded
        types = TurnTypes(self._vector_type())
        if stored is not None:
            return Fitted(types, stored, encoder=_encoder(self._retriever))
        if not known:
            calibration = fit_calibration(_skills(self._library), self._search, types)
            with _lock:
                _known[key] = calibration
                while len(_known) > KNOWN:
                    _known.popitem(last=False)
        if calibration is not None and self._folder is not None:
            store_calibration(self._folder, key, calibration)
        return Fitted(types, calibration, encoder=_encoder(self._retriever))

    def _search(self, text: str, earlier: Sequence[str]) -> Sequence[Hit]:
        self._go_on()
        query = turn_query(text, earlier, QUERY_TOKENS, CONTEXT_TOKENS)
        ranking = self._retriever.search(Query(query.text, context=query.context, k=DEPTH))
        if ranking.degraded is not None:
            raise _IncompleteError(ranking.degraded)
        return ranking.hits

    def _vector_type(self) -> VectorTurnType | None:
        """Compares vectors of the retriever's encoder, which encodes the bundled turns once."""
        retriever: Any = self._retriever
        encode: Callable[[str], Any] | None = getattr(retriever, "query_vector", None)
        if encode is None:
            return None
        name = retriever.encoder.fingerprint
        with _lock:
            known = _regressions.get(name)
            if known is None:
                known = _regressions[name] = TurnRegression(
                    self._encoded("requests", encode), self._encoded("needs_nothing", encode)
                )
        return VectorTurnType(encode, known)

    def _encoded(self, turns: str, encode: Callable[[str], Any]) -> Any:
        import numpy as np  # only where there is an encoder

        rows = []
        for text in bundled_turns(turns):
            self._go_on()
            rows.append(encode(text))
        return np.array(rows)

    def _go_on(self) -> None:
        if self._stopped or is_ending():
            raise _IncompleteError("stopped")


class _IncompleteError(RuntimeError):
    """It is stopped, or the index is not ready: what it says now is not what it will say."""


_regressions: dict[str, TurnRegression] = {}  # by the encoder's fingerprint
_known: OrderedDict[str, Calibration | None] = OrderedDict()
_lock = ForkSafeLock()


def _content(library: Library) -> set[str]:
    """What tells one library from another: hashes of its skills, of an index those of a sample."""
    skills = library.skills if library.index is None else _sample(library, COMPARED)
    return {skill.content_hash or skill.id for skill in skills}


def _differ_little(before: set[str], now: set[str]) -> bool:
    return len(before ^ now) <= DRIFT * len(now)


def _skills(library: Library) -> Sequence[Skill]:
    """The skills, or a sample of those in an index, by id."""
    return library.skills if library.index is None else _sample(library, SAMPLED)


def _sample(library: Library, count: int) -> Sequence[Skill]:
    sampled = library.index.sample(count, library.tenants)
    return sorted((item.skill for item in sampled), key=lambda skill: skill.id)


def _encoder(retriever: Any) -> str:
    return str(getattr(getattr(retriever, "encoder", None), "fingerprint", ""))
