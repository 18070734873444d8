"""ReAct agents, code agents, workflows, nudges, and what `with_skills` refuses."""

from __future__ import annotations

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, CodeActAgent, FunctionAgent, ReActAgent
from llama_index.core.memory import ChatMemoryBuffer
from support.llamaindex_models import StrictLlm, advised_texts, call, run_turn, wire
from support.modes import CountingModes

from skillcue import SkillCue
from skillcue.llamaindex import SkillAdviceEvent, with_skills
from skillcue.push.messages import ADVICE_OPEN
from skillcue_hooks.errors import AttachError, ConfigurationError, UnknownSettingError

PDF = "I have to fill in a PDF form for my visa application"
BREAD = "My sourdough starter is sluggish and the rye bread comes out with a dense crumb"
THANKS = "Thanks, that is great!"


def act(tool: str, arguments: str) -> str:
    return f"Thought: I need a tool.\nAction: {tool}\nAction Input: {arguments}"


def answer(text: str) -> str:
    return f"Thought: I can answer without using any more tools.\nAnswer: {text}"


def two_agents(llm: StrictLlm, **options) -> AgentWorkflow:
    front = FunctionAgent(
        name="front", description="Talks to people.", llm=llm, system_prompt="FRONT"
    )
    clerk = FunctionAgent(name="clerk", description="Does paperwork.", llm=llm)
    return AgentWorkflow(agents=[front, clerk], root_agent="front", **options)


# ReAct


async def test_react_agent_is_advised_once_a_turn_and_memory_stays_clean(cue):
    llm = StrictLlm(
        script=[
            act("skill_load", '{"name": "pdf-form-filling"}'),
            act("skill_load", '{"name": "pdf-form-filling"}'),
            answer("filled"),
            answer("welcome"),
        ]
    )
    agent = with_skills(ReActAgent(llm=llm, system_prompt="SYS"), cue)
    assert isinstance(agent, ReActAgent)
    memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)
    result, events = await run_turn(agent, PDF, memory=memory)
    await run_turn(agent, THANKS, memory=memory)
    assert str(result) == "filled"
    assert len([e for e in events if isinstance(e, SkillAdviceEvent)]) == 1
    assert len({advised_texts(request)[0] for request in llm.requests}) == 1
    assert all(ADVICE_OPEN in request[1].content for request in llm.requests)
    assert "[skill pdf-form-filling@" in llm.requests[1][-1].content
    assert "already loaded" in llm.requests[2][-1].content
    assert not advised_texts(await memory.aget_all())
    first, last = wire(llm.requests[0]), wire(llm.requests[-1])
    assert last.startswith(first + "\n")


async def test_a_react_tool_of_another_name_cannot_pretend_a_load(cue):
    def note() -> str:
        """Print a note."""
        return f"[skill {skill.id} version {skill.content_hash[:12]} page 1/1]"

    skill = next(skill for skill in cue.list() if skill.name == "pdf-form-filling")
    llm = StrictLlm(
        script=[
            act("note", "{}"),
            act("skill_load", '{"name": "pdf-form-filling"}'),
            answer("ok"),
        ]
    )
    await run_turn(with_skills(ReActAgent(llm=llm, tools=[note]), cue), "help me")
    assert "already loaded" not in llm.requests[-1][-1].content


async def test_a_react_retry_is_not_a_new_turn(example_skills):
    """LlamaIndex repeats the user's message and complains in user position."""
    modes = CountingModes("counted")
    llm = StrictLlm(
        script=["Thought: hm\nAction: nonsense", "Action: again", answer("ok")], strict=False
    )
    with SkillCue(example_skills, mode="counted", plugins=[modes], cache=False) as cue:
        agent = with_skills(ReActAgent(llm=llm), cue)
        _, events = await run_turn(agent, PDF)
    assert len(llm.requests) == 3
    assert llm.requests[1][2].content == PDF, "LlamaIndex repeats the message"
    assert modes.calls == [("counted", PDF)]
    assert len([e for e in events if isinstance(e, SkillAdviceEvent)]) == 1
    for request in llm.requests:
        assert request[1].content.startswith(f"{PDF}\n\n{ADVICE_OPEN}")
        assert len(advised_texts(request)) == 1


# code agents


async def test_code_agent_is_advised_with_files_and_refuses_context_tools(cue):
    async def run_code(code: str) -> str:
        return "42"

    llm = StrictLlm(script=["<execute>print(42)</execute>", "It is 42.", "welcome"])
    plain = CodeActAgent(code_execute_fn=run_code, llm=llm)
    with pytest.raises(ConfigurationError, match="pull=False"):
        with_skills(plain, cue)
    agent = with_skills(plain, cue, pull=False)
    memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)
    await run_turn(agent, PDF, memory=memory)
    _, events = await run_turn(agent, THANKS, memory=memory)
    assert len(llm.requests) == 3
    assert all(len(advised_texts(request)) == 1 for request in llm.requests)
    assert "SKILL.md" in llm.requests[0][1].content
    assert wire(llm.requests[1]).startswith(wire(llm.requests[0]) + "\n")
    assert wire(llm.requests[2]).startswith(wire(llm.requests[1]) + "\n")
    [event] = [e for e in events if isinstance(e, SkillAdviceEvent)]
    assert event.decision == "abstain"


# workflows


async def test_a_handoff_keeps_the_turn_its_advice_and_its_one_search(example_skills):
    modes = CountingModes("counted")
    script = [
        call("handoff", "c1", to_agent="clerk", reason="paperwork"),
        call("skill_load", "c2", name="pdf-form-filling"),
        "filled",
        "welcome",
    ]
    llm = StrictLlm(script=script)
    with SkillCue(example_skills, mode="counted", plugins=[modes], cache=False) as cue:
        workflow = with_skills(two_agents(llm), cue)
        assert isinstance(workflow, AgentWorkflow)
        memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)
        result, events = await run_turn(workflow, PDF, memory=memory)
        await run_turn(workflow, THANKS, memory=memory)
    assert str(result) == "filled"
    assert modes.calls == [("counted", PDF), ("counted", THANKS)]
    assert len([e for e in events if isinstance(e, SkillAdviceEvent)]) == 1
    assert llm.requests[0][0].content == "FRONT"
    assert llm.requests[1][0].role.value == "user", "the clerk has no system prompt"
    assert len({advised_texts(request)[0] for request in llm.requests}) == 1
    assert "[skill pdf-form-filling@" in llm.requests[2][-1].content
    assert not advised_texts(await memory.aget_all())


async def test_a_workflow_shows_state_prompts_and_still_searches_what_was_written(example_skills):
    modes = CountingModes("counted")
    llm = StrictLlm(script=[call("handoff", "c1", to_agent="clerk", reason="x"), "ok", "ok"])
    with SkillCue(example_skills, mode="counted", plugins=[modes], cache=False) as cue:
        workflow = with_skills(
            two_agents(
                llm,
                initial_state={"bread": "rye sourdough"},
                state_prompt="Memo {state} end of memo. They say: {msg} (over)",
            ),
            cue,
        )
        memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)
        await run_turn(workflow, PDF, memory=memory)
        await run_turn(workflow, THANKS, memory=memory)
    assert "Memo {'bread'" in llm.requests[0][1].content
    assert modes.calls == [("counted", PDF), ("counted", THANKS)]
    assert len({advised_texts(request)[0] for request in llm.requests}) == 1


async def test_agents_wrapped_by_themselves_work_inside_a_plain_workflow(cue):
    llm = StrictLlm()
    plain = two_agents(llm)
    workflow = AgentWorkflow(
        agents=[with_skills(agent, cue) for agent in plain.agents.values()], root_agent="front"
    )
    await run_turn(workflow, PDF)
    assert len(advised_texts(llm.requests[0])) == 1
    names = [tool.metadata.name for tool in llm.tools[0]]
    assert names == ["skill_lookup", "skill_load", "skill_list", "handoff"]


# the copy and the original


async def test_the_original_agent_is_untouched(cue):
    def mine() -> str:
        """A tool of mine."""
        return "x"

    llm = StrictLlm()
    agent = FunctionAgent(llm=llm, tools=[mine], system_prompt="SYS")
    before = (type(agent), list(agent.tools), dict(agent.__dict__))
    skilled = with_skills(agent, cue)
    assert (type(agent), list(agent.tools), dict(agent.__dict__)) == before
    assert type(skilled).__name__ == "FunctionAgent"
    assert type(skilled).__qualname__ == "FunctionAgent"
    assert type(skilled).__module__ == FunctionAgent.__module__
    assert isinstance(skilled, FunctionAgent)
    await run_turn(agent, PDF)
    assert not advised_texts(llm.requests[0])
    assert [tool.metadata.name for tool in llm.tools[0]] == ["mine"]


async def test_the_original_workflow_is_untouched(cue):
    llm = StrictLlm()
    workflow = two_agents(llm)
    before = dict(workflow.agents)
    skilled = with_skills(workflow, cue)
    assert workflow.agents == before
    assert all(skilled.agents[name] is not agent for name, agent in before.items())
    assert type(skilled).__qualname__ == "AgentWorkflow"
    await run_turn(workflow, PDF)
    assert not advised_texts(llm.requests[0])


async def test_a_subclass_of_the_users_keeps_its_own_step(cue):
    class Polite(FunctionAgent):
        async def take_step(self, ctx, llm_input, tools, memory):
            seen.append([m.content for m in llm_input])
            return await super().take_step(ctx, llm_input, tools, memory)

    seen: list[list[str]] = []
    agent = with_skills(Polite(llm=StrictLlm()), cue)
    assert isinstance(agent, Polite)
    await run_turn(agent, PDF)
    assert ADVICE_OPEN in seen[0][0]


@pytest.mark.parametrize("wrap", ["agent", "workflow"])
def test_twice_is_refused(cue, wrap):
    target = FunctionAgent(llm=StrictLlm()) if wrap == "agent" else two_agents(StrictLlm())
    skilled = with_skills(target, cue)
    with pytest.raises(ConfigurationError, match="has skills already"):
        with_skills(skilled, cue)


def test_a_workflow_of_wrapped_agents_is_refused(cue):
    skilled = with_skills(FunctionAgent(llm=StrictLlm(), name="a", description="b"), cue)
    with pytest.raises(ConfigurationError, match="Agent 'a' has skills already"):
        with_skills(AgentWorkflow(agents=[skilled]), cue)


def test_a_tool_of_the_same_name_is_refused_and_a_prefix_cures_it(cue):
    def skill_load(name: str) -> str:
        """Load something else."""
        return name

    agent = FunctionAgent(llm=StrictLlm(), tools=[skill_load])
    with pytest.raises(ConfigurationError, match=r"'skill_load'.*prefix"):
        with_skills(agent, cue)
    names = [tool.metadata.name for tool in with_skills(agent, cue, prefix="kb_").tools]
    assert names == ["skill_load", "kb_skill_lookup", "kb_skill_load", "kb_skill_list"]


def test_wrong_targets_and_placements_are_refused(cue):
    with pytest.raises(AttachError, match="str is no LlamaIndex agent"):
        with_skills("agent", cue)
    with pytest.raises(ConfigurationError, match="inline, own_message"):
        with_skills(FunctionAgent(llm=StrictLlm()), cue, placement="system")


# cue.attach


async def test_attach_wraps_agents_and_workflows(cue):
    llm = StrictLlm()
    agent = cue.attach(FunctionAgent(llm=llm), prefix="kb_")
    workflow = cue.attach(two_agents(llm), pull=False)
    await run_turn(agent, PDF)
    await run_turn(workflow, PDF)
    assert 'kb_skill_load(name="pdf-form-filling")' in llm.requests[0][0].content
    assert "SKILL.md" in llm.requests[1][1].content


def test_attach_refuses_unknown_options_and_passes_other_targets(cue):
    agent = FunctionAgent(llm=StrictLlm())
    with pytest.raises(UnknownSettingError, match="Did you mean 'prefix'"):
        cue.attach(agent, prefx="kb_")
    with pytest.raises(AttachError, match="Nothing knows how to attach"):
        cue.attach(StrictLlm())


# nudges, for agents without push


async def test_nudges_stand_in_the_system_prompt_and_the_first_user_message(example_skills):
    llm = StrictLlm(script=["one", "two"])
    with SkillCue(example_skills, nudge=True) as cue:
        agent = with_skills(FunctionAgent(llm=llm, system_prompt="SYS"), cue, push=False)
        memory = ChatMemoryBuffer.from_defaults()
        await run_turn(agent, PDF, memory=memory)
        await run_turn(agent, THANKS, memory=memory)
    first, second = llm.requests
    assert first[0].content.startswith("SYS\n\nYou have a library of skills")
    assert first[1].content.startswith(f"{PDF}\n\n(First step: call skill_lookup")
    assert second[3].content == THANKS
    assert wire(second).startswith(wire(first) + "\n")
    assert [m.content for m in await memory.aget_all()] == [PDF, "one", THANKS, "two"]


async def test_nudges_make_a_system_prompt_where_there_is_none(example_skills):
    llm = StrictLlm()
    with SkillCue(example_skills, nudge=True) as cue:
        await run_turn(with_skills(FunctionAgent(llm=llm), cue, push=False, prefix="kb_"), PDF)
    assert [m.role.value for m in llm.requests[0]] == ["system", "user"]
    assert "kb_skill_lookup" in llm.requests[0][0].content


async def test_a_react_agent_is_nudged_in_its_own_prompt_and_the_original_is_not(example_skills):
    llm = StrictLlm(script=[answer("ok"), answer("ok")])
    with SkillCue(example_skills, nudge=True) as cue:
        plain = ReActAgent(llm=llm, system_prompt="SYS")
        await run_turn(with_skills(plain, cue, push=False), PDF)
        await run_turn(plain, PDF)
    nudged, original = llm.requests
    assert nudged[0].content.count("You have a library of skills") == 1
    assert "First step: call skill_lookup" in nudged[1].content
    assert "You have a library of skills" not in original[0].content


async def test_no_nudge_with_push_or_without_tools(example_skills):
    llm = StrictLlm()
    with SkillCue(example_skills, nudge=True) as cue:
        await run_turn(with_skills(FunctionAgent(llm=llm), cue), PDF)
        await run_turn(with_skills(FunctionAgent(llm=llm), cue, push=False, pull=False), PDF)
    assert all("First step" not in wire(request) for request in llm.requests)
