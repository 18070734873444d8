"""Changes of an index are seen in the next call, and a turn keeps what it began with."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.conversations import PHRASES, write_garden
from support.indexes import WatchedIndex, over, put

from skillcue import PushSettings
from skillcue.indexed.live import POLL_S, LiveIndex
from skillcue_adapters.indexed import MemoryIndex
from skillcue_hooks.errors import ConfigurationError, SkillNotFoundError

TOMATO = PHRASES[0]
NAME = "tomato-pruning"


@pytest.fixture
def garden(tmp_path: Path) -> Path:
    return write_garden(tmp_path / "garden")


@pytest.fixture
def index(garden: Path) -> WatchedIndex:
    filled = WatchedIndex()
    put(garden, filled)
    return filled


def edit(garden: Path, index: MemoryIndex, description: str, body: str = "Other body.") -> None:
    path = garden / NAME / "SKILL.md"
    path.write_text(f"---\nname: {NAME}\ndescription: {description}\n---\n\n{body}\n")
    put(garden, index)


def test_an_edit_is_seen_in_the_next_call(garden, index):
    cue = over(index)
    assert cue.load(NAME).text != "Other body."
    generation = cue.snapshot().generation
    edit(garden, index, "Grow nothing but quinces.")
    assert cue.snapshot().generation != generation
    assert cue.lookup("quinces").hits[0].skill.description == "Grow nothing but quinces."
    assert cue.load(NAME).text.strip() == "Other body."
    assert cue.refresh() is False


def test_what_is_deleted_is_gone(garden, index):
    cue = over(index)
    assert cue.load(NAME)
    (garden / NAME / "SKILL.md").unlink()
    put(garden, index)
    with pytest.raises(SkillNotFoundError):
        cue.load(NAME)
    assert NAME not in [hit.skill.name for hit in cue.lookup(TOMATO).hits]


def test_without_a_change_nobody_asks_for_the_revision(index):
    cue = over(index)
    cue.lookup(TOMATO)
    index.calls.clear()
    for _ in range(5):
        cue.lookup(TOMATO)
    assert index.calls["revision"] == 0


def test_a_change_of_another_tenant_is_none(garden, index):
    cue = over(index)
    snapshot = cue.snapshot()
    put(garden, index, "elsewhere")
    index.calls.clear()
    assert cue.snapshot() is snapshot
    assert index.calls["revision"] == 0


def test_manual_looks_in_refresh_only(garden, index):
    cue = over(index, recheck="manual")
    cue.lookup(TOMATO)
    before = cue.snapshot().generation
    edit(garden, index, "Grow nothing but quinces.")
    assert cue.snapshot().generation == before
    assert cue.load(NAME).text.strip() == "Other body."  # never an old text under new trust
    edit(garden, index, "Grow nothing but medlars.")
    assert cue.refresh() is True


def test_a_text_is_never_given_under_the_trust_that_it_had(garden, index):
    push = PushSettings(load_tokens=4000)
    cue = over(index, recheck="manual", push=push)
    say = [{"role": "user", "content": f"use the {NAME} skill"}]
    assert cue.advise(say).decision == "load"
    assert cue.load(NAME).skill.trust == "trusted"
    put(garden, index, trust="untrusted")
    again = cue.advise([{"role": "user", "content": f"use the {NAME} skill, please"}])
    assert again.decision != "load"  # the look-up is of before, the text is not
    loaded = cue.load(NAME)
    assert loaded.skill.trust == "untrusted"
    assert "third party" in cue.tools().load(NAME).text


def test_always_asks_every_time(index):
    cue = over(index, recheck="always")
    cue.snapshot()
    index.calls.clear()
    cue.snapshot()
    cue.snapshot()
    assert index.calls["revision"] == 2


def test_in_the_background_a_call_gets_what_is_there(garden, index):
    cue = over(index, recheck="background")
    before = cue.snapshot()
    edit(garden, index, "Grow nothing but quinces.")
    assert cue.snapshot() is before
    end = time.monotonic() + 60
    while cue.snapshot() is before:
        assert time.monotonic() < end, "nobody asks for the revision"
        time.sleep(0.001)
    assert cue.lookup("quinces").hits[0].skill.name == NAME


def test_an_unknown_recheck_is_refused_before_anything_is_opened(index):
    with pytest.raises(ConfigurationError, match="recheck"):
        over(index, recheck="sometimes")


class Deaf(WatchedIndex):
    """Cannot tell of changes."""

    def listen(self, changed: Callable[[str], None]) -> Callable[[], None]:
        raise NotImplementedError


def test_an_index_that_cannot_tell_is_asked_now_and_then(garden):
    index = Deaf()
    put(garden, index)
    now = [100.0]
    live = LiveIndex(index, ("",), "index", clock=lambda: now[0])
    first = live.snapshot()
    edit(garden, index, "Grow nothing but quinces.")
    assert live.snapshot() is first
    now[0] += POLL_S
    assert live.snapshot().resolve(NAME).description == "Grow nothing but quinces."


def test_a_forked_child_hears_of_changes(garden, index):
    cue = over(index)
    cue.lookup(TOMATO)
    live = cue._live
    told = len(index._listeners)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            cue.lookup(TOMATO)
            edit(garden, index, "Grow nothing but quinces.")
            ok = len(index._listeners) == told + 1 and cue.lookup("quinces").hits[0].skill.name
            os.write(writing, str(ok).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        assert answer.read() == NAME
    assert live.snapshot() is not None


def test_closing_ends_listening_and_leaves_the_index_of_the_user_open(index):
    cue = over(index)
    cue.lookup(TOMATO)
    assert len(index._listeners) == 1
    cue.close()
    assert index._listeners == []


def test_a_turn_keeps_the_words_it_began_with(garden, index):
    cue = over(index)
    advisor = cue.advisor("skill_load")
    messages = [{"role": "user", "content": TOMATO, "id": "m1"}]
    first = advisor.plan(messages)
    assert first.placements
    edit(garden, index, "Grow nothing but quinces.")
    under_way = [*messages, {"role": "assistant", "content": "Let me see."}]
    assert advisor.plan(under_way, records=first.records).placements == first.placements
