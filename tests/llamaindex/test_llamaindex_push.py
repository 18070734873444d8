"""`with_skills` on real function agents: what the model sees, what is stored, what is asked once."""

from __future__ import annotations

import asyncio
import itertools
import json

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, MessageRole, TextBlock
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context, JsonSerializer
from support.llamaindex_models import StrictLlm, advised_texts, call, run_turn, wire
from support.modes import CountingModes, StandInMode

from skillcue import SkillCue
from skillcue.llamaindex import SkillAdviceEvent, with_skills
from skillcue.push.declines import DECLINED_KEY
from skillcue.push.messages import ADVICE_CLOSE, ADVICE_OPEN

PDF = "I have to fill in a PDF form for my visa application"
AUDIO = "Clean up my podcast recording: hum, echo, plosives and uneven voices"
BREAD = "My sourdough starter is sluggish and the rye bread comes out with a dense crumb"
THANKS = "Thanks, that is great!"

PIXEL = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00"
    b"\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xff\xff?\x00\x05\xfe\x02\xfe\xa7\x9a\xa0\xa0"
    b"\x00\x00\x00\x00IEND\xaeB`\x82"
)


def agent_of(cue: SkillCue, llm: StrictLlm, *, system: str | None = "SYS", **options):
    """A function agent with skills; agent fields and options of `with_skills` together."""
    fields = {k: options.pop(k) for k in ("tools", "initial_state", "streaming") if k in options}
    return with_skills(FunctionAgent(llm=llm, system_prompt=system, **fields), cue, **options)


def assert_prefixes(requests: list[list[ChatMessage]]) -> None:
    """Each request continues the one before it, byte for byte."""
    wires = [wire(request) for request in requests]
    for before, after in itertools.pairwise(wires):
        assert after.startswith(before + "\n")


async def test_the_model_sees_advice_inside_the_users_message(cue):
    llm = StrictLlm()
    await run_turn(agent_of(cue, llm), PDF)
    [request] = llm.requests
    assert [m.role for m in request] == [MessageRole.SYSTEM, MessageRole.USER]
    assert request[0].content == "SYS"
    [block] = request[1].blocks
    assert isinstance(block, TextBlock)
    assert block.text.startswith(f"{PDF}\n\n{ADVICE_OPEN}\n")
    assert block.text.endswith(f"\n{ADVICE_CLOSE}")
    assert 'skill_load(name="pdf-form-filling")' in block.text


async def test_a_turn_that_was_decided_by_a_stand_in_keeps_its_advice_to_the_end(example_skills):
    mode = StandInMode()
    with SkillCue(example_skills, mode="stand_in", plugins=[mode]) as cue:
        llm = StrictLlm(script=[call("skill_load", name="pdf-form-filling"), "filled"])
        agent = agent_of(cue, llm)
        handler = agent.run(user_msg=PDF)
        told = 0
        async for event in handler.stream_events():
            if isinstance(event, SkillAdviceEvent):
                told += 1
                mode.degraded = None  # from now on the good index answers
        await handler
    first, second = llm.requests
    assert told == 1
    assert wire(second).startswith(wire(first))
    assert advised_texts(second)


async def test_own_message_placement_puts_it_behind_the_users_message(cue):
    llm = StrictLlm(strict=False)
    await run_turn(agent_of(cue, llm, placement="own_message"), PDF)
    [request] = llm.requests
    assert [m.role.value for m in request] == ["system", "user", "user"]
    assert request[1].content == PDF
    assert request[2].content.startswith(ADVICE_OPEN)


async def test_memory_never_holds_advice_and_stored_messages_stay_the_same_objects(
    cue, make_memory
):
    llm = StrictLlm(script=[call("skill_load", name="pdf-form-filling"), "filled", "welcome"])
    agent, memory = agent_of(cue, llm), make_memory()
    message = ChatMessage(role="user", content=PDF, additional_kwargs={"mine": 1})
    await run_turn(agent, message, memory=memory)
    await run_turn(agent, THANKS, memory=memory)
    assert advised_texts(llm.requests[-1])
    assert message.content == PDF
    stored = await memory.aget_all()
    assert [m.role.value for m in stored] == [
        "user", "assistant", "tool", "assistant", "user", "assistant",
    ]  # fmt: skip
    assert not advised_texts(stored)
    assert stored[0].content == PDF
    assert stored[0].additional_kwargs == {"mine": 1}


async def test_each_request_is_a_byte_prefix_of_the_next_over_four_turns(cue, make_memory):
    llm = StrictLlm(
        script=[
            call("skill_lookup", "c1", query="fill in pdf forms"),
            call("skill_load", "c2", name="pdf-form-filling"),
            "filled",
            "compared",
            "welcome",
            call("skill_load", "c3", name="sourdough-baking"),
            "baked",
        ]
    )
    agent, memory = agent_of(cue, llm), make_memory()
    for text in (PDF, AUDIO, THANKS, BREAD):
        await run_turn(agent, text, memory=memory)
    assert len(llm.requests) == 7
    assert_prefixes(llm.requests)
    assert len(advised_texts(llm.requests[-1])) == 3


async def test_the_prefix_holds_where_only_the_memory_survives(example_skills, make_memory):
    """A fresh library, a fresh agent and no context on every turn, as in a web handler."""
    requests, memory = [], make_memory()
    for turn, text in enumerate((PDF, AUDIO, THANKS, BREAD)):
        llm = StrictLlm(script=[call("skill_lookup", f"c{turn}", query=text), f"answer {turn}"])
        with SkillCue(example_skills) as cue:
            await run_turn(agent_of(cue, llm), text, memory=memory)
        requests += llm.requests
    assert len(requests) == 8
    assert_prefixes(requests)
    assert len(advised_texts(requests[-1])) == 3


async def test_one_search_and_one_event_for_a_turn_with_five_model_calls(example_skills):
    modes = CountingModes("counted")
    script = [call("skill_list", f"c{i}") for i in range(4)] + ["done"]
    llm = StrictLlm(script=script)
    with SkillCue(example_skills, mode="counted", plugins=[modes], cache=False) as cue:
        agent, memory = agent_of(cue, llm), ChatMemoryBuffer.from_defaults(token_limit=100_000)
        _, events = await run_turn(agent, PDF, memory=memory)
        assert len(llm.requests) == 5
        assert modes.calls == [("counted", PDF)]
        advice = [event for event in events if isinstance(event, SkillAdviceEvent)]
        assert [event.skills[0] for event in advice] == ["pdf-form-filling"]
        await run_turn(agent, AUDIO, memory=memory)
        assert modes.calls == [("counted", PDF), ("counted", AUDIO)]


async def test_every_call_of_a_turn_is_advised_in_the_same_bytes_and_pairs_stay_together(cue):
    both = call("skill_list", "c1")
    both.additional_kwargs["tool_calls"] += call(
        "skill_lookup", "c2", query="pdf"
    ).additional_kwargs["tool_calls"]
    llm = StrictLlm(script=[both, "done", "again"])
    agent, memory = agent_of(cue, llm), ChatMemoryBuffer.from_defaults(token_limit=100_000)
    await run_turn(agent, PDF, memory=memory)
    await run_turn(agent, AUDIO, memory=memory)
    assert [m.role.value for m in llm.requests[1]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
    ]
    results = [m.additional_kwargs["tool_call_id"] for m in llm.requests[1][3:]]
    assert sorted(results) == ["c1", "c2"]
    assert len({advised_texts(request)[0] for request in llm.requests}) == 1


@pytest.mark.parametrize("streaming", [True, False])
async def test_streaming_and_plain_calls_are_advised_alike(cue, streaming):
    llm = StrictLlm()
    agent = agent_of(cue, llm)
    if "streaming" in type(agent).model_fields:
        agent.streaming = streaming
    await run_turn(agent, PDF)
    assert len(advised_texts(llm.requests[0])) == 1


async def test_the_event_says_what_a_langgraph_stream_says(cue):
    from skillcue.push.advisor import Plan

    llm = StrictLlm()
    _, events = await run_turn(agent_of(cue, llm), PDF)
    [event] = [event for event in events if isinstance(event, SkillAdviceEvent)]
    assert event.type == "skill_advice"
    assert event.decision == "offer"
    assert event.mode == "skillsight"
    assert event.ids[0].startswith("pdf-form-filling@")
    assert event.tokens > 0
    assert event.confidence >= event.threshold > 0
    assert event.elapsed_ms > 0
    langchain_run = pytest.importorskip("skillcue.langchain_run")
    assert set(langchain_run.advice_event(Plan())) == set(SkillAdviceEvent.model_fields)


async def test_an_abstention_is_an_event_too_and_changes_nothing(cue):
    llm = StrictLlm()
    _, events = await run_turn(agent_of(cue, llm), THANKS)
    [event] = [event for event in events if isinstance(event, SkillAdviceEvent)]
    assert event.decision == "abstain"
    assert event.skills == []
    assert event.reason
    assert llm.requests[0][1].content == THANKS


async def test_text_beside_an_image_is_advised_in_a_further_block(cue):
    llm = StrictLlm()
    image = ImageBlock(image=PIXEL)
    message = ChatMessage(role="user", blocks=[TextBlock(text=PDF), image])
    await run_turn(agent_of(cue, llm), message)
    blocks = llm.requests[0][1].blocks
    assert [block.block_type for block in blocks] == ["text", "image", "text"]
    assert blocks[0].text == PDF
    assert blocks[1] == image
    assert blocks[2].text.startswith(ADVICE_OPEN)
    assert len(message.blocks) == 2


async def test_an_image_alone_is_not_searched_and_gets_no_advice(example_skills):
    modes = CountingModes("counted")
    llm = StrictLlm()
    with SkillCue(example_skills, mode="counted", plugins=[modes], cache=False) as cue:
        message = ChatMessage(role="user", blocks=[ImageBlock(image=PIXEL)])
        await run_turn(agent_of(cue, llm), message)
    assert modes.calls == []
    assert [block.block_type for block in llm.requests[0][1].blocks] == ["image"]


async def test_the_query_is_what_the_user_wrote_not_the_state_prompt(example_skills, make_memory):
    """`initial_state` wraps the newest message in "Current state: ..." on its way to the model."""
    modes = CountingModes("counted")
    script = [call("skill_load", "c1", name="pdf-form-filling"), "one", "two", "three"]
    with SkillCue(example_skills, mode="counted", plugins=[modes], cache=False) as cue:
        llm = StrictLlm(script=script)
        agent = agent_of(cue, llm, initial_state={"sourdough": "rye bread levain"})
        memory = make_memory()
        for text in (PDF, THANKS, AUDIO):
            await run_turn(agent, text, memory=memory)
        assert "Current state:" in llm.requests[0][1].content
        assert ADVICE_OPEN in llm.requests[0][1].content
        assert modes.calls == [("counted", PDF), ("counted", THANKS), ("counted", AUDIO)]
        assert "sourdough-baking" not in wire(llm.requests[-1])


async def test_the_prefix_holds_with_a_state_prompt_in_fresh_processes(example_skills):
    requests, memory = [], ChatMemoryBuffer.from_defaults(token_limit=100_000)
    for turn, text in enumerate((PDF, AUDIO, BREAD)):
        llm = StrictLlm(script=[call("skill_list", f"c{turn}"), "ok"])
        with SkillCue(example_skills) as cue:
            agent = agent_of(cue, llm, initial_state={"step": 1})
            await run_turn(agent, text, memory=memory)
        requests += llm.requests
    assert_prefixes(requests)
    assert len(advised_texts(requests[-1])) == 3


async def test_a_memory_block_in_the_users_message_does_not_change_the_query(
    example_skills, sql_memory
):
    from llama_index.core.memory import InsertMethod, StaticMemoryBlock

    modes = CountingModes("counted")
    block = StaticMemoryBlock(name="facts", static_content="The user bakes sourdough rye bread")
    with SkillCue(example_skills, mode="counted", plugins=[modes], cache=False) as cue:
        llm = StrictLlm()
        memory = sql_memory(memory_blocks=[block], insert_method=InsertMethod.USER)
        agent = agent_of(cue, llm)
        for text in (PDF, THANKS):
            await run_turn(agent, text, memory=memory)
        assert modes.calls == [("counted", PDF), ("counted", THANKS)]
    first, second = llm.requests
    assert "sourdough rye" in first[1].content
    assert first[1].blocks[-1].text.startswith(f"{ADVICE_OPEN}\n")
    assert advised_texts(second)[0].endswith(first[1].blocks[-1].text)


async def test_what_is_kept_for_forty_turns_is_plain_json_under_a_kilobyte(cue):
    llm = StrictLlm()
    agent, memory = agent_of(cue, llm), ChatMemoryBuffer.from_defaults(token_limit=100_000)
    ctx = Context(agent)
    texts = [PDF, AUDIO, BREAD, THANKS]
    for turn in range(40):
        handler = agent.run(user_msg=f"{texts[turn % 4]} ({turn})", ctx=ctx, memory=memory)
        await handler
    records = await ctx.store.get("skillcue_turns")
    assert 2 < len(json.dumps(records, ensure_ascii=False).encode()) < 1_000
    assert json.loads(json.dumps(records)) == records
    modes = {record[0] for key, record in records.items() if key != DECLINED_KEY}
    assert modes == {"skillsight"}
    keys = set((await ctx.store.get_state()).keys())
    assert {key for key in keys if key.startswith("skillcue")} == {"skillcue_turns"}
    assert_prefixes(llm.requests[-3:])


async def test_records_survive_the_serialised_context(cue, example_skills):
    llm = StrictLlm()
    memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)
    agent = agent_of(cue, llm)
    ctx = Context(agent)
    await run_turn(agent, PDF, ctx=ctx, memory=memory)
    await ctx.store.set("memory", None)
    saved = json.loads(json.dumps(ctx.to_dict(serializer=JsonSerializer())))
    assert ADVICE_OPEN not in json.dumps(saved)

    modes = CountingModes("counted")
    with SkillCue(example_skills, plugins=[modes], cache=False) as other:
        restored_agent = agent_of(other, llm)
        restored = Context.from_dict(restored_agent, saved, serializer=JsonSerializer())
        await restored_agent.run(user_msg=THANKS, ctx=restored, memory=memory, skill_mode="counted")
    assert modes.calls == [("counted", THANKS)]  # the first turn came from its record
    assert_prefixes(llm.requests)


async def test_a_failing_retriever_does_not_fail_the_turn(example_skills, caplog):
    broken = CountingModes("broken", error=lambda: RuntimeError("index lost"))
    llm = StrictLlm(script=[call("skill_lookup", query="pdf"), "done without"])
    with SkillCue(example_skills, mode="broken", plugins=[broken], cache=False) as cue:
        result, events = await run_turn(agent_of(cue, llm), PDF)
    assert str(result) == "done without"
    assert llm.requests[0][1].content == PDF
    assert "index lost" in caplog.text
    assert any(isinstance(event, SkillAdviceEvent) for event in events)
    assert "cannot answer now" in llm.requests[1][-1].content


async def test_a_failing_store_does_not_fail_the_turn(cue, caplog, monkeypatch):
    """Whatever happens around the decision, the request goes on as it was."""
    llm = StrictLlm()
    monkeypatch.setattr(
        "skillcue.llamaindex_agent.read_request", lambda *a: (_ for _ in ()).throw(OSError("disk"))
    )
    result, _ = await run_turn(agent_of(cue, llm), PDF)
    assert str(result) == "done"
    assert llm.requests[0][1].content == PDF
    assert "disk" in caplog.text


async def test_advice_names_the_file_where_the_agent_has_no_load_tool(cue):
    llm = StrictLlm()
    await run_turn(agent_of(cue, llm, pull=False), PDF)
    [text] = advised_texts(llm.requests[0])
    assert "skill_load" not in text
    assert "pdf-form-filling/SKILL.md" in text


async def test_advice_names_the_load_tool_the_agent_brought_itself(cue):
    from skillcue.llamaindex import SkillToolSpec

    llm = StrictLlm()
    tools = SkillToolSpec(cue, prefix="kb_").to_tool_list()
    await run_turn(agent_of(cue, llm, tools=tools, pull=False), PDF)
    [text] = advised_texts(llm.requests[0])
    assert 'kb_skill_load(name="pdf-form-filling")' in text


async def test_a_foreign_tool_of_that_name_is_not_named(cue):
    def skill_load(name: str) -> str:
        """Load something else."""
        return name

    llm = StrictLlm()
    tools = [FunctionTool.from_defaults(skill_load)]
    await run_turn(agent_of(cue, llm, tools=tools, pull=False), PDF)
    [text] = advised_texts(llm.requests[0])
    assert "skill_load(" not in text


async def test_the_first_tool_choice_still_works(cue):
    if "initial_tool_choice" not in FunctionAgent.model_fields:
        pytest.skip("this LlamaIndex has no initial_tool_choice")
    llm = StrictLlm(script=[call("skill_lookup", query="pdf"), "done"])
    agent = with_skills(FunctionAgent(llm=llm, initial_tool_choice="skill_lookup"), cue)
    await run_turn(agent, PDF)
    assert [options.get("tool_choice") for options in llm.options] == ["skill_lookup", None]


async def test_a_run_on_chat_history_alone_is_advised(cue):
    llm = StrictLlm()
    history = [
        ChatMessage(role="user", content=THANKS),
        ChatMessage(role="assistant", content="What else?"),
        ChatMessage(role="user", content=PDF),
    ]
    await agent_of(cue, llm).run(chat_history=history)
    assert [m.role.value for m in llm.requests[0]] == ["system", "user", "assistant", "user"]
    assert llm.requests[0][3].content.startswith(f"{PDF}\n\n{ADVICE_OPEN}")
    assert history[2].content == PDF


async def test_twenty_turns_at_once_on_one_agent(cue):
    llm = StrictLlm()
    agent = agent_of(cue, llm)
    texts = [f"{(PDF, AUDIO, BREAD, THANKS)[i % 4]} {i}" for i in range(20)]
    await asyncio.gather(*(run_turn(agent, text) for text in texts))
    said = {request[1].content.split("\n\n")[0]: request[1].content for request in llm.requests}
    assert sorted(said) == sorted(texts)
    for text, content in said.items():
        expected = {"I": "pdf-form-filling", "C": "podcast-audio-cleanup", "M": "sourdough-baking"}
        skill = expected.get(text[0])
        assert (skill in content) if skill else (content == text)
