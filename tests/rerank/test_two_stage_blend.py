"""What mode ``two_stage`` makes of two scores, page by page.

By hand, with weight 0.4: first-stage scores 9, 6, 5, 1 (minmax 1, 0.625, 0.5, 0) and cross-encoder
logits -2, 3, 8, -12 (minmax 0.5, 0.75, 1, 0) give

    a  0.4 * 0.5  + 0.6 * 1     = 0.8
    b  0.4 * 0.75 + 0.6 * 0.625 = 0.675
    c  0.4 * 1    + 0.6 * 0.5   = 0.7
    d  0

and scores of 2 (the lowest first-stage score, 1, plus 1) more. With logits 0, log 3, log 9 and
-1000 the sigmoids are 0.5, 0.75, 0.9 and 0:

    a  0.4 * 0.5  + 0.6 * 1     = 0.8
    b  0.4 * 0.75 + 0.6 * 0.625 = 0.675
    c  0.4 * 0.9  + 0.6 * 0.5   = 0.66
    d  0
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from typing import Any

import numpy as np
import pytest
from support.pair_scorers import FixedStage, TableScorer, numbered

from skillcue_adapters.skillsight import SkillSightRetriever
from skillcue_adapters.two_stage import TwoStageRetriever, TwoStageSettings, blended
from skillcue_hooks.contracts import Hit, Library, Query, Scope
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.testing import make_skill

FOUR = Library("four", tuple(make_skill(name, f"Does {name}.") for name in "abcd"))
FIRST = {"a": 9.0, "b": 6.0, "c": 5.0, "d": 1.0}
LOGITS = {"a": -2.0, "b": 3.0, "c": 8.0, "d": -12.0}
BY_HAND = {"a": 0.8, "c": 0.7, "b": 0.675, "d": 0.0}

TWENTY_FIVE = numbered(25)
DOWN = {skill.name: 25.0 - n for n, skill in enumerate(TWENTY_FIVE.skills)}
TURN = {skill.name: float(n) for n, skill in enumerate(TWENTY_FIVE.skills)}


def retriever(
    library: Library = FOUR,
    first: Mapping[str, float] = FIRST,
    logits: Mapping[str, float] = LOGITS,
    degraded: str | None = None,
    **settings: Any,
) -> TwoStageRetriever:
    given = TwoStageSettings(**{"weight": 0.4, "budget_ms": 600_000, **settings})
    stage = FixedStage(library, first, degraded)
    return TwoStageRetriever(library, stage, TableScorer(logits), given)


def names(hits: tuple[Hit, ...]) -> list[str]:
    return [hit.skill.name for hit in hits]


def test_the_blend_by_hand() -> None:
    ranking = retriever().search(Query("do", k=4))
    assert names(ranking.hits) == list(BY_HAND)
    for hit, (name, blend) in zip(ranking.hits, BY_HAND.items(), strict=True):
        assert hit.score == pytest.approx(2.0 + blend, abs=1e-12)
        assert hit.signals == {
            "z": FIRST[name],
            "first": FIRST[name],
            "cross_encoder": LOGITS[name],
            "blend": pytest.approx(blend, abs=1e-12),
        }
    assert (ranking.mode, ranking.total, ranking.degraded) == ("two_stage", 4, None)


class LogitScorer(TableScorer):
    logits = True


@pytest.mark.parametrize("scale", ["auto", "sigmoid"])
def test_logits_keep_their_own_scale(scale: str) -> None:
    logits = {"a": 0.0, "b": log(3), "c": log(9), "d": -1000.0}
    settings = TwoStageSettings(weight=0.4, scale=scale, budget_ms=600_000)
    scorer = (LogitScorer if scale == "auto" else TableScorer)(logits)
    mode = TwoStageRetriever(FOUR, FixedStage(FOUR, FIRST), scorer, settings)
    found = {hit.skill.name: hit.score for hit in mode.search(Query("do", k=4)).hits}
    assert found == pytest.approx({"a": 2.8, "b": 2.675, "c": 2.66, "d": 2.0}, abs=1e-12)
    assert list(found) == list("abcd")


def test_logits_can_be_min_max_normalised() -> None:
    settings = TwoStageSettings(weight=0.4, scale="minmax", budget_ms=600_000)
    mode = TwoStageRetriever(FOUR, FixedStage(FOUR, FIRST), LogitScorer(LOGITS), settings)
    hits = mode.search(Query("do", k=4)).hits
    assert [hit.signals["blend"] for hit in hits] == pytest.approx(list(BY_HAND.values()))


def test_where_nothing_answers_the_order_stands() -> None:
    hopeless = {"a": -11.3, "b": -11.1, "c": -10.6, "d": -10.9}
    settings = TwoStageSettings(weight=0.9, budget_ms=600_000)
    mode = TwoStageRetriever(FOUR, FixedStage(FOUR, FIRST), LogitScorer(hopeless), settings)
    assert names(mode.search(Query("do", k=4)).hits) == list("abcd")


@pytest.mark.parametrize(("weight", "order"), [(0.0, "abcd"), (1.0, "cbad")])
def test_the_weight_goes_from_one_stage_to_the_other(weight: float, order: str) -> None:
    assert names(retriever(weight=weight).search(Query("do", k=4)).hits) == list(order)


def test_equal_blends_tie_by_id() -> None:
    hits = [Hit(skill, 1.0, 0) for skill in FOUR.skills[::-1]]
    assert names(blended(hits, [5.0] * 4, np.full(4, 0.5), 0.5)) == list("abcd")


def test_beyond_the_depth_the_first_stage_rules() -> None:
    hits = retriever(TWENTY_FIVE, DOWN, TURN, weight=1.0).search(Query("do", k=25)).hits
    assert names(hits) == [f"s{n:02}" for n in [*reversed(range(20)), *range(20, 25)]]
    assert [hit.rank for hit in hits] == list(range(1, 26))
    assert [hit.score for hit in hits[20:]] == [5.0, 4.0, 3.0, 2.0, 1.0]
    assert all(set(hit.signals) == {"z", "first"} for hit in hits[20:])
    assert min(hit.score for hit in hits[:20]) > 5.0


def test_what_ties_at_the_depth_stays_below_it() -> None:
    first = dict.fromkeys(DOWN, 7.0)
    hits = retriever(TWENTY_FIVE, first, TURN, weight=1.0).search(Query("do", k=25)).hits
    assert names(hits) == [f"s{n:02}" for n in [*reversed(range(20)), *range(20, 25)]]
    keys = [(-hit.score, hit.skill.id) for hit in hits]
    assert keys == sorted(keys)


@pytest.mark.parametrize(("offset", "k"), [(0, 25), (3, 4), (18, 5), (20, 3), (24, 9), (30, 2)])
def test_a_page_is_a_piece_of_the_whole_ranking(offset: int, k: int) -> None:
    mode = retriever(TWENTY_FIVE, DOWN, TURN)
    whole = mode.search(Query("do", k=25))
    page = mode.search(Query("do", k=k, offset=offset))
    assert page.hits == whole.hits[offset : offset + k]
    assert page.total == whole.total == 25


def test_a_page_beyond_the_depth_costs_no_pairs() -> None:
    mode = retriever(TWENTY_FIVE, DOWN, TURN)
    mode.search(Query("do", k=5, offset=20))
    assert mode.scorer.asked == []
    mode.search(Query("do", k=5, offset=19))
    assert sum(len(texts) for _, texts in mode.scorer.asked) == 20


def test_filters_and_scope_come_before_the_depth() -> None:
    mode = retriever(TWENTY_FIVE, DOWN, TURN, depth=3, weight=1.0)
    even = mode.search(Query("do", k=4, filters=(("tag", "even"),))).hits
    assert names(even) == ["s04", "s02", "s00", "s06"]
    late = Scope("late", lambda skill: skill.name > "s20")
    assert names(mode.search(Query("do", k=9, scope=late)).hits) == ["s23", "s22", "s21", "s24"]
    with pytest.raises(ConfigurationError, match="cannot be filtered by 'colour'"):
        mode.search(Query("do", filters=(("colour", "red"),)))


def test_a_blank_query_and_no_match_ask_nobody() -> None:
    mode = retriever()
    assert mode.search(Query(" ")).hits == ()
    assert retriever(first={}).search(Query("do")).hits == ()
    assert mode.scorer.asked == []


def test_what_degrades_the_first_stage_degrades_the_whole() -> None:
    ranking = retriever(degraded="encoding, 25% done").search(Query("do", k=4))
    assert ranking.degraded == "encoding, 25% done"
    assert names(ranking.hits) == list(BY_HAND)


def test_the_context_is_for_the_first_stage() -> None:
    mode = retriever()
    mode.search(Query("do", context="the task"))
    assert mode._first.asked[0].context == "the task"
    assert [query for query, _ in mode.scorer.asked] == ["do"]


def test_pairs_hold_name_description_and_the_beginning_of_the_body() -> None:
    skill = make_skill("pdf", "Fills in forms.", "\n# Steps\n\nLong body.")
    library = Library("one", (skill,))
    mode = retriever(library, {"pdf": 1.0}, {}, body_chars=8, query_chars=10)
    mode.search(Query("Fill in the form. And then some."))
    assert mode.scorer.asked == [("Fill in th", ["pdf: Fills in forms.\n# Steps"])]


def test_it_waits_for_the_first_stage(fixed_encoder: Any, static_library: Library) -> None:
    from skillcue_adapters.bm25 import Bm25Retriever, Bm25Settings
    from skillcue_adapters.document_vectors import DocumentVectors
    from skillcue_adapters.skillsight import SkillSightSettings

    first = SkillSightRetriever(
        static_library,
        fixed_encoder,
        SkillSightSettings(inline_texts=0),
        None,
        DocumentVectors(fixed_encoder),
        Bm25Retriever(static_library, Bm25Settings()),
    )
    mode = TwoStageRetriever(static_library, first, TableScorer(), TwoStageSettings())
    waiting = mode.search(Query("skill number"))
    assert waiting.degraded is not None
    assert "encoding, 0%" in waiting.degraded
    fixed_encoder.go.set()
    assert mode.wait_ready(60)
    assert mode.search(Query("skill number")).degraded is None
    assert retriever().wait_ready()


@pytest.fixture
def static_library() -> Library:
    return numbered(8)


@pytest.fixture
def fixed_encoder() -> Any:
    """An encoder that waits for `go` before it encodes documents."""
    import threading

    from skillcue_hooks.testing import FakeEncoder

    class Waiting(FakeEncoder):
        go = threading.Event()

        def encode_documents(self, texts: Any) -> Any:
            assert self.go.wait(60)
            return super().encode_documents(texts)

    return Waiting(dim=64)
