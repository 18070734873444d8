"""Which folders count as skills, which links are followed, and that nothing is skipped silently."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from skillcue.library.limits import ReadLimits
from skillcue.library.walker import WalkResult, walk

Put = Callable[..., Path]
LIMITS = ReadLimits()


def found(result: WalkResult) -> list[str]:
    return [item.relative for item in result.found]


def codes(result: WalkResult) -> list[tuple[str, str]]:
    return [(item.code, item.path.name) for item in result.diagnostics]


def test_skills_are_found_at_any_depth_in_order_of_depth_and_name(tmp_path: Path, put: Put) -> None:
    for folder in ("b", "a/z", "a/y", "outdoor/plants/garden", "c"):
        put(f"{folder}/SKILL.md", "")
    result = walk(str(tmp_path), LIMITS)
    assert found(result) == ["b", "c", "a/y", "a/z", "outdoor/plants/garden"]
    assert result.diagnostics == ()


def test_descent_stops_at_a_skill_and_prunes_vendored_and_hidden_folders(
    tmp_path: Path, put: Put
) -> None:
    put("tea/SKILL.md", "")
    for inside in ("tea/examples/x", "node_modules/x", ".git/x", ".venv/x", "a/__pycache__/x"):
        put(f"{inside}/SKILL.md", "")
    assert found(walk(str(tmp_path), LIMITS)) == ["tea"]


def test_a_hidden_folder_may_be_the_source_itself(tmp_path: Path, put: Put) -> None:
    put("project/.claude/skills/tea/SKILL.md", "")
    put("project/readme.md", "")
    assert found(walk(str(tmp_path / "project/.claude/skills"), LIMITS)) == ["tea"]
    result = walk(str(tmp_path / "project"), LIMITS)
    assert codes(result) == [("no-skills-found", "project")]
    assert str(tmp_path / "project/.claude/skills") in result.diagnostics[0].message


def test_the_source_may_be_a_skill(tmp_path: Path, put: Put) -> None:
    put("SKILL.md", "")
    result = walk(str(tmp_path), LIMITS)
    assert (found(result), codes(result)) == (["."], [])


def test_skills_below_a_source_that_is_a_skill_are_reported(tmp_path: Path, put: Put) -> None:
    put("SKILL.md", "")
    put("skills/tea/SKILL.md", "")
    put("node_modules/x/SKILL.md", "")
    result = walk(str(tmp_path), LIMITS)
    assert found(result) == ["."]
    assert [(item.code, item.message) for item in result.diagnostics] == [
        ("nested-skills", "1 SKILL.md files lie inside it.")
    ]


@pytest.mark.parametrize("spelling", ["skill.md", "SKILL.MD", "Skill.md"])
def test_other_spellings_are_found(tmp_path: Path, put: Put, spelling: str) -> None:
    put(f"tea/{spelling}", "")
    (item,) = walk(str(tmp_path), LIMITS).found
    assert (item.file, item.ignored) == (spelling, ())


def test_the_exact_spelling_wins(tmp_path: Path, put: Put) -> None:
    for spelling in ("skill.md", "SKILL.md", "SKILL.MD"):
        put(f"tea/{spelling}", "")
    (item,) = walk(str(tmp_path), LIMITS).found
    assert (item.file, item.ignored) == ("SKILL.md", ("SKILL.MD", "skill.md"))


def test_a_folder_called_skill_md_is_reported_and_the_walk_goes_on(
    tmp_path: Path, put: Put
) -> None:
    put("odd/SKILL.md/notes.txt", "")
    put("odd/tea/SKILL.md", "")
    put("good/SKILL.md", "")
    result = walk(str(tmp_path), LIMITS)
    assert found(result) == ["good", "odd/tea"]
    assert codes(result) == [("skill-file-is-folder", "SKILL.md")]


def test_a_pipe_called_skill_md_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "tea").mkdir()
    os.mkfifo(tmp_path / "tea/SKILL.md")
    result = walk(str(tmp_path), LIMITS)
    assert found(result) == []
    assert ("not-a-regular-file", "SKILL.md") in codes(result)


def test_dangling_and_circular_links_are_reported(tmp_path: Path, put: Put) -> None:
    put("good/SKILL.md", "")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "tea").mkdir()
    (tmp_path / "tea/SKILL.md").symlink_to(tmp_path / "nowhere.md")
    result = walk(str(tmp_path), LIMITS)
    assert found(result) == ["good"]
    assert codes(result) == [
        ("link-broken", "gone"), ("link-broken", "loop"), ("link-broken", "SKILL.md"),
    ]  # fmt: skip


def test_a_linked_skill_folder_is_found_with_its_real_path(tmp_path: Path, put: Put) -> None:
    put("elsewhere/tea-2/SKILL.md", "")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/tea").symlink_to(tmp_path / "elsewhere/tea-2")
    (item,) = walk(str(tmp_path / "lib"), LIMITS).found
    assert item.relative == "tea"
    assert item.folder == os.path.realpath(tmp_path / "elsewhere/tea-2")


def test_a_linked_folder_of_skills_is_searched(tmp_path: Path, put: Put) -> None:
    put("elsewhere/a/SKILL.md", "")
    put("elsewhere/b/SKILL.md", "")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/more").symlink_to(tmp_path / "elsewhere")
    assert found(walk(str(tmp_path / "lib"), LIMITS)) == ["more/a", "more/b"]


def test_links_out_of_the_source_can_be_forbidden(tmp_path: Path, put: Put) -> None:
    put("elsewhere/a/SKILL.md", "")
    put("lib/real/b/SKILL.md", "")
    (tmp_path / "lib/a").symlink_to(tmp_path / "elsewhere/a")
    lib = str(tmp_path / "lib")
    result = walk(lib, LIMITS, follow_outside=False)
    assert found(result) == ["real/b"]
    assert codes(result) == [("link-outside", "a")]
    allowed = [os.path.realpath(tmp_path / "elsewhere")]
    assert found(walk(lib, LIMITS, allowed, follow_outside=False)) == ["a", "real/b"]


def test_link_cycles_end_and_every_skill_is_found_once(tmp_path: Path, put: Put) -> None:
    put("tea/SKILL.md", "")
    put("group/milk/SKILL.md", "")
    (tmp_path / "group/up").symlink_to(tmp_path)
    (tmp_path / "group/again").symlink_to(tmp_path / "group")
    (tmp_path / "a-tea").symlink_to(tmp_path / "tea")
    (tmp_path / "group/root").symlink_to("/")
    result = walk(str(tmp_path), LIMITS)
    assert found(result) == ["tea", "group/milk"]
    assert codes(result) == [
        ("link-already-seen", name) for name in ("a-tea", "again", "root", "up")
    ]


def test_a_skill_reached_through_two_links_is_found_once(tmp_path: Path, put: Put) -> None:
    put("elsewhere/group/tea/SKILL.md", "")
    put("elsewhere/group/milk/SKILL.md", "")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/a").symlink_to(tmp_path / "elsewhere/group/tea")
    (tmp_path / "lib/b").symlink_to(tmp_path / "elsewhere")
    assert found(walk(str(tmp_path / "lib"), LIMITS)) == ["a", "b/group/milk"]


def test_two_links_to_each_other_end(tmp_path: Path, put: Put) -> None:
    put("one/x/SKILL.md", "")
    put("two/y/SKILL.md", "")
    (tmp_path / "one/two").symlink_to(tmp_path / "two")
    (tmp_path / "two/one").symlink_to(tmp_path / "one")
    assert found(walk(str(tmp_path / "one"), LIMITS)) == ["x", "two/y"]


def test_a_linked_skill_file_must_stay_inside(tmp_path: Path, put: Put) -> None:
    secret = put("secret.txt", "password")
    put("lib/shared/tea.md", "")
    put("lib/own/text.md", "")
    for name, target in (("bad", secret), ("good", tmp_path / "lib/shared/tea.md")):
        (tmp_path / "lib" / name).mkdir()
        (tmp_path / "lib" / name / "SKILL.md").symlink_to(target)
    (tmp_path / "lib/own/SKILL.md").symlink_to("text.md")
    (tmp_path / "lib/sibling").mkdir()
    (tmp_path / "lib/sibling/SKILL.md").symlink_to(put("lib-private/secret.md", ""))
    result = walk(str(tmp_path / "lib"), LIMITS)
    assert found(result) == ["good", "own"]
    assert codes(result) == [("link-outside", "SKILL.md")] * 2
    allowed = [os.path.realpath(tmp_path)]
    everything = ["bad", "good", "own", "sibling"]
    assert found(walk(str(tmp_path / "lib"), LIMITS, allowed)) == everything


def test_depth_is_bounded_and_reported(tmp_path: Path, put: Put) -> None:
    put("1/2/tea/SKILL.md", "")
    put("1/2/3/milk/SKILL.md", "")
    result = walk(str(tmp_path), ReadLimits(walk_depth=3))
    assert found(result) == ["1/2/tea"]
    assert codes(result) == [("depth-limit", "3")]


def test_the_number_of_folders_is_bounded_and_reported(tmp_path: Path, put: Put) -> None:
    for number in range(9):
        put(f"s{number}/SKILL.md", "")
    result = walk(str(tmp_path), ReadLimits(walk_folders=5))
    assert found(result) == ["s0", "s1", "s2", "s3"]
    assert codes(result) == [("folder-limit", "s4")]


def test_names_that_are_not_unicode_are_walked(tmp_path: Path) -> None:
    raw = os.path.join(os.fsencode(tmp_path), b"caf\xe9")
    os.mkdir(raw)
    with open(os.path.join(raw, b"SKILL.md"), "wb"):
        pass
    assert len(walk(str(tmp_path), LIMITS).found) == 1


@pytest.fixture
def open_tmp() -> Iterator[Path]:
    """A folder that other users can enter, unlike pytest's own."""
    path = Path(tempfile.mkdtemp(prefix="skillcue-test-"))
    path.chmod(0o755)
    yield path
    for folder, _, _ in os.walk(path):
        os.chmod(folder, stat.S_IRWXU)
    shutil.rmtree(path)


UNPRIVILEGED = """
import json, os, sys
from skillcue.library import FolderSource
if os.getuid() == 0:
    os.setgid(65534), os.setuid(65534)
source = FolderSource(sys.argv[1])
scan = source.scan(None)
try:
    FolderSource(sys.argv[1] + "/closed").check()
except Exception as error:
    refused = str(error)
print(json.dumps({
    "skills": [skill.name for skill in scan.skills],
    "codes": sorted([item.code, item.path.name, item.severity] for item in scan.diagnostics),
    "refused": refused,
}))
"""


def test_what_may_not_be_read_is_reported_and_the_scan_goes_on(
    open_tmp: Path, put: Put, skill_text: Callable[..., str]
) -> None:
    put("good/SKILL.md", skill_text("good"), open_tmp)
    put("closed/tea/SKILL.md", skill_text("tea"), open_tmp)
    put("dark/SKILL.md", skill_text("dark"), open_tmp).chmod(0)
    (open_tmp / "closed").chmod(0)
    run = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED, str(open_tmp)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    seen = json.loads(run.stdout)
    assert seen["skills"] == ["good"]
    assert seen["codes"] == [
        ["file-unreadable", "SKILL.md", "error"],
        ["folder-unreadable", "closed", "error"],
    ]
    assert "cannot be listed" in seen["refused"]
