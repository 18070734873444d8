"""What the numbers of `explain` mean, and which words of a query a skill holds where."""

from __future__ import annotations

from collections.abc import Mapping

from skillcue_adapters.analyzer import ANALYZER
from skillcue_hooks import Skill

__all__ = ["MEANINGS", "matched_words", "meaning"]

MEANINGS: Mapping[str, str] = {
    "head": "BM25 of the query in name, description and tags; 0 or more",
    "body": "BM25 of the query in the body; 0 or more",
    "evidence": "rare words shared by name, description and tags; 1 is a word no other has; the gate reads it",
    "evidence_body": "the same for the body; the gate reads it",
    "matched": "different words of the query in name, description and tags",
    "z": "standard deviations of the score above the mean of the library",
}
"""Signal name to one line, for the built-in modes."""


def meaning(signal: str, mode: str) -> str:
    """One line about a signal; plugins document their own."""
    return MEANINGS.get(signal, f"see the documentation of mode {mode}")


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
