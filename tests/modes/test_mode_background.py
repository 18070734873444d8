"""Similarity whose bits are fixed, the background of a library, and calibration."""

from __future__ import annotations

import math
import zlib

import numpy as np
import pytest

from skillcue_adapters.background import (
    MAX_AUTOMATIC_RANK,
    automatic_rank,
    background_basis,
    leading_directions,
    without,
)
from skillcue_adapters.bm25 import Bm25Retriever, Bm25Settings, head_text
from skillcue_adapters.calibration import CalibratedIndex
from skillcue_adapters.document_vectors import DocumentVectors
from skillcue_adapters.hubness import NEIGHBOURS, hubness
from skillcue_adapters.index.vectors import Located
from skillcue_adapters.normalization import z_scores
from skillcue_adapters.similarity import GRID, dots, dots_of_many, gram, on_grid
from skillcue_adapters.term_index import SMALL_LIBRARY, TermCounts
from skillcue_adapters.text_plan import ChunkLimits, Field, follow_plan
from skillcue_hooks.contracts import Library, Skill


def unit_rows(count: int, dim: int, seed: int = 0, shared: float = 0.0) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((count, dim))
    rows[:, 0] += shared
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


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
    left = without(vector[None, :], basis)[0]
    assert basis @ left == pytest.approx(np.zeros(3), abs=1e-6)
    assert vector - left == pytest.approx(basis.T @ (basis @ vector), abs=1e-6)
    assert without(left[None, :], basis)[0] == pytest.approx(left, abs=1e-6)
    assert np.array_equal(without(vector[None, :], basis[:0])[0], vector)
    many = without(unit_rows(9, 8, seed=6), basis)  # alone or among others, the same bits
    assert np.array_equal(many[4], without(unit_rows(9, 8, seed=6)[4:5], basis)[0])


# --- background ---------------------------------------------------------------------------


def texts(count: int) -> list[str]:
    """Each with a word of its own, one shared with a third of the others, and "skill"."""
    return [f"skill word{n} {'abc'[n % 3]}{'abc'[n % 3]}" for n in range(count)]


def counts_of(heads: list[str]) -> TermCounts:
    library = Library("heads", tuple(Skill(f"{n:03d}", "", head) for n, head in enumerate(heads)))
    return Bm25Retriever(library, Bm25Settings()).head.counts_of(np.arange(len(heads)))


def test_what_all_heads_share_is_the_background() -> None:
    vectors = unit_rows(60, 16, shared=4.0)
    basis = background_basis(vectors, counts_of(texts(60)), None)
    mean = vectors.mean(axis=0)
    assert len(basis) == 1
    assert abs(float(basis[0] @ mean)) / np.linalg.norm(mean) > 0.99


def test_small_libraries_have_no_background_unless_a_rank_is_asked_for() -> None:
    for count, directions in ((SMALL_LIBRARY - 1, 0), (SMALL_LIBRARY, 1)):
        vectors = unit_rows(count, 16, shared=4.0)
        counts = counts_of(texts(count))
        assert len(background_basis(vectors, counts, None)) == directions
        assert len(background_basis(vectors, counts, 0)) == 0
        assert len(background_basis(vectors, counts, 1)) == 1


# --- hubness ------------------------------------------------------------------------------


class Table:
    """An encoder that looks vectors up."""

    def __init__(self, rows: dict[str, np.ndarray], dim: int) -> None:
        self.rows, self.dim, self.fingerprint = rows, dim, "table"

    def encode_documents(self, texts: list[str]) -> np.ndarray:
        return np.array([self.rows[text] for text in texts])

    encode_queries = encode_documents


def located(vectors: np.ndarray) -> Located:
    texts_ = [str(n) for n in range(len(vectors))]
    table = Table(dict(zip(texts_, vectors, strict=True)), vectors.shape[1])
    store = DocumentVectors(table)
    keys = store.keys(texts_)
    store.encode(table, keys, texts_)
    return store.locate(table, keys)


def hub_values(vectors: np.ndarray) -> np.ndarray:
    every = np.arange(len(vectors))
    return hubness(located(vectors), every, every, None, 0).values


def test_hubness_by_hand() -> None:
    # Three vectors in a plane; neighbours are the two others.
    vectors = np.array([[1, 0], [0, 1], [0.5, 0.5]], dtype=np.float32)
    assert hub_values(vectors) == pytest.approx(np.array([0.25, 0.25, 0.5]))


def test_only_the_nearest_count() -> None:
    vectors = np.zeros((NEIGHBOURS + 6, 8), dtype=np.float32)
    vectors[: NEIGHBOURS + 1, 0] = 1.0  # a bundle of eleven; five others point elsewhere
    vectors[NEIGHBOURS + 1 :, 1] = 1.0
    found = hub_values(vectors)
    assert found[: NEIGHBOURS + 1] == pytest.approx(np.ones(NEIGHBOURS + 1))
    assert found[-1] == pytest.approx(4 / NEIGHBOURS)


def test_a_document_is_no_neighbour_of_itself() -> None:
    assert hub_values(np.eye(4, dtype=np.float32)).tolist() == [0.0] * 4
    assert hub_values(np.ones((1, 4), dtype=np.float32)).tolist() == [0.0]


# --- calibrated index ---------------------------------------------------------------------


def skills(count: int, body: str = "") -> list[Skill]:
    return [Skill(f"s{n:03d}", f"word{n}", text, body) for n, text in enumerate(texts(count))]


def vector_of(text: str) -> np.ndarray:
    return unit_rows(1, 32, seed=zlib.crc32(text.encode()), shared=3.0)[0]


def index_of(
    library: list[Skill], hub_weight: float = 0.3, limits: ChunkLimits | None = None
) -> CalibratedIndex:
    table = Table({}, 32)
    store = DocumentVectors(table)
    plan = follow_plan(None, np.full(len(library), -1), library, limits, store.keys)
    table.rows = {text: vector_of(text) for text in plan.new.values()}
    store.encode(table, plan.keys, [plan.new[n] for n in range(len(plan.new))])
    heads = Bm25Retriever(Library("heads", tuple(library)), Bm25Settings()).head
    return CalibratedIndex(
        plan, store.locate(table, plan.keys), heads.counts_of, None, hub_weight, None
    )


def head_hubness(index: CalibratedIndex) -> np.ndarray:
    assert index.hubness is not None
    return index.hubness.values[index.semantic.head.rows]


def test_equal_copies_do_not_bend_the_background() -> None:
    originals = skills(40)
    head = originals[0]
    copies = [Skill(f"z{n:03d}", head.name, head.description) for n in range(200)]
    alone, crowded = index_of(originals), index_of(originals + copies)
    assert len(alone.basis)
    assert np.array_equal(alone.basis, crowded.basis)
    assert np.array_equal(head_hubness(alone), head_hubness(crowded)[:40])
    query = alone.calibrated(unit_rows(1, 32, seed=9))[0]
    few, many = alone.similarities(query)[0], crowded.similarities(query)[0]
    assert np.array_equal(few.similarity, many.similarity[:40])
    assert (many.similarity[40:] == many.similarity[0]).all()


def test_hubs_are_penalised_by_their_weight() -> None:
    library = skills(40)
    query = unit_rows(1, 32, seed=9)[0]
    plain, full = index_of(library, 0.0), index_of(library, 1.0)
    assert plain.hubness is None
    left = plain.similarities(query)[0].similarity - full.similarities(query)[0].similarity
    assert left == pytest.approx(head_hubness(full), abs=1e-12)


def test_small_libraries_keep_their_similarities() -> None:
    library = skills(SMALL_LIBRARY - 1)
    index = index_of(library)
    query = unit_rows(1, 32, seed=9)[0]
    assert index.hubness is None
    assert np.array_equal(index.calibrated(query[None, :])[0], query)
    rows = np.array([vector_of(head_text(skill)) for skill in library])
    assert np.array_equal(index.similarities(query)[0].similarity, dots(rows, query))


def test_sentences_count_for_candidates_only() -> None:
    library = skills(40)
    index = index_of(library)
    query, *sentences = unit_rows(4, 32, seed=9)
    head, _ = index.similarities(query)
    candidates = np.array([3, 17])
    pieces = np.array(sentences)
    found = index.z_with_sentences(head, candidates, pieces, 1.0)
    plain = z_scores(head.similarity)
    others = np.setdiff1d(np.arange(40), candidates)
    assert np.array_equal(found[others], plain[others])
    # With fewer heads than the sample has room for, the estimate is over all of them.
    rows = np.array([vector_of(head_text(skill)) for skill in library])
    best = dots_of_many(rows, pieces).max(axis=1) - head.penalty
    assert found[candidates] == pytest.approx(z_scores(head.similarity + best)[candidates])


def test_the_best_chunk_counts_and_a_skill_without_a_body_has_its_head() -> None:
    library = [*skills(2, "# One\n\nfirst part\n\n# Two\n\nsecond part"), *skills(3)[2:]]
    index = index_of(library, limits=ChunkLimits(chars=18, per_skill=9))
    query = unit_rows(1, 32, seed=9)[0]
    body = index.similarities(query)[1]
    assert body is not None

    def best(*pieces: str) -> float:
        return max(dots(np.array([vector_of(piece) for piece in pieces]), query).tolist())

    assert body.similarity.tolist() == [
        best("word0: # One\nfirst part", "word0: # Two\nsecond part"),
        best("word1: # One\nfirst part", "word1: # Two\nsecond part"),
        best(head_text(library[2])),
    ]


def test_fields_of_some_skills_in_their_order() -> None:
    field = Field.of_lengths(np.array([5, 6, 7, 8, 9]), np.array([2, 1, 2]))
    assert field.best(np.array([1.0, 4.0, 2.0, 3.0, 0.0])).tolist() == [4.0, 2.0, 3.0]
    part = field.of(np.array([2, 0]))
    assert (part.rows.tolist(), part.starts.tolist()) == ([8, 9, 5, 6], [0, 2, 4])
