"""Six skills, small enough to compute everything by hand.

===========  ===========  ====================
skill        head         vector of the head
===========  ===========  ====================
a            pdf merge    (0.6,  0.8,  0.0)
b            pdf split    (0.6, -0.8,  0.0)
c            csv clean    (0.6,  0.0,  0.8)
d            csv merge    (0.6,  0.0, -0.8)
e            git bisect   (1.0,  0.0,  0.0)
f            mail draft   (1.0,  0.0,  0.0)
===========  ===========  ====================

and every head also holds "tool". The query is "pdf merge", its vector (0.8, 0.6, 0.0).

By hand: "tool" occurs in 6 heads, "pdf", "csv" and "merge" in 2, the others in 1. All heads have
three terms, so the length norm of BM25 is 1 and a term that occurs once weighs its idf.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt

import numpy as np
import pytest

from skillcue_adapters.background import background_basis, generic_means, without
from skillcue_adapters.bm25 import Bm25Retriever, Bm25Settings
from skillcue_adapters.document_vectors import DocumentVectors
from skillcue_adapters.fusion import blend, evidence_gain, published_fusion
from skillcue_adapters.lexical import LexicalSide
from skillcue_adapters.skillsight import SkillSightRetriever, SkillSightSettings
from skillcue_adapters.term_index import TermCounts, otsu_threshold, smooth_idf
from skillcue_hooks.contracts import Library, Query, Skill

VECTORS = {
    "a": ("pdf merge", (0.6, 0.8, 0.0)),
    "b": ("pdf split", (0.6, -0.8, 0.0)),
    "c": ("csv clean", (0.6, 0.0, 0.8)),
    "d": ("csv merge", (0.6, 0.0, -0.8)),
    "e": ("git bisect", (1.0, 0.0, 0.0)),
    "f": ("mail draft", (1.0, 0.0, 0.0)),
}
LIBRARY = Library(
    "six",
    tuple(
        Skill(name, head.split()[0], f"{head.split()[1]} tool")
        for name, (head, _) in VECTORS.items()
    ),
)
QUERY = (0.8, 0.6, 0.0)
EXACT = {"abs": 1e-6, "rel": 0.0}


class ByHand:
    """The encoder of the table above."""

    fingerprint = "by hand"
    dim = 3

    def encode_documents(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        table = {head.replace(" ", ": ") + " tool": vector for head, vector in VECTORS.values()}
        return [table[text] for text in texts]

    def encode_queries(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        return [QUERY for _ in texts]


def retriever(**settings: object) -> SkillSightRetriever:
    bm25 = Bm25Retriever(LIBRARY, Bm25Settings())
    chosen = SkillSightSettings(**{"rank": 1, **settings})  # type: ignore[arg-type]
    vectors = DocumentVectors(ByHand())
    return SkillSightRetriever(LIBRARY, ByHand(), chosen, None, vectors, bm25)


@pytest.fixture
def side() -> LexicalSide:
    return LexicalSide(Bm25Retriever(LIBRARY, Bm25Settings()))


def by_term(side: LexicalSide, values: np.ndarray) -> dict[str, float]:
    return {term: float(values[n]) for n, term in enumerate(counts_of(side).terms)}


def counts_of(side: LexicalSide) -> TermCounts:
    return side.bm25.head.counts_of(np.arange(6))


# --- idf and the Otsu split ---------------------------------------------------------------


def test_idf(side: LexicalSide) -> None:
    frequency = np.bincount(counts_of(side).matrix.indices)
    idf = by_term(side, smooth_idf(frequency, 6))
    assert idf["pdf"] == pytest.approx(log(7 / 3) + 1, **EXACT)
    assert idf["pdf"] == pytest.approx(1.847297860, **EXACT)
    assert idf["tool"] == pytest.approx(1.0, **EXACT)
    assert idf["git"] == pytest.approx(2.252762968, **EXACT)


def test_otsu_split(side: LexicalSide) -> None:
    # Terms in two heads or more: 1.0 (tool) and three times 1.847298; one cut separates them.
    frequency = np.bincount(counts_of(side).matrix.indices)
    idf = smooth_idf(frequency, 6)
    assert otsu_threshold(idf[frequency >= 2]) == pytest.approx(1.423648930, **EXACT)
    generic = by_term(side, idf < 1.423648930)
    assert [term for term, below in generic.items() if below] == ["tool"]


# --- subspace and projections -------------------------------------------------------------


def test_subspace_and_projections(side: LexicalSide) -> None:
    # The only generic term is in every head, so both means are (4.4, 0, 0) / 6.
    vectors = np.array([vector for _, vector in VECTORS.values()], dtype=np.float32)
    counts = counts_of(side)
    generic = np.array([term == "tool" for term in counts.terms])
    means = generic_means(vectors, counts, generic)
    assert means == pytest.approx(np.array([[4.4 / 6, 0, 0], [4.4 / 6, 0, 0]]), **EXACT)
    basis = background_basis(vectors, counts, rank=1)
    assert np.abs(basis) == pytest.approx(np.array([[1.0, 0.0, 0.0]]), **EXACT)
    assert without(np.array([QUERY], dtype=np.float32), basis)[0] == pytest.approx(
        np.array([0.0, 0.6, 0.0]), **EXACT
    )
    projected = without(vectors, basis)
    assert projected[0] == pytest.approx(np.array([0.0, 0.8, 0.0]), **EXACT)
    assert projected[4] == pytest.approx(np.zeros(3), **EXACT)


def test_calibrated_similarity() -> None:
    hits = retriever().search(Query("pdf merge", k=6)).hits
    raw = {hit.skill.id: hit.signals["semantic"] for hit in hits}
    calibrated = {hit.skill.id: hit.signals["calibrated"] for hit in hits}
    assert raw == pytest.approx(
        {"a": 0.96, "b": 0.0, "c": 0.48, "d": 0.48, "e": 0.8, "f": 0.8}, **EXACT
    )
    assert calibrated == pytest.approx(
        {"a": 0.48, "b": -0.48, "c": 0, "d": 0, "e": 0, "f": 0}, **EXACT
    )


# --- evidence -----------------------------------------------------------------------------


def test_evidence_mass(side: LexicalSide) -> None:
    # pdf and merge: idf 1.847298 * (1 - 1/6), in units of the largest idf 2.252763.
    words = side.read("pdf merge")
    one = 1.847297860 * (5 / 6) / 2.252762968
    assert one == pytest.approx(0.683345254, **EXACT)
    assert words.mass == pytest.approx(np.array([2 * one, one, 0, one, 0, 0]), **EXACT)


def test_evidence_and_its_gain(side: LexicalSide) -> None:
    # BM25 of pdf or merge is log(2.8); the largest idf of BM25 is log(14 / 3).
    words = side.read("pdf merge")
    assert words.view.head == pytest.approx(
        np.array([2 * log(2.8), log(2.8), 0, log(2.8), 0, 0]), **EXACT
    )
    one = sqrt(0.683345254 * log(2.8) / log(14 / 3))
    assert words.evidence == pytest.approx(np.array([2 * one, one, 0, one, 0, 0]), **EXACT)
    assert evidence_gain(words.evidence) == pytest.approx(
        np.array([0.616078976, 0.161971480, 0, 0.161971480, 0, 0]), **EXACT
    )


# --- the three fusions --------------------------------------------------------------------

# Calibrated similarities 0.48, -0.48 and four zeros: mean 0, deviation 0.48 / sqrt(3).
Z = sqrt(3)
SEMANTIC = np.array([0.48, -0.48, 0, 0, 0, 0])
EVERY = np.arange(6)


def scores(**settings: object) -> dict[str, float]:
    found = retriever(**settings).search(Query("pdf merge", k=6)).hits
    return {hit.skill.id: hit.score for hit in found}


def test_absolute_evidence() -> None:
    # No bodies: three times the gain. "pdf" is the name of a and b: 1.5 each.
    expected = {
        "a": Z + 3 * 0.616078976 + 1.5,
        "b": -Z + 3 * 0.161971480 + 1.5,
        "c": 0,
        "d": 0.485914439,
        "e": 0,
        "f": 0,
    }
    assert scores() == pytest.approx(expected, **EXACT)
    assert scores()["a"] == pytest.approx(5.080287735, **EXACT)
    assert scores(name_weight=0.0)["a"] == pytest.approx(3.580287735, **EXACT)


def test_min_max_blend() -> None:
    # minmax(semantic): 1, 0 and four times 0.5; minmax(BM25): 1, 0.5, 0, 0.5, 0, 0.
    expected = {"a": 1.0, "b": 0.25, "c": 0.25, "d": 0.5, "e": 0.25, "f": 0.25}
    assert scores(fusion="minmax") == pytest.approx(expected, **EXACT)
    lexical = np.array([2.0, 1.0, 0.0, 1.0, 0.0, 0.0])
    assert blend(SEMANTIC, lexical, EVERY, 0.5) == pytest.approx(
        np.array(list(expected.values())), **EXACT
    )


def test_published_fusion() -> None:
    # Coverage 1, 0.5, 0, 0.5, 0, 0: mean 1/3, deviation sqrt(5) / 6, so z is 4 / sqrt(5) for the
    # first, 1 / sqrt(5) for the halves and below zero, hence nothing, for the rest.
    high, low = 4 / sqrt(5), 1 / sqrt(5)
    expected = {"a": Z + high, "b": -Z + low, "c": 0, "d": low, "e": 0, "f": 0}
    assert scores(fusion="published") == pytest.approx(expected, **EXACT)
    coverage = np.array([1.0, 0.5, 0.0, 0.5, 0.0, 0.0])
    assert published_fusion(SEMANTIC, coverage, EVERY) == pytest.approx(
        np.array(list(expected.values())), **EXACT
    )


def test_what_is_no_candidate_follows_in_the_order_of_similarity() -> None:
    found = published_fusion(np.array([0.1, 0.9, 0.5, 0.7]), np.zeros(4), np.array([1, 3]))
    assert list(np.argsort(-found)) == [1, 3, 2, 0]
    assert found[2] < found[3]
    assert found[2] - found[0] == pytest.approx(0.4, **EXACT)


def test_a_small_library_is_not_calibrated() -> None:
    hit = retriever(rank=-1).search(Query("pdf merge")).hits[0]
    assert hit.signals["background"] == 0.0
    assert hit.signals["calibrated"] == pytest.approx(hit.signals["semantic"], **EXACT)
    assert retriever().search(Query("pdf merge")).hits[0].signals["background"] == 1.0
