"""The sparse engine against its definition, evidence, and incremental counting."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillcue_adapters.analyzer import ANALYZER
from skillcue_adapters.field_terms import count_terms
from skillcue_adapters.term_index import (
    GENERIC_WEIGHT,
    SMALL_LIBRARY,
    SmoothedBM25,
    TermIndex,
    evidence_weights,
    otsu_threshold,
)

WORDS = st.sampled_from(
    ["pdf", "form", "invoice", "bread", "soup", "csv", "git", "bisect", "k8s", "退款", "table"]
)
TEXTS = st.lists(st.lists(WORDS, max_size=12).map(" ".join), min_size=1, max_size=12)


def index_of(texts: list[str], k1: float = 1.5, b: float = 0.75) -> TermIndex:
    return TermIndex(count_terms(texts), k1, b)


def scores_of(index: TermIndex, query: str) -> np.ndarray:
    return index.scores(index.encode(ANALYZER.counts(query)))[0]


def definition(texts: list[str], query: str, k1: float = 1.5, b: float = 0.75) -> np.ndarray:
    oracle = SmoothedBM25([ANALYZER.terms(text) for text in texts], k1=k1, b=b)
    return oracle.get_scores(ANALYZER.terms(query))


@settings(deadline=None, max_examples=300)
@given(
    TEXTS,
    st.lists(WORDS, max_size=10).map(" ".join),
    st.sampled_from([0.1, 1.2, 1.5, 3.0]),
    st.sampled_from([0.0, 0.4, 0.75, 0.99]),
)
def test_engine_equals_definition(texts: list[str], query: str, k1: float, b: float) -> None:
    """N >= 1, empty documents, unknown and repeated query terms included.

    At k1 = 0, and at b = 1 for empty documents, the definition divides zero by zero.
    """
    np.testing.assert_allclose(
        scores_of(index_of(texts, k1, b), query), definition(texts, query, k1, b), atol=1e-5
    )


def test_engine_equals_definition_on_real_skills(example_skills: Path) -> None:
    texts = [path.read_text("utf-8") for path in sorted(example_skills.rglob("SKILL.md"))]
    assert len(texts) >= 40
    index = index_of(texts)
    for query in [*(text[:1500] for text in texts), "frost frost frost damage in the orchard"]:
        # A skill that is asked for in its own words scores in the thousands, where 1e-5 is less
        # than a float32 can tell apart.
        np.testing.assert_allclose(
            scores_of(index, query), definition(texts, query), rtol=1e-7, atol=1e-5
        )


@pytest.mark.parametrize("size", [1, 2, 3])
def test_small_libraries_score_matches_above_zero(size: int) -> None:
    """Where the inherited idf is negative (one document) or zero (half of two)."""
    texts = ["fill pdf forms", "bake bread", "cook soup"][:size]
    scores, matched = index_of(texts).scores(index_of(texts).encode({"pdf": 1.0}))
    assert scores[0] > 0.0
    assert matched.tolist() == [True, False, False][:size]


def test_a_term_of_every_document_still_scores() -> None:
    assert (scores_of(index_of(["pdf a1", "pdf b1", "pdf c1"]), "pdf") > 0.0).all()


@given(TEXTS, WORDS)
def test_matched_means_shares_a_term(texts: list[str], word: str) -> None:
    index = index_of(texts)
    _, matched = index.scores(index.encode(ANALYZER.counts(word)))
    wanted = set(ANALYZER.terms(word))
    assert matched.tolist() == [bool(wanted & set(ANALYZER.terms(text))) for text in texts]


def test_arrays_are_small() -> None:
    index = index_of(["fill pdf forms", "bake bread"])
    (part,) = index.field.postings
    arrays = (part.slots, part.counts, part.rows.columns, part.rows.counts)
    assert {array.dtype for array in arrays} == {np.dtype(np.int32)}


# --- evidence -----------------------------------------------------------------------------


@pytest.mark.parametrize("documents", [1, 2, 29, 30, 1000])
def test_a_term_that_occurs_nowhere_else_is_worth_one(documents: int) -> None:
    frequency = np.array([1] * 3 + [min(2, documents), documents])
    assert evidence_weights(frequency, documents)[0] == pytest.approx(1.0)


def test_evidence_falls_with_document_frequency() -> None:
    weights = evidence_weights(np.arange(1, 101), 100)
    assert (np.diff(weights) < 0).all()
    assert weights[-1] > 0


def test_generic_terms_keep_half_in_libraries_that_can_tell() -> None:
    frequency = np.array([2, 2, 3, 3, SMALL_LIBRARY - 1, SMALL_LIBRARY])
    large, small = (evidence_weights(frequency, n) for n in (SMALL_LIBRARY, SMALL_LIBRARY - 1))
    idf = math.log((SMALL_LIBRARY + 1) / (SMALL_LIBRARY + 1)) + 1
    plain = idf / SMALL_LIBRARY / (math.log((SMALL_LIBRARY + 1) / 2) + 1)
    assert large[-1] == pytest.approx(plain * GENERIC_WEIGHT)
    assert large[0] == pytest.approx((math.log(31 / 3) + 1) * (1 - 1 / 30) / (math.log(31 / 2) + 1))
    assert small[-2] == pytest.approx(
        (math.log(30 / 30) + 1) * (1 - 28 / 29) / (math.log(30 / 2) + 1)
    )


def test_evidence_counts_distinct_shared_terms() -> None:
    index = index_of(["fill pdf forms", "bake bread with a starter"])
    query = index.encode(ANALYZER.counts("pdf pdf forms and bread"))
    assert index.evidence_for(query, 0) == (pytest.approx(2.0), 2)
    assert index.evidence_for(query, 1) == (pytest.approx(1.0), 1)


def test_otsu_cuts_between_two_groups() -> None:
    assert 2.0 < otsu_threshold(np.array([9.0, 1.0, 2.0, 8.5, 1.5, 9.5])) < 8.5


@pytest.mark.parametrize("values", [[], [3.0], [3.0, 3.0]])
def test_otsu_has_nothing_to_cut(values: list[float]) -> None:
    assert otsu_threshold(np.array(values)) == -math.inf


@given(st.lists(st.integers(0, 20), min_size=2, max_size=40).filter(lambda v: len(set(v)) > 1))
def test_otsu_maximises_the_variance_between_classes(values: list[int]) -> None:
    def between(cut: float) -> float:
        low, high = ([v for v in values if (v < cut) is side] for side in (True, False))
        if not low or not high:
            return 0.0
        return len(low) * len(high) * (sum(low) / len(low) - sum(high) / len(high)) ** 2

    best = max(between(cut + 0.5) for cut in range(21))
    assert between(otsu_threshold(np.array(values, dtype=float))) == pytest.approx(best)


# --- incremental --------------------------------------------------------------------------


@settings(deadline=None, max_examples=200)
@given(TEXTS, TEXTS, TEXTS, st.lists(WORDS, max_size=6).map(" ".join))
def test_history_leaves_no_trace(
    first: list[str], second: list[str], third: list[str], query: str
) -> None:
    """Scores and evidence after two edits are bit for bit those of a fresh index."""
    counts = count_terms(third, count_terms(second, count_terms(first)))
    grown, fresh = TermIndex(counts, 1.5, 0.75), index_of(third)
    terms = ANALYZER.counts(query)
    assert scores_of(grown, query).tobytes() == scores_of(fresh, query).tobytes()
    for document in range(len(third)):
        assert grown.evidence_for(grown.encode(terms), document) == fresh.evidence_for(
            fresh.encode(terms), document
        )
    every = np.arange(len(third))
    one, other = grown.counts_of(every), fresh.counts_of(every)
    assert one.terms == other.terms == tuple(sorted(Counter(ANALYZER.terms(" ".join(third)))))
    assert (one.matrix != other.matrix).nnz == 0


def test_unchanged_texts_are_not_analysed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"skill number {n} about topic{n}" for n in range(50)]
    before = count_terms(texts)
    seen: list[str] = []
    real = ANALYZER.counts
    monkeypatch.setattr(
        type(ANALYZER), "counts", lambda self, text: seen.append(text) or real(text)
    )
    count_terms([*texts[:20], "an edited skill", *texts[21:]], before)
    assert seen == ["an edited skill"]
