"""The helpfulness gap: are runs better when the right skill was found?"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillcue.evaluation.compare import CONFIDENCE, FEWEST_QUERIES, Interval, resampled
from skillcue.evaluation.files import Record, read_records

__all__ = ["Gap", "Outcome", "helpfulness_gap", "read_outcomes"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one run of an agent went.

    Attributes:
        query: Id of the query it was about.
        reward: Any scale, higher is better.
        mode: Mode the agent ran with; None when the run counts for all modes.
    """

    query: str
    reward: float
    mode: str | None


@dataclass(frozen=True, slots=True)
class Gap:
    """Mean reward of runs whose query found a gold skill, minus that of the others.

    Attributes:
        interval: Of the gap, resampled by query; None where one of the groups is empty.
        found: Runs whose query found one.
        missed: The others.
        mean_found: Mean reward of the former; None when there are none.
        mean_missed: Mean reward of the latter; None when there are none.
        words: What that says.
    """

    interval: Interval | None
    found: int
    missed: int
    mean_found: float | None
    mean_missed: float | None
    words: str


def read_outcomes(path: Path, queries: Collection[str], modes: Collection[str]) -> list[Outcome]:
    """Lines such as ``{"query": "q1", "reward": 0.5, "mode": "bm25"}``, mode being optional.

    A query may have several runs. Runs of modes that are not evaluated are left out.

    Raises:
        ConfigurationError: A line is malformed, or names a query that is not evaluated.
    """
    found = []
    for record in read_records(path):
        query, mode = record.name("query"), record.values.get("mode")
        if query not in queries:
            raise record.error(f"there is no judged query {query!r}.", "Leave the line out.")
        if mode is not None and not isinstance(mode, str):
            raise record.error(f"'mode' is a {type(mode).__name__}.", "It must be a text.")
        outcome = Outcome(query, _reward(record), mode)
        if mode is None or mode in modes:
            found.append(outcome)
    return found


def _reward(record: Record) -> float:
    value = record.values.get("reward")
    if isinstance(value, bool):
        return float(value)
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise record.error(f"'reward' is {value!r}.", "It must be a number, or true or false.")
    return float(value)


def helpfulness_gap(outcomes: Sequence[Outcome], hit: Mapping[str, float], mode: str) -> Gap:
    """The gap of one mode.

    Args:
        outcomes: Runs; those of other modes are left out.
        hit: Query to 1 when a gold skill was among the first k, else 0.
        mode: The mode.
    """
    runs = [run for run in outcomes if run.mode in (None, mode)]
    found = [run.reward for run in runs if hit[run.query]]
    missed = [run.reward for run in runs if not hit[run.query]]
    if not found or not missed:
        empty = "missed" if found else "found"
        words = f"no gap: there is no run whose skill was {empty}" if runs else "no runs"
        return Gap(None, len(found), len(missed), _mean(found), _mean(missed), words)
    interval = _interval(runs, hit)
    words = _words(interval, len({run.query for run in runs}))
    return Gap(interval, len(found), len(missed), _mean(found), _mean(missed), words)


def _interval(runs: Sequence[Outcome], hit: Mapping[str, float]) -> Interval:
    """Queries are drawn, not runs: runs of one query go well or badly together."""
    import numpy as np

    rows: dict[str, list[float]] = {}
    for run in runs:
        row = rows.setdefault(run.query, [0.0] * 4)
        column = 0 if hit[run.query] else 2
        row[column] += run.reward
        row[column + 1] += 1
    table = np.array([rows[query] for query in sorted(rows)])
    sums = resampled(table)
    both = sums[(sums[:, 1] > 0) & (sums[:, 3] > 0)]  # a sample without one group has no gap
    gaps = both[:, 0] / both[:, 1] - both[:, 2] / both[:, 3]
    total = table.sum(axis=0)
    low, high = np.quantile(gaps, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(float(total[0] / total[1] - total[2] / total[3]), float(low), float(high))


def _words(interval: Interval, queries: int) -> str:
    if queries < FEWEST_QUERIES:
        return f"too few queries to say: {queries} of at least {FEWEST_QUERIES}"
    if interval.low > 0.0:
        return "runs go better where the skill was found"
    if interval.high < 0.0:
        return "negative: runs go worse where the skill was found; the skills may do harm"
    return "near zero: nothing shows that the skills help when they are found"


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
