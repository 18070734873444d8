"""The lock file, and what a frozen library refuses: at the start, while it runs, at the load."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from skillcue import FolderSource, PushSettings, SkillCue, StaticSource
from skillcue.cli import main
from skillcue.locking import LockedSkill, measured_library, measured_skill, read_lock, write_lock
from skillcue.locking import source as locked_source
from skillcue_hooks import Skill
from skillcue_hooks.errors import ConfigurationError, SkillFileError, SkillNotFoundError

BODY = "# Steps\n\nCheck the totals of the invoice against the order, line by line.\n"


def put(root: Path, name: str, body: str = BODY, described: str = "") -> Path:
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    described = described or f"Check {name} against the order before it is paid."
    text = f"---\nname: {name}\ndescription: {described}\n---\n\n{body}"
    (folder / "SKILL.md").write_text(text, "utf-8")
    return folder


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    """Three skills; `invoices` has two files beside it."""
    root = tmp_path / "skills"
    for name in ("invoices", "receipts", "payments"):
        put(root, name)
    (root / "invoices" / "scripts").mkdir()
    (root / "invoices" / "scripts" / "sum.py").write_text("print(1)\n")
    (root / "invoices" / "notes.md").write_text("Notes.\n")
    return root


@pytest.fixture
def lock(skills: Path, tmp_path: Path) -> Path:
    path = tmp_path / "skillcue.lock"
    write_lock(path, measured_library([FolderSource(skills)]))
    return path


@pytest.fixture
def frozen(skills: Path, lock: Path) -> SkillCue:
    return SkillCue(skills, mode="bm25", lock=lock, frozen=True, recheck="always")


def codes(cue: SkillCue) -> list[str]:
    return sorted(item.code for item in cue.diagnostics)


def names(cue: SkillCue) -> list[str]:
    return [skill.name for skill in cue.list()]


def append(path: Path) -> None:
    path.write_text(path.read_text("utf-8") + "One line more.\n", "utf-8")


def test_the_file_is_sorted_and_the_same_for_the_same_library(skills: Path, lock: Path) -> None:
    document = json.loads(lock.read_text("utf-8"))
    assert document["version"] == 1
    ids = [item["id"] for item in document["skills"]]
    assert ids == sorted(ids) and len(ids) == 3
    first = document["skills"][0]
    assert first["source"] == "skills"
    assert list(first["files"]) == ["SKILL.md", "notes.md", "scripts/sum.py"]
    assert first["files"]["notes.md"]["size"] == 7
    before = lock.read_bytes()
    write_lock(lock, measured_library([FolderSource(skills)]))
    assert lock.read_bytes() == before
    assert read_lock(lock) == measured_library([FolderSource(skills)])


def test_a_frozen_library_that_is_as_it_was_serves_all_of_it(frozen: SkillCue) -> None:
    assert names(frozen) == ["invoices", "payments", "receipts"]
    assert frozen.diagnostics == ()
    assert frozen.load("invoices").text == BODY.rstrip()
    assert frozen.load("invoices", file="scripts/sum.py").text == "print(1)\n"
    assert frozen.lookup("check invoices").hits[0].skill.name == "invoices"


CHANGES: dict[str, Callable[[Path], object]] = {
    "text": lambda root: append(root / "invoices" / "SKILL.md"),
    "line ends": lambda root: (root / "invoices" / "SKILL.md").write_bytes(
        (root / "invoices" / "SKILL.md").read_bytes().replace(b"\n", b"\r\n")
    ),
    "file": lambda root: append(root / "invoices" / "notes.md"),
    "new file": lambda root: (root / "invoices" / "new.sh").write_text("true\n"),
    "file gone": lambda root: os.remove(root / "invoices" / "notes.md"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_skill_is_not_served(
    change: str, skills: Path, lock: Path, caplog: pytest.LogCaptureFixture
) -> None:
    CHANGES[change](skills)
    cue = SkillCue(skills, mode="bm25", lock=lock, frozen=True)
    assert names(cue) == ["payments", "receipts"]
    assert codes(cue) == ["frozen-changed"]
    assert "skillcue lock" in cue.diagnostics[0].remedy
    with pytest.raises(SkillNotFoundError):
        cue.load("invoices")
    found = cue.lookup("check invoices against the order", k=5)
    assert "invoices" not in [hit.skill.name for hit in found.hits]
    advice = cue.advise([{"role": "user", "content": "Use the skill invoices for this"}])
    assert "invoices" not in [hit.skill.name for hit in advice.hits]
    reporting = SkillCue(skills, mode="bm25", lock=lock)
    assert names(reporting) == ["invoices", "payments", "receipts"]
    assert [(d.code, d.severity) for d in reporting.diagnostics] == [("lock-changed", "warning")]


def test_an_added_skill_takes_neither_place_nor_name(skills: Path, lock: Path) -> None:
    put(skills, "a-copy")
    shutil.copytree(skills / "receipts", skills / "a" / "receipts")  # equal text, shorter path
    shutil.copytree(skills / "invoices", skills / "0" / "invoices")
    append(skills / "0" / "invoices" / "SKILL.md")  # the name of another skill, other text
    cue = SkillCue(skills, mode="bm25", lock=lock, frozen=True)
    assert names(cue) == ["invoices", "payments", "receipts"]
    assert cue.load("invoices").skill.id == "invoices@invoices"
    assert cue.load("receipts").skill.id == "receipts@receipts"
    assert codes(cue) == ["frozen-unknown"] * 3


def test_missing_skills_and_sources_are_reported(skills: Path, lock: Path, tmp_path: Path) -> None:
    shutil.rmtree(skills / "payments")
    assert codes(SkillCue(skills, lock=lock, frozen=True)) == ["frozen-missing"]
    assert codes(SkillCue(skills, lock=lock)) == ["lock-missing"]
    put(tmp_path / "other", "papers")
    other = SkillCue(tmp_path / "other", lock=lock, frozen=True)
    assert codes(other) == ["frozen-missing"] * 3 + ["frozen-unknown"]
    assert names(other) == []


def test_a_change_while_it_runs_is_refused(frozen: SkillCue, skills: Path) -> None:
    assert "invoices" in names(frozen)
    append(skills / "invoices" / "SKILL.md")
    assert names(frozen) == ["payments", "receipts"]
    put(skills, "more")
    assert names(frozen) == ["payments", "receipts"]
    put(skills, "invoices")
    assert names(frozen) == ["invoices", "payments", "receipts"], "as it was: served again"


@pytest.mark.parametrize("file", [None, "notes.md"])
def test_a_change_between_look_and_load_is_refused(
    skills: Path, lock: Path, file: str | None
) -> None:
    cue = SkillCue(skills, mode="bm25", lock=lock, frozen=True, recheck="manual")
    assert "invoices" in names(cue)
    append(skills / "invoices" / (file or "SKILL.md"))
    assert "invoices" in names(cue), "nobody has looked again"
    with pytest.raises(SkillFileError, match=r"is frozen and has changed.*skillcue lock"):
        cue.load("invoices", file=file)
    answer = cue.tools().load("invoices", file)
    assert answer.error and "frozen" in answer.text and "One line more" not in answer.text
    cue.refresh()
    assert names(cue) == ["payments", "receipts"]


def test_a_changed_script_keeps_the_body_back(skills: Path, lock: Path) -> None:
    cue = SkillCue(skills, mode="bm25", lock=lock, frozen=True, recheck="manual")
    cue.snapshot()
    append(skills / "invoices" / "scripts" / "sum.py")
    with pytest.raises(SkillFileError, match=r"scripts/sum\.py differs"):
        cue.load("invoices")
    assert cue.load("invoices", file="notes.md").text == "Notes.\n"


def test_the_text_handed_out_is_the_text_that_was_compared(
    skills: Path, lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file changes after the comparison and before it is read."""
    cue = SkillCue(skills, mode="bm25", lock=lock, frozen=True, recheck="manual")
    cue.snapshot()

    def measured_then_edited(source: FolderSource, skill: Skill, label: str) -> LockedSkill:
        measured = measured_skill(source, skill, label)
        append(skill.path)
        return measured

    monkeypatch.setattr(locked_source, "measured_skill", measured_then_edited)
    with pytest.raises(SkillFileError, match="has just changed"):
        cue.load("invoices")


def test_a_body_that_is_loaded_at_once_is_compared_as_well(skills: Path, lock: Path) -> None:
    push = PushSettings(load_tokens=5_000)
    cue = SkillCue(skills, mode="bm25", lock=lock, frozen=True, recheck="manual", push=push)
    asked = [{"role": "user", "content": "Use the skill invoices for this"}]
    assert "line by line" in cue.advise(asked).text
    append(skills / "invoices" / "scripts" / "sum.py")
    cue = SkillCue(skills, mode="bm25", lock=lock, frozen=True, recheck="manual", push=push)
    assert "line by line" not in cue.advise(asked).text


@pytest.mark.parametrize("load_tokens", [0, 4_000], ids=["offered", "loaded at once"])
@pytest.mark.parametrize("file", ["SKILL.md", "scripts/sum.py"])
def test_a_skill_whose_load_would_be_refused_is_not_offered(
    skills: Path, lock: Path, file: str, load_tokens: int, caplog: pytest.LogCaptureFixture
) -> None:
    push = PushSettings(load_tokens=load_tokens)
    cue = SkillCue(skills, mode="bm25", lock=lock, frozen=True, recheck="manual", push=push)
    cue.snapshot()
    append(skills / "invoices" / file)
    advice = cue.advise([{"role": "user", "content": "Use the skill invoices for this"}])
    assert (advice.decision, advice.text, advice.hits) == ("abstain", "", ())
    assert "it is frozen and has changed" in advice.reason
    refused = [r.hit.skill.name for r in advice.rejected if "frozen" in r.reason]
    assert refused == ["invoices"]
    assert [record.exc_info for record in caplog.records] == [None]


def test_two_sources_with_one_label_and_one_id(tmp_path: Path) -> None:
    for part in ("one", "two"):
        put(tmp_path / part / "skills", "invoices", f"{BODY}Part {part}.\n")
    sources = [FolderSource(tmp_path / part / "skills") for part in ("one", "two")]
    lock = tmp_path / "l.lock"
    write_lock(lock, measured_library(sources))
    assert [skill.source for skill in read_lock(lock).skills] == ["skills", "skills~2"]
    cue = SkillCue(sources, mode="bm25", lock=lock, frozen=True)
    assert [cue.load(skill.id).text.split()[-1] for skill in cue.list()] == ["one.", "two."]


def test_skills_in_memory_are_pinned_by_their_text(tmp_path: Path) -> None:
    def source(body: str) -> StaticSource:
        return StaticSource("memory", [Skill("", "tea", "Make tea.", body), Skill("", "x", "y")])

    lock = tmp_path / "l.lock"
    write_lock(lock, measured_library([source("Boil.")]))
    assert SkillCue(source("Boil."), lock=lock, frozen=True).load("tea").text == "Boil."
    assert names(SkillCue(source("Spill."), lock=lock, frozen=True)) == ["x"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no lock file"),
        ("[]", "is no lock file.* holds a list"),
        ("{}", "it has no 'version'"),
        ('{"version": 1}', "it has no 'skills'"),
        ('{"version": 1, "skills": 5}', "entry is not as it should be"),
        ('{"version": 1, "skills": [{"id": "a", "files": {}}]}', "an entry has no 'source'"),
        ('{"version": 2, "skills": []}', "version is 2"),
        ('{"version": 1, "skills": [{"id": "a"}]}', "entry"),
        (
            '{"version": 1, "skills": [{"id": "a", "source": "s", "content_hash": "", '
            + '"files": {"SKILL.md": {"sha256": "x", "size": 1}}}]}',
            "entry",
        ),
    ],
)
def test_a_damaged_lock_file_is_a_mistake_at_the_start(
    skills: Path, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "l.lock").write_text(text)
    with pytest.raises(ConfigurationError, match=message):
        SkillCue(skills, lock=tmp_path / "l.lock")


def test_frozen_needs_a_lock_file(skills: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="frozen needs a lock file"):
        SkillCue(skills, frozen=True)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        SkillCue(skills, lock=tmp_path / "none", frozen=True)
    with pytest.raises(ConfigurationError, match="frozen is 1"):
        SkillCue(skills, frozen=1)  # type: ignore[arg-type]


def test_the_command_writes_checks_and_freezes(
    skills: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    named = ["--skills", str(skills)]
    assert main(["lock", *named, "--check"]) == 2, "there is no lock file"
    assert "Write it with `skillcue lock`" in capsys.readouterr().err
    assert main(["lock", *named]) == 0
    assert capsys.readouterr().out == "skillcue.lock: 3 skills, 5 files\n"
    assert main(["lock", *named, "--check"]) == 0
    assert "nothing has changed" in capsys.readouterr().out
    append(skills / "invoices" / "notes.md")
    put(skills, "extra")
    shutil.rmtree(skills / "payments")
    assert main(["lock", *named, "--check", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["changed"] == {"skills: invoices@invoices": "notes.md differs"}
    assert (found["added"], found["removed"]) == (
        ["skills: extra@extra"],
        ["skills: payments@payments"],
    )
    assert main(["list", *named, "--frozen", "--json"]) == 0
    assert [s["name"] for s in json.loads(capsys.readouterr().out)["skills"]] == ["receipts"]
    capsys.readouterr()
    assert main(["load", "invoices", *named, "--frozen"]) == 1
    assert "note: It is frozen: invoices@invoices: notes.md differs." in capsys.readouterr().err
    assert main(["load", "unheard", *named, "--frozen"]) == 1
    assert "is frozen" not in capsys.readouterr().err
    assert main(["load", "extra", *named, "--frozen"]) == 1
    assert "It is frozen: extra@extra." in capsys.readouterr().err
    assert main(["doctor", *named, "--lock", "skillcue.lock"]) == 0
    assert "lock-changed" in capsys.readouterr().out
    assert main(["doctor", *named, "--frozen"]) == 1


@pytest.mark.parametrize("recheck", ["auto", "always"])
def test_a_skill_comes_back_when_the_file_beside_it_is_as_it_was(
    skills: Path, lock: Path, recheck: Literal["auto", "always"]
) -> None:
    with SkillCue(skills, mode="bm25", lock=lock, frozen=True, recheck=recheck) as cue:
        before = names(cue)
        beside = next(path for path in sorted(skills.rglob("*")) if path.name == "notes.md")
        skill = beside.parent.name
        content = beside.read_bytes()
        beside.write_bytes(content + b"more")
        with pytest.raises(SkillFileError):
            cue.load(skill)
        assert skill not in names(cue)
        beside.write_bytes(content)
        assert names(cue) == before
        assert cue.load(skill).text and not codes(cue)
