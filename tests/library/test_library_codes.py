"""Every documented diagnostic can happen, and each one says what to do."""

from __future__ import annotations

import os
import re
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skillcue.library.codes import CODES, diagnostic
from skillcue.library.limits import ReadLimits
from skillcue.library.live import LiveLibrary
from skillcue.library.lock_codes import LOCK_CODES
from skillcue.library.scan_codes import SCAN_CODES
from skillcue.library.source import FolderSource, StaticSource
from skillcue.library.walker import walk
from skillcue.remote import ArchiveSource, SqliteSource
from skillcue_hooks.contracts import Diagnostic, Skill, SourceScan
from skillcue_hooks.errors import ConfigurationError

HEAD = "name: tea\ndescription: Brew tea.\n"
SMALL = ReadLimits(file_bytes=300, body_chars=20, header_nodes=20, walk_depth=1, walk_folders=3)


def header(text: str) -> bytes:
    return f"---\n{text}---\n\nBoil.\n".encode()


FILES: dict[str, bytes] = {
    "not-text": bytes(range(256)),
    "file-too-large": header(HEAD) + b"x" * 300,
    "encoding-utf16": header(HEAD).decode().encode("utf-16"),
    "encoding-invalid": header(HEAD) + b"caf\xe9",
    "control-characters": header("name: tea\ndescription: a\x07b\n"),
    "invisible-characters": header("name: tea\ndescription: a\u200bb\n"),
    "body-shortened": header(HEAD) + b"x" * 30,
    "header-missing": b"Brew tea.\n",
    "header-empty": b"---\n---\nBrew tea.\n",
    "header-unterminated": b"---\n" + HEAD.encode() + b"\nBoil.\n",
    "header-not-a-map": header("- tea\n"),
    "header-too-large": header(HEAD + "".join(f"k{n}: [v]\n" for n in range(12))),
    "text-before-header": b"\n" + header(HEAD),
    "fence-trailing-blanks": header(HEAD).replace(b"---\n", b"--- \n"),
    "value-repaired": header("name: tea\ndescription: a: b\n"),
    "comment-kept": header("name: tea\ndescription: a #1\n"),
    "field-unreadable": header(HEAD + "metadata:\n  {a: [\n"),
    "field-not-text": header("name: tea\ndescription: [a]\n"),
    "allowed-tools-unclear": header(HEAD + "allowed-tools: Edit(src/**)\n"),
    "field-not-boolean": header(HEAD + "user-invocable: maybe\n"),
    "key-duplicate": header(HEAD + "name: milk\n"),
    "key-spelling": header("Name: tea\ndescription: Brew tea.\n"),
    "name-missing": header("description: Brew tea.\n"),
    "name-unsafe": header("name: green tea\ndescription: Brew tea.\n"),
    "name-folder-mismatch": header("name: milk\ndescription: Brew tea.\n"),
    "description-missing": header("name: tea\n"),
    "description-unavailable": b"---\nname: tea\n---\n",
}
"""Code to the content of ``tea/SKILL.md`` that causes it."""


def scan(root: Path, limits: ReadLimits = SMALL, strict: bool = False) -> tuple[Diagnostic, ...]:
    return FolderSource(root, limits=limits, strict=strict).scan(None).diagnostics


def put(root: Path, relative: str, data: bytes = header(HEAD)) -> Path:
    path = root / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def long_description(root: Path) -> tuple[Diagnostic, ...]:
    put(root, "tea/SKILL.md", header(f"name: tea\ndescription: {'x' * 1100}\n"))
    return scan(root, ReadLimits())


def other_spelling(root: Path) -> tuple[Diagnostic, ...]:
    put(root, "tea/skill.md")
    return scan(root)


def strictly(root: Path) -> tuple[Diagnostic, ...]:
    put(root, "tea/SKILL.md", FILES["value-repaired"])
    return scan(root, strict=True)


def vanishing(root: Path) -> tuple[Diagnostic, ...]:
    """The file is there for the walk and gone, or something else, for the reader."""
    path = put(root, "tea/SKILL.md")
    original = walk

    def walk_then_delete(*arguments: object) -> object:
        result = original(*arguments)  # type: ignore[arg-type]
        path.unlink()
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skillcue.library.source.walk", walk_then_delete)
        return scan(root)


def broken_reader(root: Path) -> tuple[Diagnostic, ...]:
    put(root, "tea/SKILL.md")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skillcue.library.source.read_skill", None)
        return scan(root)


def pipe(root: Path) -> tuple[Diagnostic, ...]:
    (root / "tea").mkdir()
    os.mkfifo(root / "tea/SKILL.md")
    return scan(root)


def unlisted_folder(root: Path) -> tuple[Diagnostic, ...]:
    """As for a folder without permission, which root may read anyway."""
    put(root, "tea/notes.txt")
    original = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("tea"):
            raise PermissionError(13, "Permission denied")
        return original(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "scandir", refuse)
        return scan(root)


def folder_as_file(root: Path) -> tuple[Diagnostic, ...]:
    (root / "tea/SKILL.md").mkdir(parents=True)
    return scan(root)


def link(target: str) -> Callable[[Path], tuple[Diagnostic, ...]]:
    def run(root: Path) -> tuple[Diagnostic, ...]:
        put(root, "secret")
        put(root, "lib/tea/SKILL.md")
        (root / "lib/x").mkdir()
        (root / "lib/x/SKILL.md").symlink_to(root / target)
        (root / "lib/again").symlink_to(root / "lib/tea")
        return scan(root / "lib", ReadLimits())

    return run


def many_folders(root: Path) -> tuple[Diagnostic, ...]:
    for number in range(5):
        put(root, f"s{number}/SKILL.md")
    return scan(root)


def deep_folder(root: Path) -> tuple[Diagnostic, ...]:
    put(root, "a/b/SKILL.md")
    return scan(root)


def nested(root: Path) -> tuple[Diagnostic, ...]:
    put(root, "SKILL.md")
    put(root, "a/SKILL.md")
    return scan(root)


def copies(*contents: bytes) -> Callable[[Path], tuple[Diagnostic, ...]]:
    def run(root: Path) -> tuple[Diagnostic, ...]:
        for number, data in enumerate(contents):
            put(root, f"g{number}/tea/SKILL.md", data)
        return LiveLibrary([FolderSource(root)]).snapshot().diagnostics

    return run


class Failing(StaticSource):
    def scan(self, previous: SourceScan | None = None) -> SourceScan:
        raise RuntimeError("no")


def failing_assessor(root: Path) -> tuple[Diagnostic, ...]:
    def assess(skill: Skill, _text: str) -> None:
        raise RuntimeError(skill.name)

    put(root, "tea/SKILL.md")
    return LiveLibrary([FolderSource(root)], assess=assess).snapshot().diagnostics


def from_file(data: bytes) -> Callable[[Path], tuple[Diagnostic, ...]]:
    def run(root: Path) -> tuple[Diagnostic, ...]:
        put(root, "tea/SKILL.md", data)
        return scan(root)

    return run


def from_zip(members: dict[str, bytes] | None) -> Callable[[Path], tuple[Diagnostic, ...]]:
    def run(root: Path) -> tuple[Diagnostic, ...]:
        if members is not None:
            with zipfile.ZipFile(root / "tea.zip", "w") as archive:
                for name, data in members.items():
                    archive.writestr(name, data)
        return ArchiveSource(root / "tea.zip").scan(None).diagnostics

    return run


def row_without_text(root: Path) -> tuple[Diagnostic, ...]:
    database = sqlite3.connect(root / "tea.db")
    database.execute("CREATE TABLE skills (text)")
    database.execute("INSERT INTO skills VALUES (7)")
    database.commit()
    database.close()
    return SqliteSource(root / "tea.db", "skills").scan(None).diagnostics


def related(tea: str, cup: str, **options: Any) -> Callable[[Path], tuple[Diagnostic, ...]]:
    def run(root: Path) -> tuple[Diagnostic, ...]:
        put(root, "tea/SKILL.md", header(f"{HEAD}{tea}\n"))
        put(root, "cup/SKILL.md", header(f"name: cup\ndescription: Fill a cup.\n{cup}\n"))
        put(root, "pot/SKILL.md", header("name: pot\ndescription: Fill a pot.\nprecedes: tea\n"))
        return LiveLibrary([FolderSource(root, **options)]).snapshot().diagnostics

    return run


CAUSES: dict[str, Callable[[Path], tuple[Diagnostic, ...]]] = {
    **{code: from_file(data) for code, data in FILES.items()},
    "description-long": long_description,
    "file-name-spelling": other_spelling,
    "strict-rejected": strictly,
    "file-unreadable": vanishing,
    "reader-failed": broken_reader,
    "not-a-regular-file": pipe,
    "folder-unreadable": unlisted_folder,
    "skill-file-is-folder": folder_as_file,
    "link-broken": link("nowhere"),
    "link-outside": link("secret"),
    "link-already-seen": link("lib/tea/SKILL.md"),
    "depth-limit": deep_folder,
    "folder-limit": many_folders,
    "nested-skills": nested,
    "no-skills-found": scan,
    "source-missing": lambda root: scan(root / "none"),
    "source-failed": lambda _: LiveLibrary([Failing("x", ())]).snapshot().diagnostics,
    "source-unreachable": from_zip(None),
    "source-refused": from_zip({"../tea/SKILL.md": header(HEAD)}),
    "source-part-left-out": row_without_text,
    "equal-content": copies(header(HEAD), header(HEAD)),
    "name-collision": copies(header(HEAD), header(HEAD) + b"More."),
    "assessment-failed": failing_assessor,
    "relation-unknown": related("requires: kettle", ""),
    "relation-contradiction": related("precedes: cup", "precedes: tea"),
    "relation-cycle": related("precedes: cup", "precedes: pot"),
    "relation-untrusted": related("precedes: cup", "", trust="untrusted"),
}


@pytest.mark.parametrize("code", sorted({*CODES, *CAUSES} - {*SCAN_CODES, *LOCK_CODES}))
def test_every_code_is_documented_and_can_happen(code: str, tmp_path: Path) -> None:
    emitted = {item.code: item for item in CAUSES[code](tmp_path)}
    entry, item = CODES[code], emitted[code]
    assert (item.severity, item.remedy) == (entry.severity, entry.remedy)
    assert item.message


@pytest.mark.parametrize("code", sorted(CODES))
def test_codes_are_kebab_case_and_explained(code: str) -> None:
    entry = CODES[code]
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", code)
    assert entry.meaning.endswith(".") and entry.remedy.endswith(".")


def test_an_undocumented_code_cannot_be_emitted() -> None:
    with pytest.raises(KeyError):
        diagnostic("made-up", Path("x"), "message")


def test_messages_can_always_be_printed() -> None:
    diagnostic("file-unreadable", Path("x"), "caf\udce9").message.encode("utf-8")


@pytest.mark.parametrize("value", [0, -1])
def test_limits_must_be_positive(value: int) -> None:
    with pytest.raises(ConfigurationError, match="body_chars"):
        ReadLimits(body_chars=value)
