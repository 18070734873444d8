"""R@k, hit@k, nDCG@10 and MRR of a run, computed by ir_measures (with trec_eval behind it).

ir_measures is the interface of the TREC community to several engines; its engine pytrec_eval is
trec_eval itself, has wheels for all systems and brings numpy alone. ranx would be the other
choice; it compiles with numba on first use and brings pandas, seaborn and more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skillcue.extras import require
from skillcue_hooks.errors import PluginError

__all__ = ["Scores", "measure_names", "score_run"]

Scores = Mapping[str, Mapping[str, float]]
"""Measure to query to value, all from 0 to 1, higher is better."""

EXTRA = "eval"


def measure_names(k: int) -> tuple[str, ...]:
    """The measures of a table, in its order.

    Args:
        k: Hits that count, 1 or more.
    """
    return tuple(dict.fromkeys((f"R@{k}", "hit@1", f"hit@{k}", "nDCG@10", "MRR")))


def score_run(
    gold: Mapping[str, Mapping[str, int]], run: Mapping[str, Sequence[str]], k: int, depth: int
) -> Scores:
    """Every measure of every judged query.

    R@k is the share of the relevant skills among the first k; hit@k is 1 when one of them is;
    nDCG uses the grades as gains; MRR is 1 divided by the rank of the first relevant skill.

    Args:
        gold: Query to skill to grade, 1 or more.
        run: Query to skills, best first. A query that is missing counts as 0.
        k: Hits that count.
        depth: R@1 to R@depth are computed.

    Raises:
        MissingExtraError: ir_measures is not installed.
        PluginError: A ranking holds a skill twice.
    """
    require("ir_measures", "ir_measures", EXTRA)
    import ir_measures

    wanted: dict[Any, str] = {ir_measures.R @ n: f"R@{n}" for n in range(1, depth + 1)}
    wanted |= {ir_measures.Success @ n: f"hit@{n}" for n in (1, k)}
    wanted |= {ir_measures.nDCG @ 10: "nDCG@10", ir_measures.RR: "MRR"}
    names = _Names()  # the engine is C: blanks, zero bytes or half characters would end a name
    judged = [
        ir_measures.Qrel(names.of(query), names.of(skill), grade)
        for query, skills in gold.items()
        for skill, grade in skills.items()
    ]
    answers = [
        ir_measures.ScoredDoc(names.of(query), names.of(skill), score)
        for query in gold
        for skill, score in _scored(query, run.get(query, ()))
    ]
    found: dict[str, dict[str, float]] = {
        name: dict.fromkeys(gold, 0.0) for name in wanted.values()
    }
    for value in ir_measures.pytrec_eval.iter_calc(list(wanted), judged, answers):
        found[wanted[value.measure]][names.original(value.query_id)] = float(value.value)
    return found


class _Names:
    """Plain names for any names, and back."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._originals: list[str] = []

    def of(self, name: str) -> str:
        number = self._numbers.setdefault(name, len(self._originals))
        if number == len(self._originals):
            self._originals.append(name)
        return f"n{number}"

    def original(self, plain: str) -> str:
        return self._originals[int(plain[1:])]


def _scored(query: str, ranked: Sequence[str]) -> list[tuple[str, float]]:
    """Scores that say the order and nothing else: trec_eval sorts by score, ties by name."""
    if len(set(ranked)) != len(ranked):
        raise PluginError(
            f"The ranking for {query!r} holds a skill twice.", "A mode must rank each skill once."
        )
    return [(skill, float(-position)) for position, skill in enumerate(ranked)]
