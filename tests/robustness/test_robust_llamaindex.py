"""Long, flushed, resumed and many conversations in real LlamaIndex agents."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.workflow import Context, JsonSerializer
from support.conversations import PHRASES
from support.llamaindex_models import StrictLlm, call, wire
from support.repeats import check_no_repeat, offered_names, prefix_breaks

from skillcue import PushSettings, SkillCue
from skillcue.llamaindex import with_skills

TASKS = PHRASES[:8]
TIGHT = PushSettings(tokens_replayed=450)
"""Room for few pieces of advice, so that skills leave the request and can be offered again."""
ROOMY = 10_000_000


class Loads:
    """A model that loads what it is offered in every `every`-th turn, 0 for never."""

    def __init__(self, every: int) -> None:
        self._every = every

    def __call__(self, messages: Sequence[ChatMessage]) -> ChatMessage | str:
        last = messages[-1]
        names = offered_names(last.content or "") if last.role.value == "user" else []
        turn = sum(message.role.value == "user" for message in messages)
        if names and self._every and turn % self._every == 0:
            return call("skill_load", f"call-{turn}", name=names[0])
        return f"Answer {turn}."


def llm_that(every: int) -> StrictLlm:
    return StrictLlm(script=[Loads(every)] * 1_000)


def agent_of(cue: SkillCue, llm: StrictLlm) -> Any:
    return with_skills(FunctionAgent(llm=llm, system_prompt="SYS"), cue)


def memory_of(
    tokens: int = ROOMY, messages: Sequence[ChatMessage] | None = None
) -> ChatMemoryBuffer:
    return ChatMemoryBuffer.from_defaults(list(messages or ()), token_limit=tokens)


def spoken(request: Sequence[ChatMessage]) -> list[tuple[str, str]]:
    return [(m.role.value, m.content or "") for m in request]


async def stored(ctx: Context) -> dict[str, list[str]]:
    records: dict[str, list[str]] = await ctx.store.get("skillcue_turns")
    return records


@pytest.fixture
def cue(garden):
    with SkillCue(garden, mode="bm25", push=TIGHT, recheck="manual") as cue:
        yield cue


@pytest.mark.parametrize("every", [0, 3])
async def test_two_hundred_turns(cue, every):
    """No repeat in any request, nothing that grows, and few breaks of the prefix.

    Everything is asked twice in a row.
    """
    llm = llm_that(every)
    agent, memory = agent_of(cue, llm), memory_of()
    ctx = Context(agent)
    sizes, declined = [], {}
    for turn in range(200):
        before = len(llm.requests)
        await agent.run(f"{TASKS[turn // 2 * 3 % 8]} ({turn})", ctx=ctx, memory=memory)
        took = len(llm.requests) > before + 1
        for name in offered_names(llm.requests[before][-1].content or ""):
            declined[name] = 0 if took else declined.get(name, 0) + 1
            assert declined[name] <= 2
        sizes.append(len(json.dumps(await stored(ctx))))
    for request in llm.requests:
        check_no_repeat(spoken(request))
    assert len(declined) == 8  # every skill was offered
    assert max(sizes) <= 1_000
    assert max(sizes[100:]) <= max(sizes[:100])
    assert prefix_breaks(map(wire, llm.requests)) <= 12
    assert not any("skill_advice" in (m.content or "") for m in await memory.aget_all())


@pytest.mark.parametrize("every", [0, 3])
async def test_a_memory_that_is_flushed_all_the_time(garden, every):
    """Its window moves with every turn: advice in it stays what it was, nothing is repeated."""
    llm = llm_that(every)
    with SkillCue(garden, mode="bm25", recheck="manual") as cue:
        agent, memory = agent_of(cue, llm), memory_of(200)
        ctx = Context(agent)
        said: dict[str, set[str]] = {}
        for turn in range(60):
            await agent.run(f"{TASKS[turn % 8]} ({turn})", ctx=ctx, memory=memory)
            assert len(json.dumps(await stored(ctx))) <= 1_000
    assert max(map(len, llm.requests)) < 30  # it was flushed
    for request in llm.requests:
        check_no_repeat(spoken(request))
        for role, text in spoken(request):
            if role == "user":
                said.setdefault(text.partition("\n\n")[0], set()).add(text)
    assert len(said) == 60
    for texts in said.values():
        assert len({text for text in texts if "skill_advice" in text}) <= 1


RESUME = """
import asyncio, json, pickle, sys
from pathlib import Path
import test_robust_llamaindex as here
from llama_index.core.workflow import Context, JsonSerializer
from skillcue import SkillCue

async def main(kept, folder, text):
    state, messages = pickle.loads(Path(kept).read_bytes())
    llm = here.llm_that(3)
    with SkillCue(folder, mode="bm25", push=here.TIGHT, recheck="manual") as cue:
        agent = here.agent_of(cue, llm)
        ctx = Context.from_dict(agent, state, JsonSerializer())
        memory = here.memory_of(messages=messages)
        await agent.run(text, ctx=ctx, memory=memory)
        return [[here.wire(r) for r in llm.requests], await here.stored(ctx)]

print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
"""


async def test_a_thread_that_a_new_process_resumes(cue, garden, tmp_path, new_process, monkeypatch):
    """The bytes and the records are those that one process would have made."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    llm = llm_that(3)
    agent, memory = agent_of(cue, llm), memory_of()
    ctx = Context(agent)
    for turn in range(22):
        await agent.run(f"{TASKS[turn % 8]} ({turn})", ctx=ctx, memory=memory)
    kept = tmp_path / "kept"
    kept.write_bytes(pickle.dumps((ctx.to_dict(JsonSerializer()), memory.get_all())))
    begun = len(llm.requests)
    await agent.run(TASKS[6], ctx=ctx, memory=memory)
    expected = [[wire(request) for request in llm.requests[begun:]], await stored(ctx)]
    resumed = await asyncio.to_thread(new_process, RESUME, str(kept), str(garden), TASKS[6])
    assert resumed == expected


async def test_a_fork_goes_its_own_way(cue):
    llm = llm_that(0)
    agent, memory = agent_of(cue, llm), memory_of()
    ctx = Context(agent)
    for turn in range(6):
        await agent.run(f"{TASKS[turn]} ({turn})", ctx=ctx, memory=memory)
    common = wire(llm.requests[-1])
    fork = Context.from_dict(agent, ctx.to_dict(JsonSerializer()), JsonSerializer())
    copy = memory_of(messages=memory.get_all())
    for number, (context, kept) in enumerate([(ctx, memory), (fork, copy)] * 2):
        await agent.run(f"{TASKS[6 + number % 2]} {number}", ctx=context, memory=kept)
    branches = [wire(request) for request in llm.requests[-4:]]
    assert all(branch.startswith(common) for branch in branches)
    assert branches[2].startswith(branches[0]) and branches[3].startswith(branches[1])
    assert TASKS[7] not in branches[2] and TASKS[6] not in branches[3]


async def test_a_library_that_is_edited_between_turns(garden):
    llm = llm_that(1)
    with SkillCue(garden, mode="bm25", recheck="always") as cue:
        agent, memory = agent_of(cue, llm), memory_of()
        ctx = Context(agent)
        newest = []
        for turn, text in enumerate((TASKS[0], TASKS[0], TASKS[0], TASKS[1], "Thanks!")):
            if turn == 2:
                path = garden / "tomato-pruning" / "SKILL.md"
                path.write_text(path.read_text("utf-8") + "Water in the morning.\n", "utf-8")
            if turn == 4:
                (garden / "compost-heap" / "SKILL.md").unlink()
            begun = len(llm.requests)
            await agent.run(f"{text} ({turn})", ctx=ctx, memory=memory)
            newest.append(offered_names(llm.requests[begun][-1].content or ""))
    assert newest[:2] == [["tomato-pruning"], []]
    assert newest[3] == ["compost-heap"]
    last = [name for _, text in spoken(llm.requests[-1]) for name in offered_names(text)]
    assert last == ["tomato-pruning"]  # what was deleted is not named any more


async def test_twenty_conversations_at_once_send_what_each_sends_alone(garden):
    async def one(cue: SkillCue, number: int) -> list[str]:
        llm = llm_that(3)
        agent, memory = agent_of(cue, llm), memory_of()
        ctx = Context(agent)
        for turn in range(8):
            text = f"{TASKS[(number + turn * 3) % 8]} ({turn} of {number % 10})"
            await agent.run(text, ctx=ctx, memory=memory)
        assert len(json.dumps(await stored(ctx))) <= 1_000
        return [wire(request) for request in llm.requests]

    with SkillCue(garden, mode="bm25", push=TIGHT, recheck="manual") as cue:
        together = await asyncio.gather(*(one(cue, number) for number in range(20)))
    with SkillCue(garden, mode="bm25", push=TIGHT, recheck="manual") as cue:
        alone = [await one(cue, number) for number in range(20)]
    assert together == alone


async def test_what_a_react_agent_loaded_in_an_earlier_turn_is_not_offered_again(garden):
    load = 'Thought: I need it.\nAction: skill_load\nAction Input: {"name": "tomato-pruning"}'
    answer = "Thought: I can answer without using any more tools.\nAnswer: Done."
    llm = StrictLlm(script=[load, answer, answer, answer], function_calling=False, strict=False)
    push = PushSettings(tokens_replayed=1)  # advice of earlier turns is gone at once
    with SkillCue(garden, mode="bm25", push=push, recheck="manual") as cue:
        agent, memory = with_skills(ReActAgent(llm=llm), cue), memory_of()
        ctx = Context(agent)
        await agent.run(TASKS[0], ctx=ctx, memory=memory)
        await agent.run(TASKS[1], ctx=ctx, memory=memory)
        await agent.run(f"{TASKS[0]} Again.", ctx=ctx, memory=memory)
    last = [m for m in llm.requests[-1] if m.role.value == "user"][-1]
    assert "Again." in (last.content or "")
    assert offered_names(last.content or "") == []
    assert any("Observation: [skill tomato-pruning@" in (m.content or "") for m in llm.requests[-1])
