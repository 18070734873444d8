"""What comes next over an index of several tenants: nobody hears of another's skills."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from skillcue import SkillCue
from skillcue.indexed import Indexed, publish
from skillcue.successors import NextSettings
from skillcue.successors.model import known_in
from skillcue_adapters.indexed import MemoryIndex
from skillcue_hooks import Scope, hookimpl
from skillcue_hooks.errors import SkillNotFoundError

ONE, BOTH = {"tenants": ("one",)}, {"tenants": ("one", "two")}


class OfTheRun:
    @hookimpl
    def skillcue_filter_skills(self, context: Mapping[str, Any], library: Any) -> Scope:
        return Scope(f"{context.get('tenants')}", tenants=context.get("tenants", ()))


@pytest.fixture
def cue(write, tmp_path):
    index = MemoryIndex()
    publish(write({"alpha": ""}, "one"), index, tenant="one")
    publish(write({name: "" for name in ("bravo", "charlie", "delta")}, "two"), index, tenant="two")
    library = Indexed(index, tenants=("one", "two"))
    options = {"mode": "bm25", "plugins": [OfTheRun()], "events": tmp_path / "events.db"}
    with SkillCue(library, next_skills=True, **options) as learning:
        tools = learning.tools()
        for number in range(40):
            run = {"thread_id": f"{number}", **BOTH}
            tools.load("alpha", run_context=run)
            tools.lookup("does delta charlie" if number % 2 else "bravo things", run_context=run)
            tools.load("bravo", run_context=run)
    with SkillCue(library, next_skills=NextSettings(control=0), **options) as cue:
        cue.wait_ready()
        yield cue


def test_a_skill_of_another_tenant_is_not_suggested(cue):
    assert "Often loaded next: bravo" in cue.tools().load("alpha", run_context=BOTH).text
    answer = cue.tools().load("alpha", run_context=ONE)
    assert not answer.error
    assert "bravo" not in answer.text + str(answer.data)
    assert cue.next_skills("alpha", run_context=ONE) == ()


def test_nothing_comes_next_to_who_sees_nothing(cue):
    with pytest.raises(SkillNotFoundError):
        cue.next_skills("alpha", run_context={"tenants": ()})


def test_an_index_is_asked_once_about_a_whole_history(cue, monkeypatch):
    index = cue.snapshot().library.index
    asked = []
    real = index.fetch
    monkeypatch.setattr(
        index, "fetch", lambda ids, tenants: asked.append(ids) or real(ids, tenants)
    )
    known = known_in(cue.snapshot())
    ids = [f"gone-{number}" for number in range(2000)]
    assert known([*ids, "alpha@one/alpha"]) == {"alpha@one/alpha"}
    assert len(asked) == 1
