"""Texts that name a source, and several sources of which some fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.remote import Repository, skill_text, write_skill_at

from skillcue import SkillCue
from skillcue.remote import ArchiveSource, GitSource, MirroredSource
from skillcue_hooks.errors import (
    ConfigurationError,
    LibraryNotFoundError,
    MissingExtraError,
    StrictLibraryError,
    UnknownSettingError,
)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return write_skill_at(tmp_path / "mine", "local").parent


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("git+https://host/r.git@", "nothing behind '@'"),
        ("git+https://host/r.git@-x", "no branch"),
        ("git+http://host/r.git", "https://, ssh:// or file://"),
        ("git+ext::sh -c touch", "https://, ssh:// or file://"),
        ("git+https://host/r.git#folder=x", "no option 'folder'"),
        ("git+https://host/r.git#sha256=x", "no option 'sha256'"),
        ("git+https://host/r.git#x", "not understood"),
        ("git+https://host/r.git#subdirectory=../x", "goes up"),
        ("git+https://host/r.git#subdirectory=a&subdirectory=b", "twice"),
        ("git+https://host/r.git?trust=trusted", "cannot make a source trusted"),
        ("git+https://host/r.git#trust=trusted", "cannot make a source trusted"),
        ("git+https://host/r.git?depth=1", "no option 'depth'"),
        ("git@github.com:owner/repo.git", r"git\+ssh"),
        ("ssh://git@host/repo.git", r"git\+ssh"),
        ("git://host/repo.git", r"git\+ssh"),
        ("ext::sh -c touch% /tmp/x", r"git\+ssh"),
        ("https://host/repo.git", r"git\+https"),
        ("https://host/skills.zip", "no hash"),
        ("http://host/skills.zip#sha256=" + "0" * 64, "cannot be fetched"),
        ("https://host/skills.zip#sha256=0", "64 hex digits"),
        ("https://host/skills.zip#trust=trusted", "cannot make a source trusted"),
        ("file://host/skills.zip", "no file of this machine"),
        ("sqlite:skills.db", "names no database"),
        ("sqlite:///", "names no database"),
        ("sqlite:///x.db", "names no table"),
        ("sqlite:///x.db?table=", "names no table"),
        ("sqlite:///x.db?table=a;b", "no name of a table"),
        ("sqlite:///x.db?table=a&mode=rwc", "no option 'mode'"),
        ("sqlite:///x.db?table=a&trust=trusted", "cannot make a source trusted"),
        ("mcp+stdio:python server.py", r"McpSource\(command="),
        ("mcp+stdio://python", r"McpSource\(command="),
    ],
)
def test_a_malformed_text_is_a_mistake_that_raises_early(mine, spec, message):
    with pytest.raises(ConfigurationError, match=message):
        SkillCue([mine, spec])


@pytest.mark.parametrize("spec", ["mcp+http://example.org/mcp", "mcp+ftp://host/mcp", "mcp+x"])
def test_a_malformed_address_of_a_server(spec):
    pytest.importorskip("mcp")
    with pytest.raises(ConfigurationError):
        SkillCue(spec)


def test_a_server_needs_its_extra():
    try:
        import mcp  # noqa: F401
    except ImportError:
        with pytest.raises(MissingExtraError, match=r"skillcue\[mcp\]"):
            SkillCue("mcp+https://host/mcp")


@pytest.mark.parametrize("spec", ["no.zip", "no.tar.gz", "file:///no/such.zip", "no-folder"])
def test_what_is_not_on_this_machine_is_no_source(spec):
    with pytest.raises(LibraryNotFoundError):
        SkillCue(spec)


def test_marks_in_file_names(tmp_path, mine):
    place = tmp_path / "a#b.zip"
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr("alpha/SKILL.md", skill_text("alpha"))
    assert [s.name for s in SkillCue(place).list()] == ["alpha"]
    renamed = mine.rename(tmp_path / "skills.zip")  # a folder is a folder, whatever its name
    assert [s.trust for s in SkillCue(renamed).list()] == ["trusted"]


def test_nothing_is_touched_before_the_first_use(tmp_path, mine):
    cache = tmp_path / "cache"
    SkillCue([mine, "git+https://127.0.0.1:9/r.git"], cache=cache)
    assert not (cache / "sources").exists()


def test_trust_is_said_in_code_only(tmp_path):
    made = Repository(tmp_path / "repo")
    write_skill_at(made.folder, "alpha")
    made.commit()
    trusted = SkillCue([GitSource(made.url, trust="trusted")])
    text = SkillCue(f"git+{made.url}", trust="trusted")  # that is for the folders
    assert [s.trust for s in trusted.list()] == ["trusted"]
    assert [s.trust for s in text.list()] == ["untrusted"]
    with pytest.raises(ConfigurationError, match="trust is"):
        GitSource(made.url, trust="full")
    with pytest.raises(UnknownSettingError, match="refresh"):
        GitSource(made.url, refreshed=3)
    for wrong in (-1, "5", float("nan")):
        with pytest.raises(ConfigurationError, match="refresh is"):
            GitSource(made.url, refresh=wrong)


def test_each_source_fails_apart_and_recovers(tmp_path, mine):
    made = Repository(tmp_path / "repo")
    write_skill_at(made.folder, "from-git")
    made.commit()
    gone = made.folder.rename(tmp_path / "away")
    place = tmp_path / "tools.zip"
    place.write_bytes(b"not yet")
    cue = SkillCue([mine, f"git+{made.url}", place], recheck="always", cache=tmp_path / "cache")

    def state() -> tuple[list[str], list[str]]:
        return [s.name for s in cue.list()], [d.code for d in cue.diagnostics]

    assert state() == (["local"], ["source-unreachable", "source-refused"])
    assert all("." in d.message and d.remedy for d in cue.diagnostics)
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr("from-zip/SKILL.md", skill_text("from-zip"))
    assert state() == (["from-zip", "local"], ["source-unreachable"])
    gone.rename(made.folder)
    source = cue.sources[1]
    assert isinstance(source, MirroredSource)
    source.update()
    assert state() == (["from-git", "from-zip", "local"], [])
    assert cue.lookup("from-git").hits[0].skill.name == "from-git"
    made.folder.rename(tmp_path / "away")
    source.update()
    assert state() == (["from-git", "from-zip", "local"], ["source-unreachable"])
    assert cue.load("from-git", "notes.txt").text == "Notes of from-git."


def test_a_failure_that_stays_the_same_is_the_same_scan(tmp_path):
    source = GitSource(f"file://{tmp_path / 'none'}")
    first = source.scan(None)
    source.update()
    assert source.scan(first) is first


def test_strict_libraries_do_not_start_without_a_source(tmp_path, mine):
    with pytest.raises(StrictLibraryError, match="no archive"):
        place = tmp_path / "bad.zip"
        place.write_bytes(b"nonsense")
        SkillCue([mine, place], strict=True, wait=True)


def test_a_temporary_folder_goes_with_its_source(tmp_path):
    code = (
        "import sys; from skillcue.remote import ArchiveSource;"
        "source = ArchiveSource(sys.argv[1]);"
        "print(source.scan(None).skills[0].path)"
    )
    place = tmp_path / "a.zip"
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr("alpha/SKILL.md", skill_text("alpha"))
    done = subprocess.run(
        [sys.executable, "-c", code, str(place)], capture_output=True, text=True, check=True
    )
    path = Path(done.stdout.strip())
    assert path.name == "SKILL.md" and not path.parents[3].exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_child_leaves_the_folder_of_its_parent(tmp_path):
    code = (
        "import os, sys; from skillcue.remote import ArchiveSource;"
        "source = ArchiveSource(sys.argv[1]); path = source.scan(None).skills[0].path\n"
        "child = os.fork()\n"
        "if child == 0: sys.exit(0)\n"
        "os.waitpid(child, 0); print(path.exists())"
    )
    place = tmp_path / "a.zip"
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr("alpha/SKILL.md", skill_text("alpha"))
    done = subprocess.run(
        [sys.executable, "-c", code, str(place)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True"


def test_the_cache_is_readable_for_its_owner_only(tmp_path):
    place = tmp_path / "a.zip"
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr("alpha/SKILL.md", skill_text("alpha"))
    ArchiveSource(place, cache=tmp_path / "cache").scan(None)
    (folder,) = (tmp_path / "cache" / "sources").iterdir()
    assert folder.stat().st_mode & 0o077 == 0


def test_contents_that_nobody_uses_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("skillcue.remote.store.UNUSED_S", 0.0)
    monkeypatch.setattr("skillcue.remote.store.LEFT_OVER_S", 0.0)
    place, cache = tmp_path / "a.zip", tmp_path / "cache"
    source = ArchiveSource(place, cache=cache)
    for number in range(4):
        with zipfile.ZipFile(place, "w") as archive:
            archive.writestr("alpha/SKILL.md", skill_text("alpha", f"Version {number}."))
        (skill,) = source.scan(None).skills
        assert skill.description == f"Version {number}." and source.read_body(skill)
    (folder,) = (cache / "sources").iterdir()
    contents = [path for path in folder.iterdir() if path.is_dir()]
    assert len(contents) == 2  # this one, and the one before


def test_the_command_line_says_what_sources_hold(tmp_path, mine):
    made = Repository(tmp_path / "repo")
    write_skill_at(made.folder, "alpha")
    commit = made.commit()
    specs = ["--skills", f"git+{made.url}", "--skills", str(mine)]

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "skillcue", *arguments],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    listed = json.loads(run("list", "--json", *specs))
    assert listed["sources"][0] == {
        "label": "repo",
        "trust": "untrusted",
        "place": f"git+{made.url}",
        "digest": f"git:{commit}",
    }
    assert listed["sources"][1]["digest"] is None
    assert f"untrusted, git:{commit}" in run("doctor", *specs).replace("\n", " ")


@pytest.mark.parametrize(
    "text",
    [
        "d/skills.zip#subdirectory=../../../mine",
        "git+file:///x/../../mine",
        "sqlite:///x/../../mine",
        "mcp+https://x/../../../mine",
        "https://x/../../mine",
        " sqlite:///x/../../mine",
        "my_db://x/../../mine",
        "file:x/../mine",
        "nope/../mine",
    ],
)
def test_a_text_of_this_kind_is_no_folder_however_its_dots_are_resolved(
    tmp_path, monkeypatch, text
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d").mkdir()
    write_skill_at(tmp_path / "mine", "alpha", "What is trusted.")
    try:
        cue = SkillCue(text)
    except ConfigurationError:
        return
    assert all(skill.trust == "untrusted" for skill in cue.list())
