"""The one key a thread persists: ``{message id: [mode, skill id, ...]}``, under a kilobyte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillcue.push.memo import bounded_records

__all__ = ["RECORDS_KEY", "merge_records"]

RECORDS_KEY = "skillcue_turns"
"""State key of the records."""


def merge_records(
    old: Mapping[str, Sequence[str]] | None, new: Mapping[str, Sequence[str]] | None
) -> dict[str, list[str]]:
    """Reducer: the newer record of each turn, bounded; parallel branches may both write."""
    merged = {key: list(record) for key, record in (old or {}).items()}
    for key, record in (new or {}).items():
        merged.pop(key, None)
        merged[key] = list(record)
    return bounded_records(merged)
