"""Generations: identity, precedence, equal content, and what a name means."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from skillcue.library.snapshot import LibrarySnapshot, build_snapshot
from skillcue.library.source import FolderSource, StaticSource
from skillcue_hooks.contracts import Scope, Skill, SourceScan, Trust
from skillcue_hooks.errors import SkillNotFoundError
from skillcue_hooks.protocols import SkillSource

Put = Callable[..., Path]
Text = Callable[..., str]


def snapshot_of(*sources: SkillSource) -> LibrarySnapshot:
    return build_snapshot(sources, [source.scan(None) for source in sources])


def skill(name: str, description: str = "", **more: object) -> Skill:
    return Skill(id=f"{name}@{name}", name=name, description=description, **more)  # type: ignore[arg-type]


def test_an_empty_library_is_a_library() -> None:
    snapshot = snapshot_of()
    assert (snapshot.skills, snapshot.library.skills, snapshot.names) == ((), (), ())
    assert snapshot.library.generation == snapshot.generation
    with pytest.raises(SkillNotFoundError):
        snapshot.resolve("tea")


def test_skills_keep_precedence_order_and_the_library_is_sorted_by_id(
    tmp_path: Path, put: Put, skill_text: Text
) -> None:
    for folder in ("one/b/zoo", "one/apple", "two/aaa"):
        put(f"{folder}/SKILL.md", skill_text(Path(folder).name))
    snapshot = snapshot_of(FolderSource(tmp_path / "one"), FolderSource(tmp_path / "two"))
    assert [item.name for item in snapshot.skills] == ["apple", "zoo", "aaa"]
    assert [item.name for item in snapshot.library.skills] == ["aaa", "apple", "zoo"]
    assert snapshot.names == ("aaa", "apple", "zoo")


def test_unsearchable_skills_resolve_and_stay_out_of_the_library() -> None:
    hidden = skill("hidden", searchable=False, pushable=False)
    snapshot = snapshot_of(StaticSource("memory", [hidden, skill("seen")]))
    assert [item.name for item in snapshot.library.skills] == ["seen"]
    assert snapshot.resolve("hidden").name == "hidden"


def test_one_name_loads_the_precedence_winner_and_ids_load_the_others(
    tmp_path: Path, put: Put, skill_text: Text
) -> None:
    put("one/deep/er/tea/SKILL.md", skill_text("tea", "deepest"))
    put("one/b/tea/SKILL.md", skill_text("tea", "second"))
    put("one/a/tea/SKILL.md", skill_text("tea", "first"))
    put("two/tea/SKILL.md", skill_text("tea", "other source"))
    snapshot = snapshot_of(FolderSource(tmp_path / "one"), FolderSource(tmp_path / "two"))
    ids = ["tea@a/tea", "tea@b/tea", "tea@deep/er/tea", "tea@tea"]
    assert [item.id for item in snapshot.skills] == ids
    assert snapshot.resolve("tea").description == "first"
    assert [snapshot.resolve(i).description for i in ids] == [
        "first", "second", "deepest", "other source",
    ]  # fmt: skip
    reverse = snapshot_of(FolderSource(tmp_path / "two"), FolderSource(tmp_path / "one"))
    assert reverse.resolve("tea").description == "other source"


def test_fifty_skills_of_one_name_give_one_diagnostic(
    tmp_path: Path, put: Put, skill_text: Text
) -> None:
    for number in range(50):
        put(f"g{number:02}/tea/SKILL.md", skill_text("tea", f"Number {number}."))
    snapshot = snapshot_of(FolderSource(tmp_path))
    (note,) = snapshot.diagnostics
    assert note.code == "name-collision"
    assert note.message == (
        "50 skills are named 'tea': the name loads tea@g00/tea, not tea@g01/tea, tea@g02/tea, "
        "tea@g03/tea and 46 more."
    )
    assert len(snapshot.skills) == len({item.id for item in snapshot.skills}) == 50
    assert snapshot.resolve("tea@g31/tea").description == "Number 31."


def test_an_id_that_exists_already_is_qualified_by_the_label(
    tmp_path: Path, put: Put, skill_text: Text
) -> None:
    for number in range(3):
        put(f"{number}/skills/x/tea/SKILL.md", skill_text("tea", f"Number {number}."))
    sources = [FolderSource(tmp_path / f"{number}/skills") for number in range(3)]
    snapshot = snapshot_of(*sources)
    assert [item.id for item in snapshot.skills] == [
        "tea@x/tea", "tea@skills~2/x/tea", "tea@skills~3/x/tea",
    ]  # fmt: skip
    for number, item in enumerate(snapshot.skills):
        assert snapshot.get(item.id) is item
        assert snapshot.source_of(item) is sources[number]
    labelled = snapshot_of(sources[0], FolderSource(tmp_path / "1/skills", label="team a"))
    assert labelled.skills[1].id == "tea@team a/x/tea"


def test_clashing_ids_of_one_source_are_kept_apart() -> None:
    twins = [skill("tea", "one"), skill("tea", "two"), skill("tea", "three")]
    snapshot = snapshot_of(StaticSource("m", twins))
    assert [item.id for item in snapshot.skills] == ["tea@tea", "tea@m/tea", "tea@m~2/tea"]


def test_equal_content_is_shown_once_and_every_id_leads_to_it(
    tmp_path: Path, put: Put, skill_text: Text
) -> None:
    for folder in ("one/tea", "one/copy/tea", "two/tea", "two/green"):
        put(f"{folder}/SKILL.md", skill_text("tea"))
    snapshot = snapshot_of(FolderSource(tmp_path / "one"), FolderSource(tmp_path / "two"))
    (kept,) = snapshot.skills
    assert snapshot.found == 4
    assert (kept.id, kept.source) == ("tea@tea", "one")
    assert "green" not in kept.aliases  # it is a name of the copy, which a policy may hide
    for name in ("tea", "tea@copy/tea", "tea@two/tea", "tea@green", "green"):
        assert snapshot.resolve(name) is kept
    copies = [item for item in snapshot.diagnostics if item.code == "equal-content"]
    assert [(item.severity, item.path) for item in copies] == [("info", kept.path)]
    assert "tea@copy/tea, tea@green, tea@two/tea" in copies[0].message
    assert not [item for item in snapshot.diagnostics if item.code == "name-collision"]


def test_files_that_differ_in_line_ends_only_are_equal(
    tmp_path: Path, put: Put, skill_text: Text
) -> None:
    put("a/tea/SKILL.md", skill_text("tea"))
    put("b/tea/SKILL.md", skill_text("tea").replace("\n", "\r\n"))
    assert len(snapshot_of(FolderSource(tmp_path)).skills) == 1


def test_the_id_of_a_copy_is_not_given_to_another_skill() -> None:
    one = StaticSource("one", [skill("tea", "same")])
    two = StaticSource("two", [replace(skill("tea", "same"), id="tea@copy")])
    three = StaticSource("three", [replace(skill("milk", "new"), id="tea@copy")])
    snapshot = snapshot_of(one, two, three)
    assert snapshot.resolve("tea@copy").description == "same"
    assert snapshot.resolve("milk").id == "tea@three/copy"


NAMED = [
    skill("garden-notes", "1", aliases=("diary",)),
    skill("Tea Time", "2", aliases=("tea_time_folder", "shared")),
    skill("café", "3", aliases=("shared",)),
    skill("note", "4"),
    skill("note-taking", "5"),
    skill("A-b", "6"),
    skill("a_B", "7"),
    skill("diary", "8", aliases=("garden-notes",)),
]


@pytest.mark.parametrize(
    ("asked", "description"),
    [
        ("garden-notes", "1"),
        ("garden-notes@garden-notes", "1"),
        (" garden-notes ", "1"),
        ("Garden_Notes", "1"),
        ("garden notes", "1"),
        ("Tea Time", "2"),
        ("tea-time", "2"),
        ("tea_time_folder", "2"),
        ("Tea Time Folder", "2"),
        ("cafe\u0301", "3"),
        ("CAFÉ", "3"),
        ("note", "4"),
        ("NOTE", "4"),
        ("note taking", "5"),
        ("A-b", "6"),
        ("a_B", "7"),
        ("diary", "8"),
    ],
)
def test_a_name_resolves(asked: str, description: str) -> None:
    assert snapshot_of(StaticSource("m", NAMED)).resolve(asked).description == description


@pytest.mark.parametrize(
    "asked", ["a-b", "shared", "SHARED", "not", "", "garden", "note@elsewhere"]
)
def test_an_ambiguous_or_unknown_name_does_not_resolve(asked: str) -> None:
    with pytest.raises(SkillNotFoundError):
        snapshot_of(StaticSource("m", NAMED)).resolve(asked)


def test_the_error_names_what_comes_closest() -> None:
    snapshot = snapshot_of(StaticSource("m", NAMED))
    with pytest.raises(SkillNotFoundError, match="Closest names: garden-notes"):
        snapshot.resolve("gardn-notes")
    with pytest.raises(SkillNotFoundError, match="Closest names: garden-notes@garden-notes"):
        snapshot.resolve("garden-notes@garden")


def test_what_the_list_shows_loads(tmp_path: Path, put: Put, skill_text: Text) -> None:
    put("a/SKILL.md", skill_text("Other Title/2"))
    put("b/SKILL.md", "Just a paragraph.\n")
    put("c/SKILL.md", skill_text("on", "one: two"))
    snapshot = snapshot_of(FolderSource(tmp_path))
    for item in snapshot.skills:
        for name in (item.id, item.name, *item.aliases):
            assert snapshot.resolve(name) is item


def test_what_a_scope_hides_does_not_exist() -> None:
    first, second = skill("tea", "hidden"), replace(skill("tea", "seen"), id="tea@other")
    alone = skill("secret-plan", "hidden")
    snapshot = snapshot_of(StaticSource("m", [first, second, alone]))
    scope = Scope("seen only", lambda item: item.description == "seen")
    assert snapshot.resolve("tea").description == "hidden"
    assert snapshot.resolve("tea", scope).description == "seen"
    assert snapshot.find("tea@tea", scope) is None
    with pytest.raises(SkillNotFoundError) as caught:
        snapshot.resolve("secret-plans", scope)
    assert "secret-plan" not in caught.value.closest
    winner, other, _ = snapshot.skills
    assert (snapshot.load_name(winner), snapshot.load_name(other)) == ("tea", "tea@other")
    assert snapshot.load_name(other, scope) == "tea"


def test_an_untrusted_source_cannot_claim_trust_or_another_label() -> None:
    class Liar(StaticSource):
        @property
        def trust(self) -> Trust:
            return "untrusted"

        @property
        def label(self) -> str:
            return "liar"

    (item,) = snapshot_of(Liar("official", [skill("tea")], "trusted")).skills
    assert (item.trust, item.source) == ("untrusted", "liar")


def test_skills_without_a_hash_get_one() -> None:
    class Bare(StaticSource):
        def scan(self, previous: SourceScan | None = None) -> SourceScan:
            scan = super().scan(None)
            return replace(scan, skills=tuple(replace(s, content_hash="") for s in scan.skills))

    snapshot = snapshot_of(Bare("m", [skill("a", "1"), skill("b", "2")]))
    assert len({item.content_hash for item in snapshot.skills}) == 2


@pytest.mark.parametrize(
    "change",
    [{"description": "x"}, {"body": "xx"}, {"name": "x"}, {"trust": "untrusted"}, {"tags": ("x",)},
     {"searchable": False}, {"pushable": False}, {"category": "x"}, {"aliases": ("x",)},
     {"content_hash": "x"}],
    ids=str,
)  # fmt: skip
def test_the_generation_changes_with_whatever_changes_an_answer(change: dict[str, object]) -> None:
    base = skill("tea", "Brew.", content_hash="h")
    changed = replace(base, **change)  # type: ignore[arg-type]
    trust = changed.trust
    before = snapshot_of(StaticSource("m", [base])).generation
    assert snapshot_of(StaticSource("m", [changed], trust)).generation != before
    assert snapshot_of(StaticSource("m", [base])).generation == before


def test_a_skill_of_another_snapshot_has_no_source() -> None:
    with pytest.raises(SkillNotFoundError):
        snapshot_of(StaticSource("m", [skill("tea")])).source_of(skill("milk"))


DUMP = """
import json, sys
from skillcue.library import FolderSource, build_snapshot
sources = [FolderSource(path) for path in sys.argv[1:]]
snapshot = build_snapshot(sources, [source.scan(None) for source in sources])
print(json.dumps([snapshot.generation, [s.id for s in snapshot.skills],
                  [[d.code, str(d.path), d.message] for d in snapshot.diagnostics]]))
"""


def test_equal_files_give_equal_snapshots_in_any_process(
    tmp_path: Path, put: Put, skill_text: Text
) -> None:
    for number in range(6):
        put(
            f"one/g{number % 3}/tea-{number}/SKILL.md", skill_text(f"tea-{number % 4}", f"{number}")
        )
        put(f"two/tea-{number}/SKILL.md", skill_text(f"tea-{number}", f"{number}: x"))
    outputs = {
        subprocess.run(
            [sys.executable, "-c", DUMP, str(tmp_path / "one"), str(tmp_path / "two")],
            capture_output=True, check=True, env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    (output,) = outputs
    assert len(json.loads(output)[1]) == 12
