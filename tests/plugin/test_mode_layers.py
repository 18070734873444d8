"""The mode of a turn: which layer wins, and that it never leaks into another run."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from support.conversations import PHRASES
from support.modes import CountingModes
from support.policies import ModePolicy

from skillcue import SkillCue, skill_mode
from skillcue.mode import MODE_KEY, requested_mode
from skillcue_hooks.errors import UnknownModeError

LAYERS = ("explicit", "runtime", "configurable", "contextvar", "record", "hook", "default")


@dataclass
class Runtime:
    skill_mode: str | None = None


def ask_with(garden: Any, given: set[str]) -> str:
    """The mode of a turn where the layers `given` all name one, each its own."""
    modes = CountingModes(*LAYERS)
    plugins: list[Any] = [modes]
    if "hook" in given:
        plugins.append(ModePolicy("hook"))
    cue = SkillCue(garden, mode="default", plugins=plugins)
    message = {"role": "user", "content": PHRASES[0], "id": "m1"}
    records = {"m1": ["record"]} if "record" in given else None
    layers = (
        Runtime("runtime" if "runtime" in given else None),
        {MODE_KEY: "configurable"} if "configurable" in given else {},
    )

    def plan() -> str:
        mode = requested_mode("explicit" if "explicit" in given else None, *layers)
        return cue.advisor(None).plan([message], mode=mode, records=records).advice.mode

    if "contextvar" in given:
        with skill_mode("contextvar"):
            return plan()
    return plan()


@pytest.mark.parametrize("first", range(len(LAYERS)))
def test_each_layer_wins_over_all_below_it(garden, first):
    assert ask_with(garden, set(LAYERS[first:])) == LAYERS[first]
    assert ask_with(garden, {LAYERS[first]}) == LAYERS[first]


@pytest.mark.parametrize(
    ("layers", "mode"),
    [
        ((), None),
        ((None, None), None),
        (({}, {"other": "x"}), None),
        (({MODE_KEY: None}, {MODE_KEY: ""}, {MODE_KEY: "a"}), "a"),
        ((SimpleNamespace(), SimpleNamespace(skill_mode="a"), {MODE_KEY: "b"}), "a"),
        ((SimpleNamespace(skill_mode=None), {MODE_KEY: "b"}), "b"),
        ((3, "text", ["x"], {MODE_KEY: "b"}), "b"),
    ],
)
def test_layers_are_mappings_or_objects_and_may_lack_the_key(layers, mode):
    assert requested_mode(None, *layers) == mode
    assert requested_mode("", *layers) == mode
    assert requested_mode("explicit", *layers) == "explicit"


def test_blocks_nest_and_end_even_when_they_raise():
    assert requested_mode(None) is None
    with skill_mode("outer"):
        assert requested_mode(None) == "outer"
        with pytest.raises(RuntimeError), skill_mode("inner"):
            assert requested_mode(None) == "inner"
            raise RuntimeError
        assert requested_mode(None) == "outer"
    assert requested_mode(None) is None


def test_threads_do_not_inherit_unless_they_copy_the_context():
    seen: dict[str, str | None] = {}

    def look(name: str) -> None:
        seen[name] = requested_mode(None)

    with skill_mode("a"):
        plain = threading.Thread(target=look, args=("plain",))
        copied = threading.Thread(target=contextvars.copy_context().run, args=(look, "copied"))
        for thread in (plain, copied):
            thread.start()
            thread.join()
    assert seen == {"plain": None, "copied": "a"}


def test_blocks_in_threads_do_not_mix():
    barrier = threading.Barrier(8)

    def one(number: int) -> bool:
        with skill_mode(f"m{number}"):
            barrier.wait()
            seen = requested_mode(None)
            barrier.wait()
        return seen == f"m{number}" and requested_mode(None) is None

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(8)))


async def test_tasks_keep_the_mode_they_were_started_with():
    entered = asyncio.Event()

    async def inner() -> tuple[str | None, str | None, str | None]:
        before = requested_mode(None)
        await entered.wait()
        with skill_mode("inner"):
            await asyncio.sleep(0)
            inside = requested_mode(None)
        return before, inside, requested_mode(None)

    with skill_mode("a"):
        first = asyncio.create_task(inner())
    with skill_mode("b"):
        second = asyncio.create_task(inner())
    third = asyncio.create_task(inner())
    await asyncio.sleep(0)
    entered.set()
    assert await asyncio.gather(first, second, third) == [
        ("a", "inner", "a"),
        ("b", "inner", "b"),
        (None, "inner", None),
    ]


async def test_worker_threads_of_the_async_twins_see_the_mode(garden):
    cue = SkillCue(garden, plugins=[CountingModes("fast")])
    messages = [{"role": "user", "content": PHRASES[0]}]
    with skill_mode("fast"):
        assert (await cue.alookup(PHRASES[0])).mode == "fast"
        assert (await cue.aadvise(messages)).mode == "fast"
    assert (await cue.alookup(PHRASES[0])).mode == "skillsight"
    assert (await cue.aadvise(messages)).mode == "skillsight"


def test_the_block_holds_for_lookup_advice_and_the_tools(garden):
    cue = SkillCue(garden, plugins=[CountingModes("fast")])
    messages = [{"role": "user", "content": PHRASES[0]}]
    with skill_mode("fast"):
        assert cue.lookup(PHRASES[0]).mode == cue.advise(messages).mode == "fast"
        assert cue.tools().lookup(PHRASES[0]).data["mode"] == "fast"
        assert cue.lookup(PHRASES[0], mode="bm25").mode == "bm25"
        assert cue.tools().lookup(PHRASES[0], mode="bm25").data["mode"] == "bm25"


def test_an_unknown_mode_in_a_block_is_found_when_it_is_used(garden):
    cue = SkillCue(garden)
    with skill_mode("bm52"):
        with pytest.raises(UnknownModeError, match="Did you mean 'bm25'"):
            cue.lookup("x")
        with pytest.raises(UnknownModeError):
            cue.advise([{"role": "user", "content": "x"}])
        assert "Did you mean 'bm25'" in cue.tools().lookup("x").text
