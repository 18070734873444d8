"""Term counts of a skill: packed for exact scores, and as a sparse vector for finding candidates.

A term is known by 64 bits of its hash, so that no list of terms has to be agreed upon, locked or
shared between tenants. Two terms of a library of a million have the same hash with a probability
of 3e-8.

The sparse vector has two numbers a term, one for the head and one for the body: what a term that
occurs there adds to BM25 before idf (Okapi BM25, Robertson et al., TREC-3). With idf and weights
in a query's vector, the inner product is the score.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "Averages",
    "Counted",
    "Facts",
    "Saturation",
    "counts_of",
    "packed",
    "slots_of",
    "sparse_query",
    "sparse_row",
    "term_hash",
    "unpacked",
]

SLOTS = 2**28
"""Terms share a slot of the sparse vector when their hashes end alike: it has fewer than 10**9
numbers. Only which skills are candidates depends on it, never a score."""

MOST_TERMS = 16_000
"""Numbers that a sparse vector of pgvector may have; of more, the smallest of bodies are left out: a
skill with so many words is found by the others."""

Facts = npt.NDArray[np.void]
"""Rows of term, count in the head, count in the body; ascending by term."""

_NEVER = 2**63 - 1
"""Stands behind every hash; that it is one is as likely as that two terms have the same."""

FACTS = np.dtype([("term", "<i8"), ("head", "<u4"), ("body", "<u4")])


@dataclass(frozen=True, slots=True)
class Averages:
    """Mean number of terms of heads and bodies."""

    head: float
    body: float


@dataclass(frozen=True, slots=True)
class Saturation:
    """Of BM25: term frequency saturates by `k1`, and length counts by `b`."""

    k1: float = 1.5
    b: float = 0.75


@lru_cache(maxsize=262_144)
def term_hash(term: str) -> int:
    """64 bits, signed."""
    digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def packed(head: Mapping[str, int], body: Mapping[str, int]) -> Facts:
    """Counts of two fields as rows; terms that occur in neither are left out."""
    counts: dict[int, tuple[int, int]] = {}
    for term in {*head, *body}:
        pair = (head.get(term, 0), body.get(term, 0))
        if any(pair):
            counts[term_hash(term)] = pair
    return np.array([(term, *counts[term]) for term in sorted(counts)], dtype=FACTS)


def unpacked(data: bytes) -> Facts:
    """Rows of what ``Facts.tobytes()`` gave."""
    return np.frombuffer(data, dtype=FACTS)


@dataclass(frozen=True, slots=True)
class Counted:
    """How often terms that were asked for occur in a skill, and how many terms it has.

    Attributes:
        head: Count by term; terms that do not occur are left out.
        body: Likewise.
        head_length: Terms of the head, repeats included.
        body_length: Likewise.
    """

    head: dict[str, int]
    body: dict[str, int]
    head_length: int
    body_length: int


def counts_of(rows: Sequence[bytes], asked: Sequence[str]) -> list[Counted]:
    """What is asked of each of some skills.

    Args:
        rows: Facts of each skill, as bytes.
        asked: Terms; others are left out.
    """
    facts = unpacked(b"".join(rows))
    ends = np.cumsum([len(row) // FACTS.itemsize for row in rows], dtype=np.int64)
    heads, bodies = (_sums(facts[name], ends) for name in ("head", "body"))
    found = [Counted({}, {}, *lengths) for lengths in zip(heads, bodies, strict=True)]
    words = {term_hash(term): term for term in asked}
    hashes = np.sort(np.array([*words, _NEVER], dtype=np.int64))
    hits = np.flatnonzero(hashes[np.searchsorted(hashes, facts["term"])] == facts["term"])
    owners = np.searchsorted(ends, hits, side="right")
    for owner, (term, in_head, in_body) in zip(owners.tolist(), facts[hits].tolist(), strict=True):
        if in_head:
            found[owner].head[words[term]] = in_head
        if in_body:
            found[owner].body[words[term]] = in_body
    return found


def _sums(counts: npt.NDArray[np.uint32], ends: npt.NDArray[np.int64]) -> list[int]:
    """Of the numbers of each skill."""
    upto = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    sums: list[int] = np.diff(upto[np.concatenate([[0], ends])]).tolist()
    return sums


def slots_of(tenant: str, terms: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """What the terms of a tenant's skills are looked for by.

    Each tenant has its own, so that looking for a term of a small one passes over no skills of
    others. Two terms may share one: then a few skills more are looked at.
    """
    own = np.int64(term_hash(f"tenant\0{tenant}"))
    # The finalizer of MurmurHash3: every bit of the term and of the tenant moves every other.
    mixed = (terms ^ own).astype(np.uint64)
    mixed ^= mixed >> np.uint64(33)
    mixed *= np.uint64(0xFF51AFD7ED558CCD)
    mixed ^= mixed >> np.uint64(33)
    return (mixed & np.uint64(0x7FFFFFFF)).astype(np.int32)


def sparse_row(
    facts: Facts, lengths: tuple[int, int], averages: Averages, saturation: Saturation
) -> bytes:
    """The sparse vector of a skill, as pgvector sends and receives it."""
    parts = []
    for side, (name, length, average) in enumerate(
        (("head", lengths[0], averages.head), ("body", lengths[1], averages.body))
    ):
        counts = facts[name]
        held = np.flatnonzero(counts)
        tf = counts[held].astype(np.float64)
        norm = saturation.k1 * (1.0 - saturation.b + saturation.b * length / (average or 1.0))
        indices = 2 * (facts["term"][held] & (SLOTS - 1)) + side
        parts.append((indices, tf * (saturation.k1 + 1.0) / (tf + norm)))
    return _binary(
        np.concatenate([indices for indices, _ in parts]),
        np.concatenate([values for _, values in parts]),
    )


def sparse_query(head: Mapping[str, float], body: Mapping[str, float]) -> bytes:
    """The sparse vector of a query, from what each term is worth in head and body."""
    indices, values = [], []
    for side, weights in enumerate((head, body)):
        for term, weight in weights.items():
            indices.append(2 * (term_hash(term) & (SLOTS - 1)) + side)
            values.append(weight)
    return _binary(np.array(indices, dtype=np.int64), np.array(values, dtype=np.float64))


def _binary(indices: npt.NDArray[np.int64], values: npt.NDArray[Any]) -> bytes:
    """Of numbers at places; those at the same place are added, zeros left out."""
    places, own = np.unique(indices, return_inverse=True)
    sums = np.bincount(own, weights=values, minlength=len(places)).astype(">f4")
    kept = np.flatnonzero(sums)
    if len(kept) > MOST_TERMS:
        order = np.lexsort((-np.abs(sums[kept]), places[kept] % 2))
        kept = np.sort(kept[order[:MOST_TERMS]])
    header = np.array([2 * SLOTS, len(kept), 0], dtype=">i4")
    return header.tobytes() + places[kept].astype(">i4").tobytes() + sums[kept].tobytes()
