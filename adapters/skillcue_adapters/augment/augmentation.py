"""What is added to a skill's index entry, made by rule, and how good it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from skillcue_adapters.augment.profile import profile_tags
from skillcue_adapters.augment.pseudo_queries import PseudoQuery, pseudo_queries
from skillcue_adapters.augment.skill_graph import parse_skill_graph
from skillcue_hooks.contracts import Skill
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.language import Usage

__all__ = ["VERSION", "Augmentation", "Quality", "augment_by_rules", "content_key", "quality"]

VERSION = 1
"""Raised whenever the same file gives another augmentation; older ones are then made again."""


@dataclass(frozen=True, slots=True)
class Augmentation:
    """What is added to a skill.

    Attributes:
        tags: Four, or none; see `skillcue_adapters.augment.profile`.
        queries: Requests that passed all checks.
        tried: Requests that were made, those that did not pass included.
        capabilities: Names of the skill's capabilities.
        maker: ``rules``, or ``model``.
        fallback: Why the rules made it although a model was to, else None.
        usage: What the model took.
    """

    tags: tuple[str, ...]
    queries: tuple[PseudoQuery, ...]
    tried: int
    capabilities: tuple[str, ...]
    maker: str = "rules"
    fallback: str | None = None
    usage: Usage = field(default_factory=Usage)

    def terms(self) -> tuple[str, ...]:
        """The texts that are indexed."""
        return (*self.tags, *(query.text for query in self.queries))


@dataclass(frozen=True, slots=True)
class Quality:
    """How good pseudo-queries are; after Skill2Query, appendix A.4. Shares are 0 to 1.

    Attributes:
        exec_pass: Share of the requests made that fit names, required parameters, types, ranges
            and choices; None where none was made.
        func_coverage: Share of a skill's capabilities that a request asks for, mean over skills.
        distinct_3: Different trigrams of words among all trigrams of the requests; None where
            there is no trigram.
        queries: Requests that passed.
        tried: Requests that were made.
    """

    exec_pass: float | None
    func_coverage: float | None
    distinct_3: float | None
    queries: int
    tried: int


def augment_by_rules(skill: Skill) -> Augmentation:
    """Tags and requests without a model; equal files give equal ones."""
    graph = parse_skill_graph(skill)
    queries, tried = pseudo_queries(graph, skill.name)
    names = tuple(capability.name for capability in graph.capabilities)
    return Augmentation(profile_tags(skill), queries, tried, names)


def content_key(skill: Skill) -> str:
    """Names what an augmentation is made of (hex): version, name, description and body."""
    return fingerprint("augmentation", VERSION, skill.name, skill.description, skill.body)


def quality(augmentations: Iterable[Augmentation]) -> Quality:
    """How good the requests of a library are."""
    made = list(augmentations)
    queries = [query for item in made for query in item.queries]
    tried = sum(item.tried for item in made)
    coverages = [_coverage(item) for item in made if item.capabilities]
    trigrams = [t for query in queries for t in _trigrams(query.text)]
    return Quality(
        exec_pass=len(queries) / tried if tried else None,
        func_coverage=sum(coverages) / len(coverages) if coverages else None,
        distinct_3=len(set(trigrams)) / len(trigrams) if trigrams else None,
        queries=len(queries),
        tried=tried,
    )


def _coverage(item: Augmentation) -> float:
    asked = {query.capability for query in item.queries}
    return len(asked & set(item.capabilities)) / len(item.capabilities)


def _trigrams(text: str) -> list[tuple[str, ...]]:
    words = text.lower().split()
    return [tuple(words[n : n + 3]) for n in range(len(words) - 2)]
