"""What the numbers of `explain` mean, and which words of a query a skill holds where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from skillcue_adapters.analyzer import ANALYZER
from skillcue_hooks import Hit, Skill

__all__ = ["COMPARABLE", "MEANINGS", "generic_words", "matched_words", "meaning", "stronger_in"]

MEANINGS: Mapping[str, str] = {
    "head": "words: BM25 of name, description and tags",
    "body": "words: BM25 of the body",
    "evidence": "words: rare ones in the head; 1 is a word no other has",
    "evidence_body": "words: rare ones in the body",
    "matched": "words: how many of the query are in the head",
    "document": "words: BM25 of head and body as one text",
    "z_document": "words: deviations of document above the mean",
    "gain": "words: what evidence adds; an accidental word adds 0",
    "called": "words: 1 where the query holds the skill's name",
    "semantic": "meaning: cosine of query and head, -1 to 1",
    "calibrated": "meaning: without what all descriptions share",
    "z_head": "meaning: deviations of calibrated above the mean",
    "z_chunk": "meaning: the same for the best piece of the body",
    "background": "meaning: shared directions that were taken out",
    "first": "final: score of the first stage",
    "cross_encoder": "final: query and skill read together, raw score",
    "fused": "final: sum of 1 / (60 + rank) over the query and its rewordings",
    "blend": "final: mean of both, each scaled to 0 to 1",
    "total": "final: the sum, without the context",
    "z": "final: deviations of the score above the mean",
}
"""Signal name to one line, for the built-in modes: what it is about, and what it says."""

COMPARABLE = ("head", "body", "evidence", "semantic", "calibrated", "z_chunk", "cross_encoder")
"""Signals by which a near miss is compared with the last hit."""


def meaning(signal: str, mode: str) -> str:
    """One line about a signal; plugins document their own."""
    return MEANINGS.get(signal, f"see the documentation of mode {mode}")


def generic_words(query: str, skills: Sequence[Skill]) -> tuple[str, ...]:
    """Index terms of `query` that any skill might use: they count half as evidence.

    Args:
        query: Any text.
        skills: The whole library.
    """
    import numpy as np

    from skillcue_adapters.bm25 import head_text
    from skillcue_adapters.term_index import generic_terms

    heads = (ANALYZER.counts(head_text(skill)) for skill in skills)
    frequency = Counter(term for head in heads for term in head)
    generic = generic_terms(np.array(list(frequency.values()), dtype=np.int64), len(skills))
    found = {term for term, is_generic in zip(frequency, generic, strict=True) if is_generic}
    return tuple(term for term in dict.fromkeys(ANALYZER.terms(query)) if term in found)


def stronger_in(hit: Hit, other: Hit) -> dict[str, tuple[float, float]]:
    """The `COMPARABLE` signals in which `hit` lies above `other`: its value and the other's."""
    pairs = {n: (hit.signals.get(n), other.signals.get(n)) for n in COMPARABLE}
    return {n: (a, b) for n, (a, b) in pairs.items() if a is not None and b is not None and a > b}


def matched_words(query: str, skill: Skill) -> dict[str, list[str]]:
    """Field to the index terms (stems) it shares with `query`, in the query's order."""
    wanted = dict.fromkeys(ANALYZER.terms(query))
    texts = {
        "name": skill.name,
        "description": skill.description,
        "tags": " ".join(skill.tags),
        "body": skill.body,
    }
    held = {field: ANALYZER.counts(text) for field, text in texts.items()}
    shared = {field: [term for term in wanted if term in held[field]] for field in texts}
    return {field: terms for field, terms in shared.items() if terms}
