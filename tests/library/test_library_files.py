"""Files beside a SKILL.md: what is listed, what a name means, and that nothing else is read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from skillcue.library.files import FileListing, list_files, read_file_text, resolve_file
from skillcue.library.limits import ReadLimits
from skillcue_hooks.errors import SkillFileError

Put = Callable[..., Path]


@pytest.fixture
def skill(tmp_path: Path, put: Put) -> Path:
    base = tmp_path / "lib/tea"
    for name in ("SKILL.md", "guide.md", "scripts/brew.py", "refs/Water.md", "refs/deep/leaf.txt"):
        put(name, f"text of {name}", base)
    for name in (".env", ".git/config", "node_modules/x/index.js", "refs/.hidden"):
        put(name, "hidden", base)
    put("secret.txt", "password", tmp_path)
    return base


VISIBLE = ("guide.md", "refs/Water.md", "refs/deep/leaf.txt", "scripts/brew.py")


def test_listing_is_sorted_posix_and_leaves_out_hidden_files(skill: Path) -> None:
    assert list_files(skill) == FileListing(VISIBLE)


def test_listing_leaves_out_links_that_leave_the_folder(skill: Path, tmp_path: Path) -> None:
    (skill / "out.txt").symlink_to(tmp_path / "secret.txt")
    (skill / "out").symlink_to(tmp_path)
    (skill / "gone").symlink_to(tmp_path / "nowhere")
    (skill / "in.md").symlink_to("guide.md")
    (skill / "refs/loop").symlink_to(skill)
    assert list_files(skill).paths == ("guide.md", "in.md", *VISIBLE[1:])


def test_listing_leaves_out_names_that_cannot_be_printed(skill: Path) -> None:
    for raw in (b"caf\xe9.md", b"a\nb.md"):
        with open(os.path.join(os.fsencode(skill), raw), "wb"):
            pass
    os.mkdir(os.path.join(os.fsencode(skill), b"refs/\xff"))
    left_out = ("a%0Ab.md", "caf%E9.md", "refs/%FF")
    assert list_files(skill) == FileListing(VISIBLE, unprintable=left_out)
    assert (
        list_files(skill, limit=4, is_closed=lambda path: "refs" in path).unprintable
        == left_out[:2]
    )
    assert len(list_files(skill, limit=1).unprintable) == 1


def test_listing_is_bounded_and_says_so(skill: Path) -> None:
    assert list_files(skill, limit=2) == FileListing(VISIBLE[:2], complete=False)
    assert list_files(skill, limit=4).complete
    assert not list_files(skill, limits=ReadLimits(listed_entries=3)).complete
    assert not list_files(skill, limits=ReadLimits(walk_depth=1)).complete


def test_listing_of_a_folder_that_is_gone_is_empty(tmp_path: Path) -> None:
    assert list_files(tmp_path / "none") == FileListing(())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("guide.md", "guide.md"),
        ("./guide.md", "guide.md"),
        (" guide.md ", "guide.md"),
        ("`guide.md`", "guide.md"),
        ("refs//Water.md", "refs/Water.md"),
        ("refs\\Water.md", "refs/Water.md"),
        (".\\scripts\\brew.py", "scripts/brew.py"),
        ("guide", "guide.md"),
        ("refs/water", "refs/Water.md"),
        ("REFS/WATER.MD", "refs/Water.md"),
        ("leaf.txt", "refs/deep/leaf.txt"),
        ("leaf", "refs/deep/leaf.txt"),
        ("SKILL.md", "SKILL.md"),
        ("skill", "SKILL.md"),
    ],
)
def test_a_name_finds_the_one_file_it_fits(name: str, expected: str, skill: Path) -> None:
    assert resolve_file(skill, name) == skill / expected


@pytest.mark.parametrize(
    "name",
    ["../secret.txt", "refs/../../../secret.txt", "/etc/passwd", "C:\\secret.txt", "c:secret",
     "\\\\host\\share", "..", "", ".", "a\x00b", "..\\..\\secret.txt"],
)  # fmt: skip
def test_paths_out_of_the_skill_are_refused(name: str, skill: Path) -> None:
    with pytest.raises(SkillFileError, match="not a path inside the skill"):
        resolve_file(skill, name)


@pytest.mark.parametrize(
    "name", [".env", ".git/config", "node_modules/x/index.js", "out.txt", "out/secret.txt"]
)
def test_what_is_not_listed_does_not_resolve(name: str, skill: Path, tmp_path: Path) -> None:
    (skill / "out.txt").symlink_to(tmp_path / "secret.txt")
    (skill / "out").symlink_to(tmp_path)
    with pytest.raises(SkillFileError, match="has no file"):
        resolve_file(skill, name)


def test_a_link_inside_the_skill_resolves_to_its_target(skill: Path) -> None:
    (skill / "refs/alias.md").symlink_to("../guide.md")
    assert read_file_text(resolve_file(skill, "refs/alias.md")) == "text of guide.md"


def test_an_ambiguous_name_lists_the_candidates(skill: Path, put: Put) -> None:
    put("refs/guide.txt", "", skill)
    put("scripts/guide.txt", "", skill)
    with pytest.raises(SkillFileError, match=r"Use one of: refs/guide.txt, scripts/guide.txt\."):
        resolve_file(skill, "guide.txt")


def test_an_unknown_name_lists_the_files_closest_first(skill: Path) -> None:
    with pytest.raises(SkillFileError) as caught:
        resolve_file(skill, "scripts/brw.py")
    files = ", ".join(["scripts/brew.py", *VISIBLE[:3]])
    assert str(caught.value) == f"This skill has no file 'scripts/brw.py'. Files: {files}."


def test_a_folder_lists_what_is_in_it(skill: Path) -> None:
    with pytest.raises(SkillFileError, match=r"Files: refs/Water.md, refs/deep/leaf.txt, guide"):
        resolve_file(skill, "refs")


def test_a_long_list_is_cut_and_says_so(tmp_path: Path, put: Put) -> None:
    for number in range(30):
        put(f"f{number:02}.md", "")
    with pytest.raises(SkillFileError, match=r"f19\.md and 10 more\."):
        resolve_file(tmp_path, "zzz")


def test_a_skill_without_files_says_so(tmp_path: Path, put: Put) -> None:
    put("SKILL.md", "")
    with pytest.raises(SkillFileError, match="no files beside"):
        resolve_file(tmp_path, "zzz")


def test_text_is_decoded_and_cleaned(put: Put) -> None:
    assert read_file_text(put("a.md", "\ufeffone\r\ntwo\u200b\x07 café")) == "one\ntwo café"
    assert read_file_text(put("b.md", "hé".encode("utf-16"))) == "hé"
    assert read_file_text(put("c.md", b"caf\xe9 and more text")) == "caf\ufffd and more text"
    assert read_file_text(put("d.md", b"")) == ""


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\x00\x00", bytes(range(128, 256))])
def test_binary_files_are_refused_with_size_and_path(data: bytes, put: Put) -> None:
    path = put("logo.png", data)
    with pytest.raises(SkillFileError) as caught:
        read_file_text(path)
    assert f"{len(data)} bytes" in str(caught.value) and str(path) in str(caught.value)


def test_large_files_are_refused_with_size_limit_and_path(put: Put) -> None:
    path = put("long.md", "x" * 101)
    assert len(read_file_text(path, ReadLimits(file_bytes=101))) == 101
    with pytest.raises(SkillFileError, match=r"101 bytes; at most 100 \(file_bytes\)"):
        read_file_text(path, ReadLimits(file_bytes=100))


def test_a_file_swapped_for_a_link_after_resolving_is_not_read(skill: Path, tmp_path: Path) -> None:
    path = resolve_file(skill, "guide.md")
    path.unlink()
    path.symlink_to(tmp_path / "secret.txt")
    with pytest.raises(SkillFileError, match="cannot be read"):
        read_file_text(path)


def test_a_file_swapped_for_a_link_while_it_is_opened_is_not_read(
    skill: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (skill / "late.md").symlink_to(tmp_path / "secret.txt")
    monkeypatch.setattr(os.path, "islink", lambda _: False)  # it was a file a moment ago
    with pytest.raises(SkillFileError, match="cannot be read"):
        read_file_text(skill / "late.md")


def test_a_pipe_is_not_waited_for(skill: Path) -> None:
    os.mkfifo(skill / "pipe")
    assert "pipe" not in list_files(skill).paths
    with pytest.raises(SkillFileError, match="not a regular file"):
        read_file_text(skill / "pipe")
