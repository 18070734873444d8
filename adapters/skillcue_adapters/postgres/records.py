"""Skills as rows: what is searched for in SQL beside what comes back as it was."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from skillcue_adapters.postgres.facts import packed
from skillcue_hooks.contracts import Skill
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.skill_index import IndexedSkill

__all__ = [
    "Record",
    "check_id",
    "check_tenant",
    "decoded",
    "digest_of",
    "from_bytes",
    "plain_text",
    "read_payload",
    "sort_name",
    "to_bytes",
    "to_payload",
]

ID_BYTES = 2000
"""Longest id that fits into an index of PostgreSQL, with name and tenant beside it."""

TENANT_BYTES = 128
"""Longest name of a tenant, likewise."""

NAME_CHARS = 100
"""Names are looked for and sorted by so many characters; what is longer is compared afterwards."""

_NOT_TEXT = re.compile("[\x00\ud800-\udfff]")

_FIELDS = tuple(field.name for field in dataclasses.fields(Skill) if field.name != "body")
_TUPLES = frozenset(
    field.name for field in dataclasses.fields(Skill) if str(field.type).startswith("tuple")
)


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """What a payload holds.

    Attributes:
        skill: Without its body.
        name: `IndexedSkill.name`.
        names: `IndexedSkill.names`.
    """

    skill: Skill
    name: str
    names: tuple[str, ...]


def to_bytes(text: str) -> bytes:
    """Any text, lone surrogates included, as bytes; `from_bytes` undoes it."""
    return text.encode("utf-8", "surrogatepass")


def from_bytes(data: bytes) -> str:
    """See `to_bytes`."""
    return data.decode("utf-8", "surrogatepass")


def plain_text(text: str) -> str:
    """`text` with U+FFFD for what PostgreSQL refuses: for what is searched, not for what is kept."""
    return _NOT_TEXT.sub("\ufffd", text)


def sort_name(text: str) -> str:
    """The beginning of a text, as names are looked for and sorted."""
    return plain_text(text[:NAME_CHARS])


def check_id(skill_id: str) -> str:
    """An id as it is.

    Raises:
        ConfigurationError: PostgreSQL cannot hold it.
    """
    if _NOT_TEXT.search(skill_id) or len(to_bytes(skill_id)) > ID_BYTES:
        raise ConfigurationError(
            f"The id {skill_id[:100]!r} cannot be stored.",
            f"Ids have {ID_BYTES} bytes at most and no NUL; shorten the path of the skill.",
        )
    return skill_id


def check_tenant(tenant: str) -> str:
    """A tenant's name as it is.

    Raises:
        ConfigurationError: PostgreSQL cannot hold it.
    """
    if _NOT_TEXT.search(tenant) or len(to_bytes(tenant)) > TENANT_BYTES:
        raise ConfigurationError(
            f"{tenant[:100]!r} cannot be the name of a tenant.",
            f"Names have {TENANT_BYTES} bytes at most and no NUL.",
        )
    return tenant


def to_payload(item: IndexedSkill) -> str:
    """Everything but texts, terms, vector and files, as JSON that PostgreSQL takes."""
    record = {name: getattr(item.skill, name) for name in _FIELDS}
    record["path"] = item.skill.path.as_posix()
    record["metadata"] = dict(item.skill.metadata)
    return _json({"skill": record, "name": item.name, "names": item.names})


@lru_cache(maxsize=16_384)
def read_payload(payload: bytes) -> Record:
    """What `to_payload` wrote."""
    found = json.loads(payload)
    fields: dict[str, Any] = {n: v for n, v in found["skill"].items() if n in _FIELDS}
    for name in _TUPLES & fields.keys():
        fields[name] = tuple(fields[name])
    fields["path"] = Path(fields["path"])
    return Record(Skill(**fields), found["name"], tuple(found["names"]))


def decoded(payload: bytes, body: bytes | None, text: bytes) -> Skill:
    """A skill with its body; None: it is the whole text."""
    skill = read_payload(payload).skill
    return dataclasses.replace(skill, body=from_bytes(text if body is None else body))


def digest_of(item: IndexedSkill) -> bytes:
    """Names everything that is stored of a skill."""
    digest = hashlib.sha256()
    vector = np.asarray(item.vector, dtype=np.float32)
    parts = [
        to_payload(item).encode(),
        to_bytes(item.skill.body),
        to_bytes(item.text),
        packed(item.head, item.body).tobytes(),
        item.key,
        vector.tobytes(),
        *(part for path in sorted(item.files) for part in (to_bytes(path), item.files[path])),
    ]
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


def _json(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate, which only an escape can hold
        text = json.dumps(value, separators=(",", ":"))
    return text
