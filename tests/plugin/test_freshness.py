"""Edits of the library: seen by the next call of every kind, never in the middle of one."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from support.conversations import PHRASES, SKILLS
from support.policies import Policy

from skillcue import SkillCue
from skillcue_hooks import Library, Query, Ranking, hookimpl
from skillcue_hooks.errors import SkillNotFoundError

TOMATO = PHRASES[0]
SAY = [{"role": "user", "content": TOMATO}]


def write(garden: Path, name: str, description: str, body: str = "Body.") -> None:
    path = garden / name / "SKILL.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"---\nname: {name}\ndescription: {description}\n---\n\n{body}\n", "utf-8")


def names(cue: SkillCue) -> dict[str, list[str]]:
    """What each kind of call knows now."""
    tools = cue.tools()
    return {
        "list": [skill.name for skill in cue.list()],
        "lookup": [hit.skill.name for hit in cue.lookup(TOMATO, k=20).hits],
        "advise": [hit.skill.name for hit in cue.advise(SAY).hits],
        "tools": [*tools.list().data["skills"], tools.lookup(TOMATO, k=20).text],
    }


@pytest.fixture
def cue(garden):
    with SkillCue(garden) as cue:
        assert names(cue)["advise"] == ["tomato-pruning"]
        yield cue


def test_a_deleted_skill_is_gone_from_the_next_call(cue, garden):
    shutil.rmtree(garden / "tomato-pruning")
    for known in names(cue).values():
        assert "tomato-pruning" not in str(known)
    with pytest.raises(SkillNotFoundError):
        cue.load("tomato-pruning")
    assert cue.tools().load("tomato-pruning").error


def test_a_new_skill_is_there_in_the_next_call(cue, garden):
    write(garden, "rose-pruning", "Prune the side shoots of roses on a trellis: how do I?")
    known = names(cue)
    assert all("rose-pruning" in str(known[way]) for way in ("list", "lookup", "tools"))
    assert known == names(SkillCue(garden))
    assert cue.load("rose-pruning").text.strip() == "Body."


def test_an_edit_of_description_or_body_is_seen(cue, garden):
    write(garden, "tomato-pruning", "Nothing to do with it.", "Other body.")
    assert "Nothing to do with it." in cue.advise(SAY).text
    assert cue.load("tomato-pruning").text.strip() == "Other body."
    assert "Nothing to do with it." in cue.tools().list().text


def test_an_edit_of_equal_size_within_a_second_is_seen(cue, garden):
    path = garden / "tomato-pruning" / "SKILL.md"
    for _ in range(5):
        text = path.read_text("utf-8")
        path.write_text(text.replace("Prune tomato", "Xrune xomato"), "utf-8")
        assert "Xrune xomato" in cue.tools().load("tomato-pruning").text
        path.write_text(text, "utf-8")
        assert "Prune tomato" in cue.tools().load("tomato-pruning").text


def test_a_renamed_skill_has_its_new_name_only(cue, garden):
    (garden / "tomato-pruning").rename(garden / "tomatoes")
    write(garden, "tomatoes", SKILLS["tomato-pruning"])
    known = names(cue)
    assert known["advise"] == ["tomatoes"]
    assert "tomato-pruning" not in known["list"]


def test_a_file_beside_a_skill_is_read_as_it_is_now(cue, garden):
    notes = garden / "bee-hotel" / "notes.md"
    for text in ("one", "two"):
        notes.write_text(text, "utf-8")
        assert cue.load("bee-hotel", "notes.md").text == text
        assert cue.load("bee-hotel").files == ("notes.md",)
    notes.unlink()
    assert cue.load("bee-hotel").files == ()


def test_refresh_tells_whether_anything_changed(garden):
    for recheck in ("manual", "auto", "always"):
        with SkillCue(garden, recheck=recheck) as cue:
            assert cue.refresh() is False  # the first look
            assert cue.refresh() is False
            write(garden, "new-one", f"Written for {recheck}.")
            assert cue.refresh() is True
            assert cue.refresh() is False
            assert "new-one" in [skill.name for skill in cue.list()]


def test_manual_sees_edits_only_when_refreshed(garden):
    with SkillCue(garden, recheck="manual") as cue:
        assert cue.advise(SAY).hits
        shutil.rmtree(garden / "tomato-pruning")
        assert cue.advise(SAY).hits
        assert cue.refresh() is True
        assert not cue.advise(SAY).hits


class EditsWhileSearching:
    """A mode during whose search the library is changed and looked at again."""

    def __init__(self, garden: Path) -> None:
        self.garden = garden
        self.cue: SkillCue | None = None
        self.seen: list[int] = []

    @hookimpl
    def skillcue_register_retrievers(self, register: Any) -> None:
        register("editing", self.build)

    def build(self, library: Library, context: Any) -> Any:
        inner, owner = context.retriever("bm25"), self

        class Editing:
            fingerprint = "editing"
            generation = library.generation

            def search(self, query: Query) -> Ranking:
                if threading.current_thread().name == "skillcue-gate":
                    return inner.search(query)  # the gate is being fitted: no call asked for it
                owner.seen.append(len(library.skills))
                shutil.rmtree(owner.garden / "tomato-pruning", ignore_errors=True)
                if owner.cue:
                    owner.cue.refresh()
                return inner.search(query)

        return Editing()


@pytest.mark.parametrize("policy", [False, True])
def test_one_call_uses_one_generation_from_start_to_end(garden, policy):
    editing = EditsWhileSearching(garden)
    plugins = [editing, *[Policy()] * policy]
    cue = SkillCue(garden, mode="editing", plugins=plugins, cache=False)
    cue.list()
    editing.cue = cue
    plan = cue.advisor("skill_load").plan(SAY)
    assert "tomato-pruning" in plan.placements[0][1]  # of the generation the call began with
    assert editing.seen == [8]
    again = cue.advisor("skill_load").plan(SAY)
    assert again.placements == ()
    assert editing.seen == [8, 7]


def test_a_lookup_in_the_middle_of_an_edit_is_of_one_generation(garden):
    editing = EditsWhileSearching(garden)
    cue = SkillCue(garden, mode="editing", plugins=[editing], cache=False)
    cue.list()
    editing.cue = cue
    ranking = cue.lookup(TOMATO)
    assert ranking.hits[0].skill.name == "tomato-pruning"
    assert "tomato-pruning" not in [hit.skill.name for hit in cue.lookup(TOMATO).hits]


def test_cached_rankings_belong_to_their_generation(garden, tmp_path):
    for cache in (None, tmp_path / "cache"):
        with SkillCue(garden, cache=cache) as cue:
            assert cue.lookup(TOMATO).hits[0].skill.name == "tomato-pruning"
            assert cue.lookup(TOMATO).cached
            write(garden, "bee-hotel", SKILLS["tomato-pruning"] + " " + TOMATO)
            fresh = cue.lookup(TOMATO)
            assert not fresh.cached and "bee-hotel" in [hit.skill.name for hit in fresh.hits]
            write(garden, "bee-hotel", SKILLS["bee-hotel"])


def test_looking_does_not_rebuild(garden):
    """A page of the list looks at the files a few times, not once for each line."""
    with SkillCue(garden) as cue:
        cue.list()
        looks = 0
        snapshot = cue._live.snapshot

        def counted() -> Any:
            nonlocal looks
            looks += 1
            return snapshot()

        cue._live.snapshot = counted  # type: ignore[method-assign]
        cue.tools().list()
        assert looks <= 2
        cue.tools().lookup(TOMATO, k=8)
        assert looks <= 4
