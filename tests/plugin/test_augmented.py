"""``SkillCue(augment=True)``: what is stored is searched, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.augmenting import write_skill

from skillcue import SkillCue
from skillcue_adapters.augment.augmentation import Augmentation, content_key
from skillcue_adapters.augment.pseudo_queries import PseudoQuery
from skillcue_adapters.augment.store import AugmentationStore
from skillcue_hooks.errors import ConfigurationError


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    folder = tmp_path / "skills"
    for n in range(12):
        write_skill(folder, f"other-{n}", f"Something else number {n}.")
    write_skill(folder, "paper-joiner", "Puts documents together.")
    return folder


def store(cache: Path, cue: SkillCue, name: str, text: str) -> None:
    """Put one pseudo-query for the skill `name` into the cache folder."""
    (skill,) = (s for s in cue.list() if s.name == name)
    queries = (PseudoQuery(text, "x"),)
    with AugmentationStore(cache).writing() as writer:
        writer.put(
            content_key(skill), "rules", Augmentation(("pdf", "a", "b", "c"), queries, 1, ("x",))
        )


def names(cue: SkillCue, text: str, **options: str) -> list[str]:
    return [hit.skill.name for hit in cue.lookup(text, **options).hits]


def matched(cue: SkillCue) -> float:
    """How many words of a query the head of the skill has."""
    hits = cue.lookup("zebras", k=100).hits
    return next((h.signals["matched"] for h in hits if h.skill.name == "paper-joiner"), 0)


@pytest.mark.parametrize("mode", ["bm25", "skillsight"])
def test_what_is_stored_is_searched_and_never_shown(
    skills: Path, tmp_path: Path, mode: str
) -> None:
    cache = tmp_path / "cache"
    options = {"mode": mode, "encoder": "static", "cache": cache}
    with SkillCue(skills, **options) as plain:
        store(cache, plain, "paper-joiner", "staple my zebras")
        before = plain.snapshot().generation
        assert matched(plain) == 0
        (skill,) = (s for s in plain.list() if s.name == "paper-joiner")
        assert skill.search_terms == ()
    with SkillCue(skills, **options, augment=True) as cue:
        assert names(cue, "zebras")[0] == "paper-joiner"
        assert matched(cue) == 1
        assert cue.snapshot().generation != before, "cached rankings must not be shared"
        hit = cue.lookup("zebras").hits[0]
        assert hit.skill.search_terms == ("pdf", "a", "b", "c", "staple my zebras")
        assert (hit.skill.tags, hit.skill.description) == ((), "Puts documents together.")
        shown = f"{cue.tools().lookup('zebras')} {cue.tools().load('paper-joiner')}"
        assert "staple" not in shown
        assert cue.lookup("zebras", filters={"tag": "pdf"}).hits == (), "no tag of the file"
    with SkillCue(skills, **options) as plain:
        assert matched(plain) == 0, "nor by a cached ranking"
        assert plain.snapshot().generation == before


def test_a_changed_skill_loses_what_was_made_of_its_old_text(skills: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    with SkillCue(skills, mode="bm25") as plain:
        store(cache, plain, "paper-joiner", "staple my zebras")
    with SkillCue(skills, mode="bm25", cache=cache, augment=True, recheck="always") as cue:
        assert names(cue, "zebras") == ["paper-joiner"]
        write_skill(skills, "paper-joiner", "Puts documents together, better.")
        assert names(cue, "zebras") == []
        store(cache, cue, "paper-joiner", "glue my zebras")
        assert names(cue, "zebras") == [], "a snapshot that is there stays as it is"
        write_skill(skills, "other-1", "Changed.")
        assert names(cue, "zebras") == ["paper-joiner"]


def test_a_snapshot_without_a_change_keeps_its_skills(skills: Path, tmp_path: Path) -> None:
    with SkillCue(skills, mode="bm25") as plain:
        store(tmp_path, plain, "paper-joiner", "staple my zebras")
    with SkillCue(skills, mode="bm25", cache=tmp_path, augment=True) as cue:
        before = {skill.name: skill for skill in cue.list()}
        write_skill(skills, "other-1", "Changed.")
        cue.refresh()
        after = {skill.name: skill for skill in cue.list()}
    assert after["paper-joiner"] is before["paper-joiner"]
    assert after["other-1"] is not before["other-1"]


def test_it_needs_a_folder_and_says_when_there_is_nothing_in_it(
    skills: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ConfigurationError, match="cache=FOLDER"):
        SkillCue(skills, augment=True)
    with pytest.raises(ConfigurationError, match="True or False"):
        SkillCue(skills, cache=tmp_path, augment="auto")  # type: ignore[arg-type]
    with SkillCue(skills, mode="bm25", cache=tmp_path / "new", augment=True) as cue:
        assert len(cue.list()) == 13
    assert "run `skillcue augment`" in caplog.text
