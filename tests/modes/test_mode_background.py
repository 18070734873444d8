"""Similarity whose bits are fixed, the background of a library, and calibration."""

from __future__ import annotations

import math

import numpy as np
import pytest

from skillcue_adapters.background import (
    HUB_SAMPLE,
    MAX_AUTOMATIC_RANK,
    NEIGHBOURS,
    automatic_rank,
    background_basis,
    generic_means,
    hubness,
    leading_directions,
    without,
)
from skillcue_adapters.calibration import CalibratedIndex
from skillcue_adapters.normalization import z_scores
from skillcue_adapters.semantic_index import ChunkLimits, Field, plan_texts
from skillcue_adapters.similarity import GRID, dots, dots_of_many, gram, on_grid
from skillcue_adapters.term_index import SMALL_LIBRARY, count_terms
from skillcue_hooks.contracts import Skill


def unit_rows(count: int, dim: int, seed: int = 0, shared: float = 0.0) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((count, dim))
    rows[:, 0] += shared
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def keys(count: int) -> tuple[str, ...]:
    return tuple(f"{n * 7919 % 100_003:06d}" for n in range(count))


# --- similarity ---------------------------------------------------------------------------


def test_dot_products_are_those_of_numpy() -> None:
    rows, others = unit_rows(300, 64), unit_rows(5, 64, seed=1)
    assert dots(rows, others[0]) == pytest.approx(rows @ others[0], abs=1e-6)
    assert dots_of_many(rows, others) == pytest.approx(rows @ others.T, abs=1e-6)
    wide = rows.astype(np.float64)
    assert gram(wide) == pytest.approx(wide.T @ wide, abs=1e-9)


def test_a_row_has_the_same_similarity_alone_and_among_others() -> None:
    rows, others = unit_rows(1000, 384), unit_rows(3, 384, seed=1)
    among = dots(rows, others[0])
    many = dots_of_many(rows, others)
    for n in (0, 1, 499, 999):
        assert dots(rows[n : n + 1], others[0])[0] == among[n] == many[n, 0]


def test_products_on_the_grid_are_exact() -> None:
    rows = on_grid(unit_rows(50, 384))
    exact = (rows.astype(np.float64) * GRID) @ (rows.astype(np.float64) * GRID).T / GRID**2
    assert np.array_equal((rows @ rows.T).astype(np.float64), exact)
    assert np.abs(rows - unit_rows(50, 384)).max() <= 0.5 / GRID


# --- directions ---------------------------------------------------------------------------


def test_leading_directions_are_the_right_singular_vectors() -> None:
    rows = np.random.default_rng(3).standard_normal((200, 40)) * np.geomspace(9, 0.1, 40)
    _, _, expected = np.linalg.svd(rows, full_matrices=False)
    found = leading_directions(rows, 4)
    assert np.abs((found * expected[:4]).sum(axis=1)) == pytest.approx(np.ones(4), abs=1e-6)
    assert found @ found.T == pytest.approx(np.eye(4), abs=1e-6)


def test_directions_by_hand() -> None:
    # (3, 3) and (1, -1): the Gram matrix has eigenvalues 18 and 2 along the diagonals.
    half = math.sqrt(0.5)
    found = leading_directions(np.array([[3.0, 3.0], [1.0, -1.0]]), 2)
    assert np.abs(found) == pytest.approx(np.full((2, 2), half), abs=1e-6)
    assert found[0, 0] * found[0, 1] > 0 > found[1, 0] * found[1, 1]
    # The first has 0.9 of the energy, so one direction is taken.
    assert len(leading_directions(np.array([[3.0, 3.0], [1.0, -1.0]]), None)) == 1


def test_no_more_directions_than_the_rows_span() -> None:
    assert leading_directions(np.array([[1.0, 2.0, 2.0], [2.0, 4.0, 4.0]]), 3).shape == (1, 3)
    assert leading_directions(np.zeros((3, 5)), 2).shape == (0, 5)


@pytest.mark.parametrize(
    ("share", "rank"), [(1.0, 1), (0.51, 1), (0.5, 2), (0.3, 3), (0.25, 4), (0.01, 4), (1 / 3, 3)]
)
def test_automatic_rank(share: float, rank: int) -> None:
    assert automatic_rank(share) == rank <= MAX_AUTOMATIC_RANK


def test_without_takes_the_span_out_and_leaves_the_rest() -> None:
    basis = leading_directions(unit_rows(20, 8).astype(np.float64), 3)
    vector = unit_rows(1, 8, seed=5)[0]
    left = without(vector, basis)
    assert basis @ left == pytest.approx(np.zeros(3), abs=1e-6)
    assert vector - left == pytest.approx(basis.T @ (basis @ vector), abs=1e-6)
    assert without(left, basis) == pytest.approx(left, abs=1e-6)
    assert np.array_equal(without(vector, basis[:0]), vector)


# --- background ---------------------------------------------------------------------------


def texts(count: int) -> list[str]:
    """Each with a word of its own, one shared with a third of the others, and "skill"."""
    return [f"skill word{n} {'abc'[n % 3]}{'abc'[n % 3]}" for n in range(count)]


def test_what_all_heads_share_is_the_background() -> None:
    vectors = unit_rows(60, 16, shared=4.0)
    basis = background_basis(vectors, count_terms(texts(60)), None)
    mean = vectors.mean(axis=0)
    assert len(basis) == 1
    assert abs(float(basis[0] @ mean)) / np.linalg.norm(mean) > 0.99


def test_the_history_of_the_index_does_not_change_the_order_of_sums() -> None:
    # Columns stand in the order in which their terms were first met.
    heads = texts(60)
    met = count_terms(heads, count_terms(heads[40:]))
    straight = count_terms(heads)
    assert list(met.vocabulary) != list(straight.vocabulary)
    vectors = unit_rows(60, 16)
    means = []
    for counts in (met, straight):
        shared = np.diff(counts.matrix.tocsc().indptr) > 1
        means.append(generic_means(vectors, counts, shared))
    assert np.array_equal(*means)
    assert len(means[0]) > 3


def test_small_libraries_have_no_background_unless_a_rank_is_asked_for() -> None:
    for count, directions in ((SMALL_LIBRARY - 1, 0), (SMALL_LIBRARY, 1)):
        vectors = unit_rows(count, 16, shared=4.0)
        counts = count_terms(texts(count))
        assert len(background_basis(vectors, counts, None)) == directions
        assert len(background_basis(vectors, counts, 0)) == 0
        assert len(background_basis(vectors, counts, 1)) == 1


# --- hubness ------------------------------------------------------------------------------


def test_hubness_by_hand() -> None:
    # Three vectors in a plane; neighbours are the two others.
    vectors = np.array([[1, 0], [0, 1], [0.5, 0.5]], dtype=np.float32)
    found = hubness(vectors, ("b", "a", "c"))
    assert found.sample == ("a", "b", "c")
    assert found.values == pytest.approx(np.array([0.25, 0.25, 0.5]))


def test_only_the_nearest_count() -> None:
    vectors = np.zeros((NEIGHBOURS + 6, 8), dtype=np.float32)
    vectors[: NEIGHBOURS + 1, 0] = 1.0  # a bundle of eleven; five others point elsewhere
    vectors[NEIGHBOURS + 1 :, 1] = 1.0
    found = hubness(vectors, keys(len(vectors))).values
    assert found[: NEIGHBOURS + 1] == pytest.approx(np.ones(NEIGHBOURS + 1))
    assert found[-1] == pytest.approx(4 / NEIGHBOURS)


def test_a_document_is_no_neighbour_of_itself() -> None:
    assert hubness(np.eye(4, dtype=np.float32), keys(4)).values.tolist() == [0.0] * 4
    assert hubness(np.ones((1, 4), dtype=np.float32), keys(1)).values.tolist() == [0.0]


def test_taken_over_or_computed_the_values_are_the_same_bits() -> None:
    count = HUB_SAMPLE + 100
    vectors, names = unit_rows(count + 3, 64), keys(count + 3)
    before = hubness(vectors[:count], names[:count])
    after = hubness(vectors, names, before)
    assert np.array_equal(after.values, hubness(vectors, names).values)
    # Not by accident: what is taken over is really taken over.
    marked = type(before)(before.keys, after.sample, before.values + 1.0)
    taken = hubness(vectors, names, marked)
    assert np.array_equal(taken.values[:count], before.values + 1.0)


# --- calibrated index ---------------------------------------------------------------------


def skills(count: int, body: str = "") -> list[Skill]:
    return [Skill(f"s{n:03d}", f"word{n}", text, body) for n, text in enumerate(texts(count))]


def index_of(library: list[Skill], hub_weight: float = 0.3, **more: object) -> CalibratedIndex:
    plan = plan_texts(library, more.pop("limits", None))  # type: ignore[arg-type]
    known = {text: row for text, row in zip(plan.texts, unit_rows(900, 32, shared=3.0))}  # noqa: B905
    rows = np.array([known[text] for text in plan.texts])
    heads = count_terms([f"{skill.name}: {skill.description}" for skill in library])
    return CalibratedIndex(rows, plan.texts, plan, heads, None, hub_weight, None)


def test_equal_copies_do_not_bend_the_background() -> None:
    originals = skills(40)
    head = originals[0]
    copies = [Skill(f"z{n:03d}", head.name, head.description) for n in range(200)]
    alone, crowded = index_of(originals), index_of(originals + copies)
    assert np.array_equal(alone.basis, crowded.basis)
    assert alone.hubness is not None
    assert crowded.hubness is not None
    assert np.array_equal(alone.hubness.values, crowded.hubness.values)
    query = alone.calibrated(unit_rows(1, 32, seed=9)[0])
    few, many = alone.similarities(query)[0], crowded.similarities(query)[0]
    assert np.array_equal(few.similarity, many.similarity[:40])
    assert (many.similarity[40:] == many.similarity[0]).all()


def test_hubs_are_penalised_by_their_weight() -> None:
    library = skills(40)
    query = unit_rows(1, 32, seed=9)[0]
    plain, full = index_of(library, 0.0), index_of(library, 1.0)
    assert plain.hubness is None
    assert full.hubness is not None
    left = plain.similarities(query)[0].similarity - full.similarities(query)[0].similarity
    assert left == pytest.approx(full.hubness.values, abs=1e-12)


def test_small_libraries_keep_their_similarities() -> None:
    index = index_of(skills(SMALL_LIBRARY - 1))
    query = unit_rows(1, 32, seed=9)[0]
    assert index.hubness is None
    assert np.array_equal(index.calibrated(query), query)
    assert np.array_equal(index.similarities(query)[0].similarity, dots(index.semantic.rows, query))


def test_sentences_count_for_candidates_only() -> None:
    index = index_of(skills(40))
    query, *sentences = unit_rows(4, 32, seed=9)
    head, _ = index.similarities(query)
    candidates = np.array([3, 17])
    pieces = np.array(sentences)
    found = index.z_with_sentences(head, candidates, pieces, 1.0)
    plain = z_scores(head.similarity)
    others = np.setdiff1d(np.arange(40), candidates)
    assert np.array_equal(found[others], plain[others])
    # With fewer heads than the sample has room for, the estimate is over all of them.
    best = dots_of_many(index.semantic.head_rows, pieces).max(axis=1) - head.penalty
    assert found[candidates] == pytest.approx(z_scores(head.similarity + best)[candidates])


def test_the_best_chunk_counts_and_a_skill_without_a_body_has_its_head() -> None:
    library = [*skills(2, "# One\n\nfirst part\n\n# Two\n\nsecond part"), *skills(3)[2:]]
    limits = ChunkLimits(chars=18, per_skill=9)
    plan = plan_texts(library, limits)
    assert plan.body is not None
    assert plan.texts[plan.heads :] == (
        "word0: # One\nfirst part",
        "word0: # Two\nsecond part",
        "word1: # One\nfirst part",
        "word1: # Two\nsecond part",
    )
    index = index_of(library, limits=limits)
    query = unit_rows(1, 32, seed=9)[0]
    body = index.similarities(query)[1]
    assert body is not None
    each = dots(index.semantic.rows, query)
    assert body.similarity.tolist() == [each[3:5].max(), each[5:7].max(), each[2]]


def test_fields_of_some_skills_in_their_order() -> None:
    field = Field.of_lengths([5, 6, 7, 8, 9], [2, 1, 2])
    assert field.best(np.array([1.0, 4.0, 2.0, 3.0, 0.0])).tolist() == [4.0, 2.0, 3.0]
    part = field.of(np.array([2, 0]))
    assert (part.rows.tolist(), part.starts.tolist()) == ([8, 9, 5, 6], [0, 2, 4])
