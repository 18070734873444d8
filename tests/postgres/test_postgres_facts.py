"""Term counts of a skill, packed and as a sparse vector."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillcue_adapters.postgres.facts import (
    MOST_TERMS,
    Averages,
    Saturation,
    counts_of,
    packed,
    slots_of,
    sparse_query,
    sparse_row,
    term_hash,
    unpacked,
)

COUNTS = st.dictionaries(st.sampled_from([f"w{n}" for n in range(30)]), st.integers(1, 70_000))
AVERAGES, SATURATION = Averages(12.0, 300.0), Saturation()


def read(data: bytes) -> dict[int, float]:
    """A sparse vector as numbers by place."""
    dim, count, unused = struct.unpack(">iii", data[:12])
    places = struct.unpack(f">{count}i", data[12 : 12 + 4 * count])
    values = struct.unpack(f">{count}f", data[12 + 4 * count :])
    assert unused == 0
    assert list(places) == sorted(set(places))
    assert all(0 <= place < dim <= 1_000_000_000 for place in places)
    assert all(values)
    return dict(zip(places, values, strict=True))


@given(st.lists(st.tuples(COUNTS, COUNTS), max_size=5), st.sets(st.sampled_from(["w1", "w2", "x"])))
def test_counts_of_terms_come_back(skills: list[tuple[dict, dict]], asked: set[str]) -> None:
    rows = [packed(head, body).tobytes() for head, body in skills]
    found = counts_of(rows, sorted(asked))
    assert len(found) == len(skills)
    for own, (head, body) in zip(found, skills, strict=True):
        assert own.head == {term: count for term, count in head.items() if term in asked}
        assert own.body == {term: count for term, count in body.items() if term in asked}
        assert own.head_length == sum(head.values())
        assert own.body_length == sum(body.values())


@given(COUNTS, COUNTS, COUNTS)
def test_the_product_of_two_sparse_vectors_is_bm25(head: dict, body: dict, query: dict) -> None:
    weights = {term: 0.1 + count / 70_000 for term, count in query.items()}
    lengths = (sum(head.values()), sum(body.values()))
    row = read(sparse_row(packed(head, body), lengths, AVERAGES, SATURATION))
    asked = read(sparse_query(weights, {term: 2 * w for term, w in weights.items()}))
    score = 0.0
    for counts, length, average, factor in (
        (head, lengths[0], AVERAGES.head, 1.0),
        (body, lengths[1], AVERAGES.body, 2.0),
    ):
        norm = 1.5 * (0.25 + 0.75 * length / average)
        for term in counts.keys() & weights.keys():
            score += factor * weights[term] * counts[term] * 2.5 / (counts[term] + norm)
    product = sum(value * asked.get(place, 0.0) for place, value in row.items())
    assert product == pytest.approx(score, rel=1e-5)


def test_hashes_and_slots_are_the_same_in_any_process_and_release() -> None:
    """They are stored."""
    assert term_hash("kiln") == 8154066164077134131
    assert slots_of("a", np.array([term_hash("kiln")])).tolist() == [1634952789]
    assert unpacked(packed({"kiln": 2}, {}).tobytes())["term"].tolist() == [term_hash("kiln")]


def test_tenants_have_slots_of_their_own() -> None:
    terms = np.array([term_hash(f"w{n}") for n in range(1000)])
    assert not {*slots_of("a", terms).tolist()} & {*slots_of("b", terms).tolist()}


def test_of_too_many_terms_heads_are_kept() -> None:
    head = {f"h{n}": 1 for n in range(50)}
    body = {f"b{n}": 1 + n % 3 for n in range(20_000)}
    lengths = (1_000_000, 10)  # a head so long that its terms are worth the least
    row = read(sparse_row(packed(head, body), lengths, AVERAGES, SATURATION))
    assert len(row) == MOST_TERMS
    assert sum(1 for place in row if place % 2 == 0) == 50
