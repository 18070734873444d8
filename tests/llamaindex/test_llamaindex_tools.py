"""`SkillToolSpec`: what the model sees of the tools, and what it may send."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.workflow import Context
from support.llamaindex_models import StrictLlm, call, run_turn
from support.modes import CountingModes

from skillcue import SkillCue, skill_mode
from skillcue.llamaindex import SkillToolSpec
from skillcue.pull import TOOL_DESCRIPTIONS
from skillcue_hooks import Scope, hookimpl

PDF = "fill in a pdf form"


def tools_by_name(cue: SkillCue, prefix: str = "") -> dict:
    return {tool.metadata.name: tool for tool in SkillToolSpec(cue, prefix).to_tool_list()}


async def answers(cue: SkillCue, *calls, text: str = "help me", **options) -> list:
    """Outputs of the tool calls of one turn of a real agent."""
    llm = StrictLlm(script=[*calls, "done"])
    agent = FunctionAgent(llm=llm, tools=SkillToolSpec(cue).to_tool_list())
    _, events = await run_turn(agent, text, **options)
    return [event.tool_output for event in events if type(event).__name__ == "ToolCallResult"]


def test_the_model_sees_exactly_the_arguments(cue):
    tools = tools_by_name(cue)
    properties = {
        name: list(tool.metadata.get_parameters_dict()["properties"])
        for name, tool in tools.items()
    }
    assert properties == {
        "skill_lookup": ["query", "k", "offset"],
        "skill_load": ["name", "file", "page"],
        "skill_list": ["page"],
    }
    required = {n: t.metadata.get_parameters_dict().get("required") for n, t in tools.items()}
    assert required == {"skill_lookup": ["query"], "skill_load": ["name"], "skill_list": None}
    assert all(tool.requires_context for tool in tools.values())


def test_descriptions_are_constant_and_fit_the_openai_limit(cue):
    for tool, key in zip(
        tools_by_name(cue, "a_").values(), ("lookup", "load", "list"), strict=True
    ):
        assert tool.metadata.description == TOOL_DESCRIPTIONS[key]
        spec = tool.metadata.to_openai_tool()
        assert spec["function"]["name"] == f"a_skill_{key}"
        json.dumps(spec)


def test_without_llama_index_the_error_names_the_extra():
    code = (
        "import sys; sys.modules['llama_index'] = None\n"
        "try: import skillcue.llamaindex\n"
        "except ImportError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == (
        'llama-index-core is not installed. Install it with: pip install "skillcue[llamaindex]"'
    )


def test_a_subset_of_the_functions_can_be_taken(cue):
    [tool] = SkillToolSpec(cue).to_tool_list(spec_functions=["skill_load"])
    assert tool.metadata.name == "skill_load"


async def test_pull_only_agent_finds_and_loads(cue):
    found, loaded, listed = await answers(
        cue,
        call("skill_lookup", "c1", query=PDF, k=2),
        call("skill_load", "c2", name="pdf-form-filling"),
        call("skill_list", "c3"),
    )
    assert "1. pdf-form-filling:" in found.content
    assert loaded.content.startswith("[skill pdf-form-filling@")
    assert "pdf-form-filling" in listed.content
    assert not any(output.is_error for output in (found, loaded, listed))


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("skill_lookup", {"query": PDF, "k": "2", "offset": "1"}, "2. "),
        ("skill_lookup", {"query": PDF, "k": 2.0, "why": "I want to"}, "1. pdf-form-filling"),
        ("skill_lookup", {"query": PDF, "k": 99}, "k is limited to 20"),
        ("skill_lookup", {"query": PDF, "k": None, "offset": None}, "1. pdf-form-filling"),
        ("skill_load", {"name": "pdf-form-filling", "file": "", "page": "1"}, "[skill pdf-form"),
        ("skill_list", {"page": None, "query": "pdf"}, "skills, page 1 of"),
    ],
)
async def test_odd_arguments_are_taken(cue, tool, arguments, said):
    [output] = await answers(cue, call(tool, **arguments))
    assert said in output.content
    assert not output.is_error


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("skill_lookup", {}, "`query` is empty"),
        ("skill_lookup", {"query": PDF, "k": 0}, "`k` is 0"),
        ("skill_lookup", {"query": PDF, "k": "many"}, "`k` is 'many'"),
        ("skill_load", {}, "`name` is empty"),
        ("skill_load", {"name": "pdf-form-fillin"}, "Closest names: pdf-form-filling"),
        ("skill_load", {"name": "pdf-form-filling", "file": "../../etc/passwd"}, "Error: "),
        ("skill_load", {"name": "pdf-form-filling", "page": 99}, "page"),
    ],
)
async def test_what_cannot_be_answered_is_a_readable_error_result(cue, tool, arguments, said):
    [output] = await answers(cue, call(tool, **arguments))
    assert output.is_error
    assert output.content.startswith("Error: ")
    assert said in output.content
    assert "Traceback" not in output.content


async def test_an_invented_tool_name_does_not_end_the_run(cue):
    [unknown, found] = await answers(
        cue, call("skill_search", "c1", query=PDF), call("skill_lookup", "c2", query=PDF)
    )
    assert unknown.is_error
    assert "pdf-form-filling" in found.content


async def test_a_broken_retriever_is_an_error_result(example_skills):
    broken = CountingModes("broken", error=lambda: RuntimeError("index lost"))
    with SkillCue(example_skills, mode="broken", plugins=[broken], cache=False) as cue:
        [output] = await answers(cue, call("skill_lookup", query=PDF))
    assert output.is_error
    assert "cannot answer now" in output.content


async def test_what_stands_in_the_conversation_is_not_sent_again(cue, make_memory):
    """Within the turn (scratchpad) and in a later turn (memory)."""
    memory = make_memory()
    load = {"name": "pdf-form-filling"}
    first, again = await answers(
        cue, call("skill_load", "c1", **load), call("skill_load", "c2", **load), memory=memory
    )
    assert "already loaded" not in first.content
    assert "already loaded" in again.content
    assert not again.is_error
    [later] = await answers(cue, call("skill_load", "c3", **load), memory=memory)
    assert "already loaded" in later.content
    [fresh] = await answers(cue, call("skill_load", "c4", **load), memory=make_memory())
    assert "already loaded" not in fresh.content


async def test_a_tool_of_another_name_cannot_pretend_a_load(cue):
    def note() -> str:
        """Print a note."""
        return f"[skill {skill.id} version {skill.content_hash[:12]} page 1/1]"

    skill = next(skill for skill in cue.list() if skill.name == "pdf-form-filling")
    llm = StrictLlm(script=[call("note", "c1"), call("skill_load", "c2", name=skill.name), "done"])
    agent = FunctionAgent(llm=llm, tools=[note, *SkillToolSpec(cue).to_tool_list()])
    await run_turn(agent, "help me")
    assert "already loaded" not in llm.requests[-1][-1].content


async def test_memory_blocks_are_not_run_by_a_load(cue, sql_memory):
    """A block may call a model or a database; one more call for a look at old messages is waste."""
    from llama_index.core.memory import BaseMemoryBlock

    runs = []

    class Counting(BaseMemoryBlock[str]):
        async def _aget(self, messages=None, **kwargs):
            runs.append(len(messages or ()))
            return ""

        async def _aput(self, messages):
            return None

    memory = sql_memory(memory_blocks=[Counting(name="counting")])
    spec, ctx = SkillToolSpec(cue), Context(FunctionAgent(llm=StrictLlm()))
    await memory.aput_messages([call("skill_load", "c1", name="pdf-form-filling")])
    first = await spec.skill_load(ctx, "pdf-form-filling")
    result = ChatMessage(role="tool", content=first, additional_kwargs={"tool_call_id": "c1"})
    await memory.aput(result)
    await ctx.store.set("memory", memory)
    runs.clear()
    assert "already loaded" in await spec.skill_load(ctx, "pdf-form-filling")
    assert runs == []


async def test_a_call_in_a_content_block_is_recognised(cue):
    """Newer LlamaIndex keeps tool calls as blocks of the message."""
    types = pytest.importorskip("llama_index.core.base.llms.types")
    if not hasattr(types, "ToolCallBlock"):
        pytest.skip("this LlamaIndex has no ToolCallBlock")

    def load(call_id: str) -> ChatMessage:
        block = types.ToolCallBlock(
            tool_call_id=call_id, tool_name="skill_load", tool_kwargs={"name": "pdf-form-filling"}
        )
        return ChatMessage(role="assistant", blocks=[block])

    first, again = await answers(cue, load("c1"), load("c2"))
    assert "already loaded" not in first.content
    assert "already loaded" in again.content


async def test_a_memory_that_cannot_be_read_does_not_break_the_tool(cue, caplog):
    spec = SkillToolSpec(cue)
    ctx = Context(FunctionAgent(llm=StrictLlm()))
    await ctx.store.set("memory", object())
    loaded = await spec.skill_load(ctx, "pdf-form-filling")
    assert loaded.startswith("[skill pdf-form-filling@")
    assert "memory cannot be read" in caplog.text


@pytest.mark.parametrize("how", ["store", "contextvar"])
async def test_the_tools_follow_the_mode_of_the_store_and_of_the_context(example_skills, how):
    modes = CountingModes("alpha", "beta")
    with SkillCue(example_skills, mode="alpha", plugins=[modes], cache=False) as cue:
        llm = StrictLlm(script=[call("skill_lookup", query=PDF), "done"])
        agent = FunctionAgent(llm=llm, tools=SkillToolSpec(cue).to_tool_list())
        ctx = Context(agent)
        if how == "store":
            await ctx.store.set("skill_mode", "beta")
            await agent.run(user_msg="help", ctx=ctx)
        else:
            with skill_mode("beta"):
                handler = agent.run(user_msg="help", ctx=ctx)
            await handler
    assert modes.calls == [("beta", PDF)]


async def test_policies_see_the_keys_of_the_store(example_skills):
    seen = []

    class Policy:
        @hookimpl
        def skillcue_filter_skills(self, context, library):
            seen.append(context.get("tenant"))
            return Scope("pdf", lambda skill: skill.name.startswith("pdf"))

    with SkillCue(example_skills, plugins=[Policy()]) as cue:
        script = [
            call("skill_list", "c1"),
            call("skill_load", "c2", name="sourdough-baking"),
            call("skill_lookup", "c3", query="sourdough"),
            "done",
        ]
        agent = FunctionAgent(llm=StrictLlm(script=script), tools=SkillToolSpec(cue).to_tool_list())
        ctx = Context(agent)
        await ctx.store.set("tenant", "acme")
        handler = agent.run(user_msg="help", ctx=ctx)
        events = [event async for event in handler.stream_events()]
        await handler
    results = [e.tool_output for e in events if type(e).__name__ == "ToolCallResult"]
    assert "3 skills" in results[0].content
    assert results[1].is_error
    assert "sourdough" not in results[2].content.replace("'sourdough'", "")
    assert set(seen) == {"acme"}


async def test_two_libraries_in_one_agent(cue, tmp_path):
    from conftest import write_skill

    write_skill(tmp_path, "house-rules", "Rules of the house for guests and their pets.")
    with SkillCue(tmp_path) as other:
        tools = [
            *SkillToolSpec(cue).to_tool_list(),
            *SkillToolSpec(other, prefix="house_").to_tool_list(),
        ]
        llm = StrictLlm(script=[call("house_skill_list"), "done"])
        await run_turn(FunctionAgent(llm=llm, tools=tools), "help")
    assert "house-rules" in llm.requests[-1][-1].content
    assert len({tool.metadata.name for tool in llm.tools[0]}) == 6
