"""Skills as an index stores them, made from plain words."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Mapping
from typing import Any

from skillcue_hooks.skill_index import IndexedSkill
from skillcue_hooks.testing.fakes import FakeEncoder, make_skill

__all__ = ["make_indexed", "words_of"]


def words_of(text: str) -> Counter[str]:
    """Words of a text and how often each occurs."""
    return Counter(text.casefold().replace(".", " ").split())


def make_indexed(
    name: str,
    description: str = "",
    body: str = "",
    *,
    tenant: str = "",
    text: str | None = None,
    files: Mapping[str, bytes] | None = None,
    encoder: FakeEncoder | None = None,
    **fields: Any,
) -> IndexedSkill:
    """A skill with what an index stores of it; terms are plain words.

    Args:
        name: As in `make_skill`, like `description`, `body` and `fields`.
        description: See `name`.
        body: See `name`.
        tenant: Is in front of the path in its id, so that ids of several tenants differ.
        text: The whole body; None takes `body`.
        files: Files beside it.
        encoder: Whose vectors; None takes a `FakeEncoder` of 32 numbers.
        fields: Further fields of `Skill`.
    """
    encoder = encoder or FakeEncoder()
    fields.setdefault("id", f"{name}@{tenant}/{name}" if tenant else f"{name}@{name}")
    skill = make_skill(name, description, body, **fields)
    head = f"{name} {description}"
    key = hashlib.sha256(f"{encoder.fingerprint}\0{head}".encode("utf-8", "surrogatepass"))
    return IndexedSkill(
        skill=skill,
        text=body if text is None else text,
        head=words_of(head),
        body=words_of(body),
        name=" ".join(words_of(name)),
        names=tuple(dict.fromkeys([name, name.casefold(), *skill.aliases])),
        key=key.digest(),
        vector=array("f", encoder.encode_documents([head])[0]),
        files=files or {},
    )
