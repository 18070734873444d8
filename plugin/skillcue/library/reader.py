"""SKILL.md to `Skill`: the one reader behind list, lookup, load and push.

It accepts what people really write, reports everything that is not clean, and never raises for
what a file holds. Files are never changed and nothing in them is executed or expanded.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from skillcue.library.characters import nfc
from skillcue.library.document import read_document
from skillcue.library.fields import Fields, read_fields
from skillcue.library.limits import DEFAULT_LIMITS, ReadLimits
from skillcue.library.naming import skill_id
from skillcue.library.notes import Notes
from skillcue_hooks.contracts import Diagnostic, Skill, Trust

__all__ = ["Origin", "ReadResult", "read_body", "read_skill"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a file comes from.

    Attributes:
        path: The SKILL.md file.
        relative: Its folder, relative to the source, POSIX; ``.`` for the source itself.
        folder: Name of its folder, fit to be shown.
        source: Label of the source.
        trust: Trust level of the source.
        ignored: File names beside it that differ from ``SKILL.md`` in case only.
    """

    path: Path
    relative: str = "."
    folder: str = ""
    source: str = ""
    trust: Trust = "trusted"
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadResult:
    """One file, read.

    Attributes:
        skill: None when the file was rejected; an error among `diagnostics` says why.
        diagnostics: Everything that is not clean, in order of detection.
    """

    skill: Skill | None
    diagnostics: tuple[Diagnostic, ...] = ()


def read_skill(
    data: bytes,
    origin: Origin,
    limits: ReadLimits = DEFAULT_LIMITS,
    strict: bool = False,
    size: int | None = None,
) -> ReadResult:
    """Read one file. Never raises for what is in it.

    Args:
        data: The file; anything behind ``limits.file_bytes`` is ignored.
        origin: Where it comes from.
        limits: Bounds.
        strict: Reject the file when there is any warning about it.
        size: Bytes of the whole file, where `data` is only its beginning.
    """
    notes = Notes(origin.path)
    _note_spelling(origin, notes)
    document = read_document(data, limits, notes, size)
    if document is None:
        return ReadResult(None, notes.items)
    fields = read_fields(
        document.header, document.header_line, document.body, origin.folder, limits, notes
    )
    body = nfc(document.body)
    if len(body) > limits.body_chars:
        notes.add("body-shortened", f"{limits.body_chars} of {len(body)} characters are indexed.")
        body = body[: limits.body_chars]
    worst = [item.code for item in notes.items if item.severity != "info"]
    if strict and worst:
        notes.add("strict-rejected", f"Not clean: {', '.join(dict.fromkeys(worst))}.")
        return ReadResult(None, notes.items)
    return ReadResult(_skill(origin, fields, body, document.content_hash), notes.items)


def read_body(
    data: bytes,
    path: Path,
    limits: ReadLimits = DEFAULT_LIMITS,
) -> str:
    """The whole body of a file, as far as ``limits.file_bytes`` goes.

    Hidden characters are left out as in `Skill.body`; nothing else is changed or cut. Empty
    for a file that is not text.
    """
    document = read_document(data, limits, Notes(path), None)
    return document.body if document else ""


def _skill(origin: Origin, fields: Fields, body: str, content_hash: str) -> Skill:
    category = origin.relative.rpartition("/")[0]
    return Skill(
        id=skill_id(fields.name, origin.relative),
        name=fields.name,
        description=fields.description,
        body=body,
        path=origin.path,
        source=origin.source,
        tags=fields.tags,
        metadata=fields.metadata,
        allowed_tools=fields.allowed_tools,
        content_hash=content_hash,
        trust=origin.trust,
        category=category,
        aliases=fields.aliases,
        description_derived=fields.description_derived,
        searchable=not fields.hidden_from_model,
        pushable=fields.pushable,
        user_invocable=fields.user_invocable,
    )


def _note_spelling(origin: Origin, notes: Notes) -> None:
    if origin.path.name != "SKILL.md":
        notes.add("file-name-spelling", f"The file is called {origin.path.name!r}.")
    if origin.ignored:
        others = ", ".join(repr(name) for name in origin.ignored)
        notes.add("file-name-spelling", f"{others} beside {origin.path.name!r} is not read.")
