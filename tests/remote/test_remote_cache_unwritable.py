"""A cache folder that cannot be written costs fetching again, and nothing else."""

from __future__ import annotations

import logging
import zipfile
from pathlib import Path

import pytest
from support.remote import Repository, skill_text, write_skill_at

from skillcue import SkillCue
from skillcue.remote import ArchiveSource
from skillcue.remote.store import SourceStore

MESSAGES = [{"role": "user", "content": "Please do alpha: knit a sock"}]


@pytest.fixture
def specs(tmp_path: Path) -> list[str]:
    repository = Repository(tmp_path / "repo")
    write_skill_at(repository.folder, "alpha", "Knits a sock.")
    repository.commit()
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("beta/SKILL.md", skill_text("beta", "Fills in a form."))
    return [f"git+{repository.url}", str(tmp_path / "b.zip")]


@pytest.mark.parametrize("mode", ["bm25", "skillsight"])
def test_everything_goes_on_with_one_warning_that_names_the_folder(tmp_path, specs, mode, caplog):
    (tmp_path / "file").write_text("in the way")
    cache = tmp_path / "file" / "cache"
    with caplog.at_level(logging.WARNING), SkillCue(specs, mode=mode, cache=cache) as cue:
        assert [skill.name for skill in cue.list()] == ["alpha", "beta"]
        assert [item.code for item in cue.diagnostics if item.code.startswith("source-")] == []
        assert "alpha" in cue.tools().lookup("knit a sock").text
        cue.advise(MESSAGES)
        cue.wait_ready()
    said = [record.getMessage() for record in caplog.records if record.name == "skillcue.library"]
    assert len(said) == 1
    assert f"cache folder {cache} cannot be written" in said[0]


def test_the_temporary_folder_goes_with_the_source(tmp_path, specs):
    (tmp_path / "file").write_text("in the way")
    source = ArchiveSource(specs[1], cache=tmp_path / "file" / "cache")
    (skill,) = source.scan(None).skills
    folder = skill.path.parent
    assert folder.is_dir() and tmp_path not in folder.parents
    del source, skill
    assert not folder.exists()


def test_what_lies_in_a_cache_that_cannot_be_written_is_used(tmp_path, specs, monkeypatch):
    cache = tmp_path / "cache"
    assert ArchiveSource(specs[1], cache=cache).scan(None).skills
    monkeypatch.setattr(SourceStore, "_writable", lambda self: None)
    (tmp_path / "b.zip").unlink()  # the place is gone
    (skill,) = ArchiveSource(specs[1], cache=cache).scan(None).skills
    assert skill.name == "beta" and cache in skill.path.parents
