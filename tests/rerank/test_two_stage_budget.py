"""Mode ``two_stage`` when time is short or the cross-encoder breaks; threads and forks."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.pair_scorers import FixedStage, SlowScorer, TableScorer, numbered

from skillcue_adapters.caching import CachedRetriever, MemoryStore
from skillcue_adapters.rerankers.onnx_pairs import build as open_onnx
from skillcue_adapters.two_stage import TwoStageRetriever, TwoStageSettings
from skillcue_hooks.contracts import Hit, Query

LIBRARY = numbered(25)
DOWN = {skill.name: 25.0 - n for n, skill in enumerate(LIBRARY.skills)}
TURN = {skill.name: float(n) for n, skill in enumerate(LIBRARY.skills)}
EVERY = Query("do", k=25)


def retriever(scorer: Any, **settings: Any) -> TwoStageRetriever:
    given = TwoStageSettings(**{"weight": 1.0, **settings})
    return TwoStageRetriever(LIBRARY, FixedStage(LIBRARY, DOWN), scorer, given)


def numbers(hits: Sequence[Hit]) -> list[int]:
    return [int(hit.skill.name[1:]) for hit in hits]


def test_when_the_budget_is_spent_the_rest_keeps_its_order() -> None:
    ranking = retriever(SlowScorer(TURN, 2, 1.1), budget_ms=1000).search(EVERY)
    assert ranking.degraded == "reranked 8 of 20 in 1000 ms"
    assert numbers(ranking.hits) == [*reversed(range(8)), *range(8, 25)]
    assert [hit.signals.get("cross_encoder") for hit in ranking.hits[8:]] == [None] * 17
    keys = [(-hit.score, hit.skill.id) for hit in ranking.hits]
    assert keys == sorted(keys)


def test_one_batch_is_scored_however_small_the_budget() -> None:
    scorer = SlowScorer(TURN, 1, 0.1)
    ranking = retriever(scorer, budget_ms=1, batch_pairs=3).search(EVERY)
    assert ranking.degraded == "reranked 3 of 20 in 1 ms"
    assert numbers(ranking.hits[:5]) == [2, 1, 0, 3, 4]
    assert [len(texts) for _, texts in scorer.asked] == [3]


def test_with_time_enough_all_are_scored_in_batches() -> None:
    scorer = TableScorer(TURN)
    ranking = retriever(scorer, batch_pairs=8, budget_ms=600_000).search(EVERY)
    assert ranking.degraded is None
    assert [len(texts) for _, texts in scorer.asked] == [8, 8, 4]


def test_an_incomplete_ranking_is_not_cached() -> None:
    scorer = SlowScorer(TURN, 1, 0.6)
    mode = retriever(scorer, budget_ms=500)
    cached = CachedRetriever(mode, MemoryStore(), "two_stage", LIBRARY)
    assert cached.search(EVERY).degraded == "reranked 4 of 20 in 500 ms"
    complete = cached.search(EVERY)  # only the first call was slow
    assert (complete.degraded, complete.cached) == (None, False)
    again = cached.search(EVERY)
    assert again.cached
    assert again.hits == complete.hits


def test_a_scorer_of_whole_lists_is_asked_once_and_its_delay_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scorer = SlowScorer(TURN, 1, 0.1)
    scorer.all_at_once = True  # type: ignore[attr-defined]
    mode = retriever(scorer, budget_ms=1)
    with caplog.at_level(logging.WARNING, "skillcue"):
        ranking = mode.search(EVERY)
        mode.search(EVERY)
    assert [len(texts) for _, texts in scorer.asked] == [20, 20]
    assert ranking.degraded is None
    assert caplog.messages == ["mode two_stage: the cross-encoder took more than 1 ms"]


class Broken(TableScorer):
    def __init__(self, answer: Any) -> None:
        super().__init__()
        self._answer = answer

    def score(self, query: str, texts: Sequence[str]) -> Any:
        self.asked.append((query, list(texts)))
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer[: len(texts)]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (OSError("key sk-123 refused"), "OSError"),
        ([1.0], "ConfigurationError"),
        ([1.0, 2.0, float("nan"), 3.0], "ConfigurationError"),
        (["a"] * 4, "ValueError"),
        ([None] * 4, "TypeError"),
    ],
)
def test_a_broken_scorer_leaves_the_order_and_is_logged_once(
    answer: Any, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    mode = retriever(Broken(answer))
    with caplog.at_level(logging.WARNING, "skillcue"):
        for _ in range(3):
            ranking = mode.search(EVERY)
    assert ranking.degraded == f"not reranked: the cross-encoder raised {kind}"
    assert numbers(ranking.hits) == list(range(25))
    assert [hit.score for hit in ranking.hits] == list(DOWN.values())
    assert ranking.hits[0].signals == {"z": 25.0, "first": 25.0}
    assert len(caplog.records) == 1
    assert caplog.records[0].exc_info is not None


class Warmed(TableScorer):
    def __init__(self) -> None:
        super().__init__()
        self.warm = 0
        self.cold_score = False

    def warm_up(self) -> None:
        self.warm += 1

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.cold_score |= self.warm == 0
        return super().score(query, texts)


def test_it_is_warmed_up_while_it_is_built() -> None:
    scorer = Warmed()
    mode = retriever(scorer)
    assert scorer.warm == 1
    mode.search(EVERY)
    assert not scorer.cold_score
    assert scorer.warm == 2  # once more before the clock starts: a forked child has no model


def test_threads_get_the_same_answers(overlap_folder: Path) -> None:
    queries = [Query(f"skill number {n} body", k=25) for n in range(12)]
    expected = [
        retriever(open_onnx(str(overlap_folder)), budget_ms=600_000).search(query).hits
        for query in queries
    ]
    mode = retriever(open_onnx(str(overlap_folder)), budget_ms=600_000)
    with ThreadPoolExecutor(6) as pool:
        assert [r.hits for r in pool.map(mode.search, queries)] == expected


RANK = """
import json, os, signal, sys
sys.path.insert(0, sys.argv[2])
from support.pair_scorers import FixedStage, numbered
from skillcue_adapters.rerankers import open_pair_scorer
from skillcue_adapters.two_stage import TwoStageRetriever, TwoStageSettings
from skillcue_hooks.contracts import Query
library = numbered(25)
first = FixedStage(library, {s.name: 25.0 - n for n, s in enumerate(library.skills)})
settings = TwoStageSettings(budget_ms=600_000)
mode = TwoStageRetriever(library, first, open_pair_scorer(sys.argv[1]), settings)
def show():
    found = mode.search(Query("skill number 7", k=25))
    print(json.dumps([found.degraded, found.fingerprint,
        [[h.skill.id, h.score.hex(), sorted(h.signals.items())] for h in found.hits]]), flush=True)
show()
if os.fork() == 0:
    signal.alarm(60)
    show()
    os._exit(0)
os.wait()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_processes_forks_and_hash_seeds_give_the_same_bytes(overlap_folder: Path) -> None:
    tests = Path(__file__).parents[1]
    printed = [
        subprocess.run(
            [sys.executable, "-c", RANK, f"onnx:{overlap_folder}", str(tests)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout.splitlines()
        for seed in ("1", "2")
    ]
    assert [len(lines) for lines in printed] == [2, 2]
    assert len({line for lines in printed for line in lines}) == 1
    degraded, _, hits = json.loads(printed[0][0])
    assert degraded is None
    assert len(hits) == 25
