"""Terms of texts in files, by content: what was analysed once is not analysed again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from skillcue_adapters.analyzer import ANALYZER
from skillcue_adapters.index.folder import Segment, SegmentFolder
from skillcue_adapters.index.keys import KEY_BYTES, Keys, Positions, match_keys
from skillcue_adapters.index.segment import SegmentError
from skillcue_adapters.terms import TermRows, Vocabulary, analysed

__all__ = ["BATCH_TEXTS", "KEPT_TEXTS", "TermFiles"]

BATCH_TEXTS = 4096
"""Texts that are analysed before they are written: what a process that is killed loses."""

KEPT_TEXTS = 400_000
"""Texts a file at most; of more, those that were written first go."""

_KIND = "terms"


class TermFiles:
    """Analysed texts below the user's cache folder. Safe to share between threads and processes.

    Args:
        cache_dir: The user's folder.
    """

    def __init__(self, cache_dir: Path) -> None:
        self._folder = SegmentFolder(cache_dir, _KIND, ANALYZER.fingerprint, _check)

    def read(self, keys: Keys, text: Callable[[int], str], vocabulary: Vocabulary) -> TermRows:
        """Terms of some texts; those that no file holds are analysed and written.

        Args:
            keys: Names of the texts, all different.
            text: Gives the text at a position of `keys`.
            vocabulary: Where new terms are added.
        """
        parts: list[TermRows] = []
        places: list[Positions] = []
        missing = np.arange(len(keys))
        for segment in self._folder.segments():
            found = match_keys(segment.arrays["keys"], keys[missing])
            if (found >= 0).any():
                places.append(missing[found >= 0])
                parts.append(_rows(segment, found[found >= 0], vocabulary))
                missing = missing[found < 0]
        for start in range(0, len(missing), BATCH_TEXTS):
            batch = missing[start : start + BATCH_TEXTS]
            parts.append(self._analyse(keys[batch], [text(n) for n in batch.tolist()], vocabulary))
            places.append(batch)
        if len(missing):
            self._folder.compact(_merge)
        if not parts:
            return TermRows.joined([])
        return TermRows.joined(parts).take(np.argsort(np.concatenate(places)))

    def _analyse(self, keys: Keys, texts: Sequence[str], vocabulary: Vocabulary) -> TermRows:
        own = Vocabulary()
        rows = analysed(texts, own)
        self._folder.add(_arrays(keys, rows, own))
        return rows.renumbered(np.array(vocabulary.add(own.terms()), dtype=np.int64))


def _arrays(keys: Keys, rows: TermRows, vocabulary: Vocabulary) -> dict[str, npt.NDArray[Any]]:
    # A term holds letters and digits only, so that lines separate them.
    terms = "\n".join(vocabulary.terms()).encode("utf-8", "surrogatepass")
    return {
        "keys": keys,
        "starts": rows.starts,
        "columns": rows.columns,
        "counts": rows.counts,
        "terms": np.frombuffer(terms, dtype=np.uint8),
    }


def _terms(arrays: Mapping[str, npt.NDArray[Any]]) -> list[str]:
    text = arrays["terms"].tobytes().decode("utf-8", "surrogatepass")
    return text.split("\n") if text else []


def _all_rows(arrays: Mapping[str, npt.NDArray[Any]]) -> TermRows:
    return TermRows(arrays["starts"], arrays["columns"], arrays["counts"])


def _rows(segment: Segment, rows: Positions, vocabulary: Vocabulary) -> TermRows:
    taken = _all_rows(segment.arrays).take(rows)
    terms = _terms(segment.arrays)
    numbers = np.zeros(len(terms), dtype=np.int64)
    used = np.flatnonzero(np.bincount(taken.columns, minlength=len(terms)))
    numbers[used] = vocabulary.add([terms[column] for column in used.tolist()])
    return taken.renumbered(numbers)


def _check(arrays: Mapping[str, npt.NDArray[Any]]) -> int:
    """Number of texts, after making sure that no row points outside of the file."""
    keys, rows, terms = arrays["keys"], _all_rows(arrays), _terms(arrays)
    arrays_of_rows = (keys, rows.starts, rows.columns, rows.counts)
    fits = (
        [array.dtype.str for array in arrays_of_rows] == ["|u1", "<i8", "<i4", "<i4"]
        and keys.shape == (len(rows), KEY_BYTES)
        and rows.columns.shape == rows.counts.shape == (int(rows.starts[-1]),)
        and rows.starts[0] == 0
        and bool((np.diff(rows.starts) >= 0).all())
        and int(rows.columns.min(initial=0)) >= 0
        and int(rows.columns.max(initial=-1)) < len(terms)
        and int(rows.counts.min(initial=1)) >= 1
    )
    if not fits:
        raise SegmentError("its arrays do not fit together")
    return len(keys)


def _merge(segments: Sequence[Segment]) -> dict[str, npt.NDArray[Any]]:
    """Each text once, the newest first."""
    vocabulary = Vocabulary()
    newest = list(reversed(segments))  # the small ones are the newer ones
    keys = np.concatenate([segment.arrays["keys"] for segment in newest])
    rows = TermRows.joined(
        [_rows(segment, np.arange(segment.items), vocabulary) for segment in newest]
    )
    plain = np.ascontiguousarray(keys).view(f"S{KEY_BYTES}").ravel()
    chosen = np.sort(np.unique(plain, return_index=True)[1])[:KEPT_TEXTS]
    return _arrays(keys[chosen], rows.take(chosen), vocabulary)
