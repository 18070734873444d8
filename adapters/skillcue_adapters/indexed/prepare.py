"""From skills to what an index stores of them: terms, vectors, and the keys samples are drawn by.

Texts and keys are those of the modes over a library in memory, so that both draw the same sample
of the same skills.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from skillcue_adapters.analyzer import ANALYZER
from skillcue_adapters.bm25 import head_text
from skillcue_adapters.document_vectors import DocumentVectors
from skillcue_hooks.contracts import Skill
from skillcue_hooks.protocols import Encoder
from skillcue_hooks.skill_index import IndexedSkill

__all__ = ["Unprepared", "name_terms", "prepare"]


@dataclass(frozen=True, slots=True)
class Unprepared:
    """A skill as it was read.

    Attributes:
        skill: The skill; `Skill.body` is the part that is searched.
        text: The whole body; None where `Skill.body` is.
        names: See `IndexedSkill.names`.
        files: See `IndexedSkill.files`.
    """

    skill: Skill
    text: str | None = None
    names: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict, hash=False)


def prepare(
    items: Sequence[Unprepared], encoder: Encoder, vectors: DocumentVectors | None = None
) -> list[IndexedSkill]:
    """What an index stores of `items`, in their order.

    Args:
        items: Skills.
        encoder: Encodes the heads that have no vector yet, in one batch.
        vectors: Where vectors are found and kept; None keeps none.

    Raises:
        ConfigurationError: The encoder gives something else than vectors.
        Exception: Whatever the encoder raises.
    """
    if not items:
        return []
    known = DocumentVectors(encoder) if vectors is None else vectors
    heads = [head_text(item.skill) for item in items]
    keys = known.keys(heads)
    known.encode(encoder, keys, heads)
    rows = known.locate(encoder, keys).take(np.arange(len(items)))
    return [
        IndexedSkill(
            skill=item.skill,
            text=item.skill.body if item.text is None else item.text,
            head=ANALYZER.counts(head),
            body=ANALYZER.counts(item.skill.body),
            name=name_terms(item.skill.name),
            names=item.names,
            key=key.tobytes(),
            vector=row,
            files=item.files,
        )
        for item, head, key, row in zip(items, heads, keys, rows, strict=True)
    ]


def name_terms(name: str) -> str:
    """See `IndexedSkill.name`: what makes no difference in the lexical fields makes none here."""
    return " ".join(ANALYZER.terms(name))
