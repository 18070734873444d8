"""Mode bm25: scores, signals, context, limits, determinism, incremental building."""

from __future__ import annotations

import json
import logging
import math
import random
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillcue_adapters.analyzer import ANALYZER
from skillcue_adapters.bm25 import Bm25Retriever, Bm25Settings, build, head_text
from skillcue_adapters.term_index import SmoothedBM25, TermIndex
from skillcue_hooks.contracts import Library, Query, RetrieverContext, Skill
from skillcue_hooks.errors import ConfigurationError, UnknownSettingError
from skillcue_hooks.testing import make_library, make_skill

GARDEN = (
    make_skill("prune-roses", "Prune roses in spring.", "Use clean secateurs. Cut above a bud."),
    make_skill("soil-test", "Test soil acidity.", "Read the pH strip against the chart."),
    make_skill("compost", "Make compost from kitchen scraps.", "Layer green and brown matter."),
    make_skill("frost-guard", "Protect plants from frost.", "Cover them with fleece at dusk."),
    make_skill("water-plan", "Plan watering.", "Roses drink deeply once a week.", tags=("vegan",)),
)
LIBRARY = make_library(GARDEN)


def make(library: Library = LIBRARY, previous: object = None, **settings: Any) -> Bm25Retriever:
    return build(library, RetrieverContext("bm25", settings, previous, lambda mode: None))


def found(retriever: Bm25Retriever, text: str, **query: Any) -> list[str]:
    return [hit.skill.name for hit in retriever.search(Query(text, **query)).hits]


# --- scores -------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["roses", "roses roses roses in spring", "cut the fleece roses"])
def test_the_score_is_the_weighted_sum_of_both_definitions(text: str) -> None:
    """Repeated query terms are worth (k3 + 1) f / (k3 + f), with k3 = 1."""
    skills = LIBRARY.skills
    expected = np.zeros(len(skills))
    for weight, texts in ((1.0, map(head_text, skills)), (1.5, (s.body for s in skills))):
        oracle = SmoothedBM25([ANALYZER.terms(t) for t in texts])
        for term, count in ANALYZER.counts(text).items():
            expected += weight * 2 * count / (1 + count) * oracle.get_scores([term])
    hits = make().search(Query(text, k=5)).hits
    assert hits
    for hit in hits:
        assert hit.score == pytest.approx(expected[skills.index(hit.skill)], abs=1e-5)


def test_the_body_finds_what_the_head_does_not_say() -> None:
    assert found(make(), "secateurs") == ["prune-roses"]
    assert found(make(body_weight=0.0), "secateurs") == []
    assert found(make(head_weight=0.0), "acidity") == []


def test_tags_belong_to_the_head() -> None:
    assert found(make(), "vegan") == ["water-plan"]


def test_only_skills_that_share_a_term_match() -> None:
    ranking = make().search(Query("roses", k=5))
    assert {hit.skill.name for hit in ranking.hits} == {"prune-roses", "water-plan"}
    assert ranking.total == 2
    assert found(make(), "tax return") == []


@pytest.mark.parametrize("size", [1, 2, 3])
def test_small_libraries_find_their_skill(size: int) -> None:
    skills = GARDEN[:size]
    ranking = make(make_library(skills)).search(Query("prune roses"))
    (hit,) = ranking.hits
    assert hit.skill.name == "prune-roses"
    assert hit.score > 0
    assert hit.signals["evidence"] == pytest.approx(2.0)
    assert hit.signals["z"] == pytest.approx(math.sqrt(size - 1))


def test_the_empty_library_is_empty() -> None:
    ranking = make(make_library([])).search(Query("roses", context="x", k=3))
    assert (ranking.hits, ranking.total, ranking.mode) == ((), 0, "bm25")


def test_a_library_of_empty_texts_is_searchable() -> None:
    retriever = make(
        make_library(
            [Skill(id="a", name="?", description=""), Skill(id="b", name="!", description="")]
        )
    )
    assert found(retriever, "anything") == []


def test_total_counts_matches_before_the_cut_and_after_the_filters() -> None:
    retriever = make()
    assert retriever.search(Query("roses plants", k=1)).total == 3
    assert retriever.search(Query("roses plants", k=1, filters=(("tag", "vegan"),))).total == 1


# --- signals ------------------------------------------------------------------------------


def test_signals_name_the_parts_of_the_score() -> None:
    (hit, *_) = make().search(Query("prune roses with secateurs")).hits
    signals = hit.signals
    assert set(signals) == {"head", "body", "evidence", "evidence_body", "matched", "z"}
    assert hit.score == pytest.approx(signals["head"] + 1.5 * signals["body"])
    assert signals["matched"] == 2.0
    assert signals["evidence"] == pytest.approx(2.0)
    assert signals["evidence_body"] == pytest.approx(1.0)


def test_z_measures_against_the_whole_library_whatever_is_hidden() -> None:
    retriever = make()
    query = Query("roses and plants", k=5)
    hits = {hit.skill.name: hit for hit in retriever.search(query).hits}
    scores = [hits[s.name].score if s.name in hits else 0.0 for s in LIBRARY.skills]
    for hit in hits.values():
        assert hit.signals["z"] == pytest.approx((hit.score - np.mean(scores)) / np.std(scores))
    (only,) = retriever.search(replace(query, filters=(("tag", "vegan"),))).hits
    assert only.signals["z"] == hits["water-plan"].signals["z"]


@pytest.mark.parametrize("size", range(1, 30))
def test_z_is_zero_where_all_skills_score_the_same(size: int) -> None:
    twins = [make_skill("t", "Fold paper.", id=f"t@{n}") for n in range(size)]
    hits = make(make_library(twins)).search(Query("fold fold paper", k=size)).hits
    assert [hit.signals["z"] for hit in hits] == [0.0] * size


# --- context ------------------------------------------------------------------------------


def test_context_reorders_matches() -> None:
    retriever = make()
    assert found(retriever, "roses")[0] == "water-plan"
    context = "Spring is here. Where do I cut, how far above the bud, and with which secateurs?"
    assert found(retriever, "roses", context=context)[0] == "prune-roses"
    assert found(make(context_weight=0.0), "roses", context=context)[0] == "water-plan"


def test_context_adds_no_match_and_touches_no_signal() -> None:
    retriever = make()
    assert found(retriever, "thanks!", context="prune roses in spring") == []
    alone, within = (
        {h.skill.name: h.signals for h in retriever.search(Query("roses", context=c)).hits}
        for c in ("", "frost and compost and a weekly plan")
    )
    assert alone == within


# --- limits -------------------------------------------------------------------------------


def test_long_text_is_read_from_both_ends_and_the_cut_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    retriever = make(query_limit_chars=100)
    filler = "lorem " * 200
    with caplog.at_level(logging.INFO, "skillcue.bm25"):
        assert found(retriever, f"frost {filler} compost", k=5) == ["compost", "frost-guard"]
        assert found(retriever, f"{filler} frost {filler}") == []
    assert caplog.messages == [
        f"100 of {length} characters of the query are analysed"
        for length in (len(f"frost {filler} compost"), len(f"{filler} frost {filler}"))
    ]


@pytest.mark.parametrize(
    "settings",
    [{"k1": -1}, {"b": 1.1}, {"k3": -1}, {"body_weight": "much"}, {"query_limit_chars": 1}],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(settings))):
        make(**settings)


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(UnknownSettingError, match="body_weight"):
        make(body_wieght=1.0)


@pytest.mark.parametrize("field", Bm25Settings.__slots__)
def test_every_setting_is_in_the_fingerprint(field: str) -> None:
    other = {"b": 0.5}.get(field, getattr(Bm25Settings(), field) + 1)
    assert make(**{field: other}).fingerprint != make().fingerprint


def test_a_ranking_is_named_by_settings_and_generation() -> None:
    names = {
        retriever.search(Query("roses")).fingerprint
        for retriever in (make(), make(k1=1.2), make(make_library(GARDEN[:2])), make())
    }
    assert len(names) == 3


def test_a_ranking_carries_the_name_the_factory_was_registered_under() -> None:
    for library in (LIBRARY, make_library([])):
        context = RetrieverContext("lexical", {}, None, lambda mode: None)
        assert build(library, context).search(Query("roses")).mode == "lexical"


# --- determinism --------------------------------------------------------------------------

WORDS = [f"{a}{b}" for a in ("ka", "lo", "mi", "nu", "pe", "ra") for b in "bdfgklmnprst"]


def random_library(seed: int, size: int) -> list[Skill]:
    rng = random.Random(seed)

    def text(low: int, high: int) -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(low, high)))

    return [make_skill(f"s{n:03d}", text(3, 12), text(0, 60)) for n in range(size)]


def answers(retriever: Bm25Retriever) -> str:
    rng = random.Random(5)
    queries = [
        Query(" ".join(rng.choices(WORDS, k=9)), " ".join(rng.choices(WORDS, k=20)), k=20)
        for _ in range(10)
    ]
    return json.dumps(
        [
            [(hit.skill.id, hit.score, hit.rank, sorted(hit.signals.items())) for hit in r.hits]
            for r in map(retriever.search, queries)
        ]
    )


def test_order_of_insertion_changes_no_bit() -> None:
    skills = random_library(1, 80)
    shuffled = random.Random(2).sample(skills, len(skills))
    one, other = (make(Library("g", tuple(order))) for order in (skills, shuffled))
    assert answers(one) == answers(other)


def test_hash_seeds_change_no_bit() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import test_bm25 as t\n"
        "print(t.answers(t.make(t.make_library(t.random_library(1, 80)))))"
    )
    folder = __file__.rpartition("/")[0]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, folder],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(outputs) == 1
    assert answers(make(make_library(random_library(1, 80)))) in outputs.pop()


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 59), min_size=1, max_size=6), st.booleans())
def test_a_retriever_built_on_the_previous_one_changes_no_bit(
    edited: list[int], shrink: bool
) -> None:
    skills = random_library(3, 60)
    before = make(Library("g1", tuple(skills)))
    answer_before = answers(before)
    changed = list(skills)
    for n in edited:
        changed[n] = make_skill(f"s{n:03d}", f"edited kab {n}", "new words: zeta")
    library = Library("g2", tuple(changed[10:] if shrink else changed))
    assert answers(make(library, before)) == answers(make(library))
    assert answers(before) == answer_before


def test_a_retriever_over_nothing_can_be_the_previous_one() -> None:
    assert found(make(LIBRARY, make(make_library([]))), "compost") == ["compost"]
    assert found(make(LIBRARY, object()), "compost") == ["compost"]


def test_ties_at_the_cut_go_to_the_first_ids() -> None:
    twins = [make_skill("t", "Fold paper.", id=f"t@{n:02d}") for n in range(40)]
    retriever = make(make_library([*twins, *GARDEN]))
    hits = retriever.search(Query("fold paper", k=3, offset=2)).hits
    assert [hit.skill.id for hit in hits] == ["t@02", "t@03", "t@04"]


def test_nothing_is_computed_for_an_empty_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("an index was built")

    monkeypatch.setattr(TermIndex, "__init__", refuse)
    assert make(make_library([])).search(Query("x")).hits == ()
