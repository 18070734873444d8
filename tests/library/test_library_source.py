"""Folder sources: what a scan holds, and how edits are seen."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from skillcue.library.limits import ReadLimits
from skillcue.library.opening import read_regular
from skillcue.library.reader import read_skill
from skillcue.library.source import FolderSource, StaticSource
from skillcue_hooks.contracts import Skill, SourceScan
from skillcue_hooks.errors import LibraryNotFoundError, SkillFileError
from skillcue_hooks.protocols import SkillSource

Put = Callable[..., Path]
Text = Callable[..., str]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths of the files that are really read, in order."""
    paths: list[str] = []
    original = read_regular

    def counting(path: str, *arguments: object) -> object:
        paths.append(path)
        return original(path, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("skillcue.library.source.read_regular", counting)
    return paths


def descriptions(scan: SourceScan) -> dict[str, str]:
    return {skill.id: skill.description for skill in scan.skills}


def test_sources_fit_the_protocol(tmp_path: Path) -> None:
    assert isinstance(FolderSource(tmp_path), SkillSource)
    assert isinstance(StaticSource("memory", ()), SkillSource)


def test_a_scan_fills_in_everything_about_a_skill(tmp_path: Path, put: Put) -> None:
    text = (
        "---\nname: Green Tea\ndescription: Brew it.\ntags: [hot]\nallowed-tools: Read\n"
        "license: MIT\n---\n\nBoil.\n"
    )
    path = put("lib/drinks/warm/green-tea/SKILL.md", text)
    (skill,) = FolderSource(tmp_path / "lib", trust="untrusted").scan(None).skills
    assert skill == Skill(
        id="Green%20Tea@drinks/warm/green-tea",
        name="Green Tea",
        description="Brew it.",
        body="Boil.",
        path=path,
        source="lib",
        tags=("hot",),
        metadata={"license": "MIT"},
        allowed_tools=("Read",),
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        trust="untrusted",
        category="drinks/warm",
        aliases=("green-tea",),
    )


@pytest.mark.parametrize("form", ["folder", "file", "relative", "home", "trailing slash"])
def test_a_path_may_be_written_in_many_ways(
    form: str, tmp_path: Path, put: Put, skill_text: Text, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("lib/tea/SKILL.md", skill_text("tea"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    written: dict[str, str | Path] = {
        "folder": tmp_path / "lib/tea",
        "file": tmp_path / "lib/tea/SKILL.md",
        "relative": "lib/tea",
        "home": "~/lib/tea",
        "trailing slash": f"{tmp_path}/lib/tea/",
    }
    source = FolderSource(written[form])
    source.check()
    scan = source.scan(None)
    assert [skill.id for skill in scan.skills] == ["tea@."]
    assert scan.skills[0].path == tmp_path / "lib/tea/SKILL.md"
    assert (scan.diagnostics, source.label) == ((), "tea")


def test_building_a_source_touches_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("disk access")

    for name in ("stat", "scandir", "listdir", "getcwd", "open"):
        monkeypatch.setattr(os, name, refuse)
    FolderSource("some/relative/path", label="x")


def test_a_relative_path_stays_what_it_was_on_first_use(
    tmp_path: Path, put: Put, skill_text: Text, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("one/lib/tea/SKILL.md", skill_text("tea"))
    (tmp_path / "two").mkdir()
    monkeypatch.chdir(tmp_path / "one")
    source = FolderSource("lib")
    first = source.scan(None)
    monkeypatch.chdir(tmp_path / "two")
    assert source.scan(first) is first


def test_a_missing_path_is_an_error_with_the_closest_names(tmp_path: Path) -> None:
    (tmp_path / "skills").mkdir()
    with pytest.raises(LibraryNotFoundError, match=r"does not exist.*Did you mean .*skills'\?"):
        FolderSource(tmp_path / "skils").check()
    with pytest.raises(LibraryNotFoundError, match="nearest folder that exists is"):
        FolderSource(tmp_path / "qqq/www/eee").check()


def test_a_file_that_is_no_skill_file_is_an_error(put: Put) -> None:
    with pytest.raises(LibraryNotFoundError, match="is a file"):
        FolderSource(put("notes.txt", "")).check()


def test_nothing_changed_gives_the_same_scan_and_reads_no_file(
    tmp_path: Path, put: Put, skill_text: Text, settle: Callable[[], None], reads: list[str]
) -> None:
    for name in ("tea", "milk"):
        put(f"{name}/SKILL.md", skill_text(name))
    settle()
    source = FolderSource(tmp_path)
    first = source.scan(None)
    assert len(reads) == 2
    assert source.scan(first) is first
    assert len(reads) == 2


def test_only_the_edited_file_is_read_again(
    tmp_path: Path, put: Put, skill_text: Text, settle: Callable[[], None], reads: list[str]
) -> None:
    for name in ("tea", "milk"):
        put(f"{name}/SKILL.md", skill_text(name))
    settle()
    source = FolderSource(tmp_path)
    first = source.scan(None)
    reads.clear()
    edited = put("tea/SKILL.md", skill_text("tea", "Brew it cold."))
    second = source.scan(first)
    assert reads == [str(edited)]
    assert descriptions(second) == {"tea@tea": "Brew it cold.", "milk@milk": "Brew a pot of tea."}
    assert second.fingerprint != first.fingerprint


def test_additions_deletions_and_renames_are_seen(
    tmp_path: Path, put: Put, skill_text: Text
) -> None:
    put("tea/SKILL.md", skill_text("tea"))
    source = FolderSource(tmp_path)
    scan = source.scan(None)
    put("milk/SKILL.md", skill_text("milk"))
    scan = source.scan(scan)
    assert [skill.id for skill in scan.skills] == ["milk@milk", "tea@tea"]
    shutil.rmtree(tmp_path / "tea")
    scan = source.scan(scan)
    assert [skill.id for skill in scan.skills] == ["milk@milk"]
    (tmp_path / "milk").rename(tmp_path / "oat")
    scan = source.scan(scan)
    assert [skill.id for skill in scan.skills] == ["milk@oat"]
    assert scan.skills[0].aliases == ("oat",)
    assert source.scan(scan) is scan


def test_an_edit_that_keeps_size_and_modification_time_is_seen(
    tmp_path: Path, put: Put, skill_text: Text, settle: Callable[[], None]
) -> None:
    path = put("tea/SKILL.md", skill_text("tea", "Brew AAA."))
    os.utime(path, ns=(10**18, 10**18))
    settle()
    source = FolderSource(tmp_path)
    first = source.scan(None)
    before = path.stat()
    path.write_text(skill_text("tea", "Brew BBB."), encoding="utf-8")
    os.utime(path, ns=(10**18, 10**18))
    after = path.stat()
    assert (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    assert descriptions(source.scan(first)) == {"tea@tea": "Brew BBB."}


def test_a_file_replaced_by_one_with_the_same_size_and_time_is_seen(
    tmp_path: Path, put: Put, skill_text: Text, settle: Callable[[], None]
) -> None:
    path = put("tea/SKILL.md", skill_text("tea", "Brew AAA."))
    other = put("other.md", skill_text("tea", "Brew BBB."))
    for file in (path, other):
        os.utime(file, ns=(10**18, 10**18))
    settle()
    source = FolderSource(tmp_path)
    first = source.scan(None)
    os.replace(other, path)
    assert descriptions(source.scan(first)) == {"tea@tea": "Brew BBB."}


def test_a_file_that_was_just_written_is_read_once_more(
    tmp_path: Path, put: Put, skill_text: Text, reads: list[str], settle: Callable[[], None]
) -> None:
    """Two edits within one tick of the file system's clock leave equal times behind."""
    put("tea/SKILL.md", skill_text("tea"))
    source = FolderSource(tmp_path)
    scan = source.scan(None)
    assert source.scan(scan) is scan
    assert len(reads) == 2
    settle()
    source.scan(scan)
    source.scan(scan)
    assert len(reads) == 3


def test_touching_a_file_changes_nothing(
    tmp_path: Path, put: Put, skill_text: Text, settle: Callable[[], None], reads: list[str]
) -> None:
    path = put("tea/SKILL.md", skill_text("tea"))
    settle()
    source = FolderSource(tmp_path)
    first = source.scan(None)
    path.touch()
    assert source.scan(first) is first
    assert len(reads) == 2


def test_one_bad_file_hurts_only_itself(tmp_path: Path, put: Put, skill_text: Text) -> None:
    put("a/SKILL.md", skill_text("a"))
    put("b/SKILL.md", bytes(range(256)) * 10)
    put("c/SKILL.md", skill_text("c"))
    scan = FolderSource(tmp_path).scan(None)
    assert [skill.name for skill in scan.skills] == ["a", "c"]
    assert [(item.code, item.path.parent.name) for item in scan.diagnostics] == [("not-text", "b")]


def test_a_reader_that_fails_hurts_only_that_file(
    tmp_path: Path, put: Put, skill_text: Text, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("a/SKILL.md", skill_text("a"))
    put("b/SKILL.md", skill_text("b"))
    original = read_skill

    def broken(data: bytes, *arguments: object) -> object:
        if b"name: a" in data:
            raise RuntimeError("bug")
        return original(data, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("skillcue.library.source.read_skill", broken)
    scan = FolderSource(tmp_path).scan(None)
    assert [skill.name for skill in scan.skills] == ["b"]
    assert [(item.code, item.message) for item in scan.diagnostics] == [
        ("reader-failed", "RuntimeError: bug")
    ]


def test_strict_leaves_out_what_is_not_clean(tmp_path: Path, put: Put, skill_text: Text) -> None:
    put("a/SKILL.md", skill_text("a"))
    put("b/SKILL.md", skill_text("b", "one: two"))
    scan = FolderSource(tmp_path, strict=True).scan(None)
    assert [skill.name for skill in scan.skills] == ["a"]
    assert [item.code for item in scan.diagnostics] == ["value-repaired", "strict-rejected"]


def test_a_folder_that_vanishes_leaves_the_last_good_scan_and_an_error(
    tmp_path: Path, put: Put, skill_text: Text
) -> None:
    put("lib/tea/SKILL.md", skill_text("tea"))
    source = FolderSource(tmp_path / "lib")
    first = source.scan(None)
    (tmp_path / "lib").rename(tmp_path / "away")
    gone = source.scan(first)
    assert gone.skills == first.skills
    assert [(item.code, item.severity) for item in gone.diagnostics] == [
        ("source-missing", "error")
    ]
    assert source.scan(gone) is gone
    (tmp_path / "away").rename(tmp_path / "lib")
    back = source.scan(gone)
    assert (back.skills, back.diagnostics) == (first.skills, ())


def test_a_folder_that_never_existed_gives_an_error_and_no_skill(tmp_path: Path) -> None:
    scan = FolderSource(tmp_path / "none").scan(None)
    assert (scan.skills, [item.code for item in scan.diagnostics]) == ((), ["source-missing"])


def test_progress_is_reported_while_files_are_read(
    tmp_path: Path, put: Put, skill_text: Text, settle: Callable[[], None]
) -> None:
    for number in range(130):
        put(f"s{number:03}/SKILL.md", skill_text(f"s{number:03}"))
    settle()
    calls: list[tuple[int, int]] = []
    source = FolderSource(tmp_path, progress=lambda done, total: calls.append((done, total)))
    scan = source.scan(None)
    assert calls == [(0, 130), (64, 130), (128, 130), (130, 130)]
    source.scan(scan)
    assert len(calls) == 4


def test_untrusted_sources_do_not_follow_links_out(
    tmp_path: Path, put: Put, skill_text: Text
) -> None:
    put("elsewhere/tea/SKILL.md", skill_text("tea"))
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/tea").symlink_to(tmp_path / "elsewhere/tea")
    lib = tmp_path / "lib"
    trusted = FolderSource(lib).scan(None)
    assert [skill.path for skill in trusted.skills] == [tmp_path / "elsewhere/tea/SKILL.md"]
    assert FolderSource(lib, trust="untrusted").scan(None).skills == ()
    widened = FolderSource(lib, trust="untrusted", follow_links_outside=True).scan(None)
    assert [(skill.id, skill.trust) for skill in widened.skills] == [("tea@tea", "untrusted")]
    rooted = FolderSource(lib, trust="untrusted", allowed_roots=[tmp_path / "elsewhere"])
    assert [skill.id for skill in rooted.scan(None).skills] == ["tea@tea"]


def test_files_beside_a_linked_skill_file_are_those_of_its_own_folder(
    tmp_path: Path, put: Put, skill_text: Text
) -> None:
    put("shared/tea.md", skill_text("tea"))
    (tmp_path / "tea").mkdir()
    (tmp_path / "tea/SKILL.md").symlink_to(tmp_path / "shared/tea.md")
    source = FolderSource(tmp_path)
    (skill,) = source.scan(None).skills
    assert source.base_dir(skill) == tmp_path / "tea"
    assert source.read_body(skill) == "# Steps\n\nBoil the water."


def test_body_is_read_whole_and_as_it_is_now(tmp_path: Path, put: Put, skill_text: Text) -> None:
    body = "\n" + "step line\n" * 120_000
    put("tea/SKILL.md", skill_text("tea", body=body))
    source = FolderSource(tmp_path)
    (skill,) = source.scan(None).skills
    assert len(skill.body) == 100_000
    assert source.read_body(skill) == body.strip()
    put("tea/SKILL.md", skill_text("tea", body="New."))
    assert source.read_body(skill) == "New."


def test_body_that_became_a_link_to_a_secret_is_refused(
    tmp_path: Path, put: Put, skill_text: Text
) -> None:
    secret = put("secret.txt", "password")
    path = put("lib/tea/SKILL.md", skill_text("tea"))
    source = FolderSource(tmp_path / "lib")
    (skill,) = source.scan(None).skills
    path.unlink()
    path.symlink_to(secret)
    with pytest.raises(SkillFileError):
        source.read_body(skill)
    path.unlink()
    with pytest.raises(SkillFileError, match="look the skill up again"):
        source.read_body(skill)


def test_size_limit_keeps_the_beginning_and_says_how_much(
    tmp_path: Path, put: Put, skill_text: Text
) -> None:
    text = skill_text("tea", body="é" * 400)
    put("tea/SKILL.md", text)
    source = FolderSource(tmp_path, limits=ReadLimits(file_bytes=200))
    scan = source.scan(None)
    assert scan.skills[0].body == source.read_body(scan.skills[0])
    assert set(scan.skills[0].body) == {"é"}
    assert [(item.code, item.message) for item in scan.diagnostics] == [
        ("file-too-large", f"200 of {len(text.encode())} bytes were read.")
    ]


def test_folder_names_nobody_can_print_give_usable_ids(tmp_path: Path, skill_text: Text) -> None:
    for raw in (b"caf\xe9", b"line\nbreak", "hid\u202eden".encode()):
        folder = os.path.join(os.fsencode(tmp_path), raw)
        os.mkdir(folder)
        with open(os.path.join(folder, b"SKILL.md"), "w", encoding="utf-8") as file:
            file.write(f"Brew {len(raw)} teas.\n")
    scan = FolderSource(tmp_path).scan(None)
    assert sorted((skill.name, skill.id) for skill in scan.skills) == [
        ("caf\ufffd", "caf\ufffd@caf%E9"),
        ("hidden", "hidden@hid%E2%80%AEden"),
        ("line break", "line%20break@line%0Abreak"),
    ]


def test_static_source_fills_in_what_a_skill_lacks() -> None:
    bare = Skill(id="", name="Iced Tea", description="Cold.", body="Pour.")
    source = StaticSource("memory", [bare], trust="untrusted")
    scan = source.scan(None)
    (skill,) = scan.skills
    assert (skill.id, skill.source, skill.trust) == ("Iced%20Tea@Iced Tea", "memory", "untrusted")
    assert len(skill.content_hash) == 64
    assert source.scan(scan) is scan
    assert (source.read_body(skill), source.base_dir(skill)) == ("Pour.", None)
