"""The one key a thread persists: what its turns were offered, what it declined; a kilobyte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillcue.push.memo import bounded_records

__all__ = ["RECORDS_KEY", "newer_records"]

RECORDS_KEY = "skillcue_turns"
"""State key of the records."""


def newer_records(
    old: Mapping[str, Sequence[str]] | None, new: Mapping[str, Sequence[str]] | None
) -> dict[str, list[str]]:
    """Reducer: a newer set of records is complete and takes the place of the older one.

    Of two that parallel branches write in one step, either is right: both are about the same turns.
    """
    chosen = new or old or {}
    return bounded_records(
        {key: record for key, record in chosen.items() if isinstance(record, list | tuple)}
    )
