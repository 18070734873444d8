"""``load``: an exact look-up in the snapshot, then one page of text. Never a search."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from skillcue.library.beside import SkillFiles, files_beside
from skillcue.library.characters import clean
from skillcue.library.protocols import Snapshot
from skillcue.push.render import escape
from skillcue_hooks.contracts import Diagnostic, LoadedSkill, Scope, Skill
from skillcue_hooks.errors import SkillFileError

__all__ = [
    "FILES_LISTED",
    "PAGE_CHARS",
    "AssessFile",
    "load_skill",
    "quotable_pages",
    "shown_name",
    "split_pages",
]

PAGE_CHARS = 32_000
"""Most characters on one page, about 8,000 tokens; longer texts are split between lines."""
FILES_LISTED = 200
"""Most files beside a skill that `LoadedSkill.files` names."""


AssessFile = Callable[[Skill, Path, bytes, str], tuple[Diagnostic, ...]]
"""Gives what is found in a file of a skill: its path, its bytes, and their text."""


def split_pages(text: str, limit: int = PAGE_CHARS) -> list[str]:
    """`text` in pages of at most `limit` characters; joined they are `text` again.

    Breaks after a line where one ends in the second half of a page, else anywhere.
    """
    pages = []
    start = 0
    while len(text) - start > limit:
        newline = text.rfind("\n", start + limit // 2, start + limit)
        end = newline + 1 if newline >= 0 else start + limit
        pages.append(text[start:end])
        start = end
    return [*pages, text[start:]]


def quotable_pages(text: str) -> list[str]:
    """`text` in pages that stay below twice `PAGE_CHARS` when they are quoted.

    A quotation writes brackets as entities and puts a bar before each line, so a page of nothing
    else would grow to four times its size. Other texts have the pages of `split_pages`.
    """
    return [part for page in split_pages(text) for part in _light_parts(page)]


def _light_parts(page: str) -> list[str]:
    weight = len(page) + 3 * (page.count("<") + page.count(">")) + 2 * page.count("\n")
    if weight <= 2 * PAGE_CHARS:
        return [page]
    return [p for half in split_pages(page, len(page) // 2 + 1) for p in _light_parts(half)]


def shown_name(skill: Skill, snapshot: Snapshot, scope: Scope | None) -> str:
    """What to show, escaped, as the name of `skill`: a name that loads exactly it, else its id.

    Args:
        skill: The skill.
        snapshot: The library.
        scope: What a policy allows; what it hides takes no name.
    """
    shown = escape(snapshot.load_name(skill, scope))
    found = snapshot.find(shown, scope) or snapshot.find(html.unescape(shown), scope)
    same = found is not None and found.id == skill.id
    return shown if shown and same else escape(skill.id)


def load_skill(
    snapshot: Snapshot,
    scope: Scope | None,
    name: str,
    file: str | None,
    page: int,
    assess: AssessFile,
) -> LoadedSkill:
    """One page of a skill's body, or of a file beside it.

    Args:
        snapshot: The library.
        scope: What a policy allows.
        name: A name or an id.
        file: Path relative to the skill's folder; None for the body.
        page: From 1.
        assess: Asked about a file, the whole of it whichever page is wanted.

    Raises:
        SkillNotFoundError: No visible skill has that name; carries the closest ones.
        SkillFileError: The file does not exist, lies outside the folder, is no text, or has
            fewer pages.
    """
    skill = snapshot.resolve(name, scope)
    source = snapshot.source_of(skill)
    base_dir = source.base_dir(skill)
    beside = files_beside(source, skill, snapshot.closed_folders(skill, scope))
    files = beside.listing(FILES_LISTED).paths if beside else ()
    shown_file: str | None = None
    findings: tuple[Diagnostic, ...] = ()
    if file is None:
        text = source.read_body(skill)
    else:
        if beside is None:
            raise SkillFileError(f"{skill.name} has no files beside it.", "Load it without `file`.")
        shown_file = _resolved(skill, beside, file)
        path, data = beside.place(shown_file), beside.data(shown_file)
        decoded = beside.decoded(shown_file, data)
        findings = assess(skill, path, data, decoded)
        text = clean(decoded).text
    whole = LoadedSkill(
        skill, text, base_dir, files, total=len(text), file=shown_file, findings=findings
    )
    pages = quotable_pages(text) if whole.trust == "untrusted" else split_pages(text)
    if not 1 <= page <= len(pages):
        raise SkillFileError(
            f"{shown_file or skill.name} has {len(pages)} page{'s' * (len(pages) > 1)}, not {page}.",
            f"Pass a page from 1 to {len(pages)}." if len(pages) > 1 else "Pass page 1, or none.",
        )
    chosen = pages[page - 1]
    return replace(whole, text=chosen, shown=len(chosen), page=page, pages=len(pages))


def _resolved(skill: Skill, beside: SkillFiles, file: str) -> str:
    """The path that `file` means; an error lists no file of an untrusted skill, whose names are its
    words.
    """
    try:
        return beside.resolve(file)
    except SkillFileError as error:
        if skill.trust == "untrusted":
            cure = "Load it without `file` to see what it has."
            raise SkillFileError(error.message, cure) from None
        raise
