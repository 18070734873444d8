"""`SkillMiddleware` in `create_agent` and deepagents."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRetryMiddleware, SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from support.langchain_models import StrictChatModel, call, wire
from support.modes import CountingModes

from skillcue import PushSettings, SkillCue, skill_mode
from skillcue.langchain import SkillMiddleware
from skillcue.push.messages import ADVICE_OPEN
from skillcue_hooks.errors import ConfigurationError, UnknownModeError

PDF = "I have to fill in a PDF form for my visa application"
PODS = "A pod in our kubernetes cluster keeps crashing, find out why"
THANKS = "Thanks, that is great!"
TOOLS = {"skill_lookup", "skill_load", "skill_list"}


def config(thread: str = "1", **values: Any) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread, **values}}


def say(text: Any) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


def advised(request: list[Any]) -> list[int]:
    """Positions of the messages that hold advice."""
    return [i for i, m in enumerate(request) if ADVICE_OPEN in str(m.content)]


@pytest.fixture
def cue(example_skills):
    with SkillCue(example_skills) as cue:
        yield cue


def agent(cue: SkillCue, model: StrictChatModel, **options: Any) -> Any:
    middleware = [SkillMiddleware(cue, **options)]
    return create_agent(model, tools=[], middleware=middleware, checkpointer=InMemorySaver())


def test_advice_and_tools_reach_the_model_and_not_the_state(cue):
    model = StrictChatModel(script=[call("skill_load", name="pdf-form-filling")])
    app = agent(cue, model)
    result = app.invoke(say(PDF), config())
    assert set(model.tool_names) == TOOLS
    assert advised(model.requests[0]) == [0]
    assert [m.type for m in result["messages"]] == ["human", "ai", "tool", "ai"]
    assert set(result) == {"messages"}
    assert result["messages"][2].artifact["skill"].startswith("pdf-form-filling@")
    assert advised(app.get_state(config()).values["messages"]) == []


async def test_sync_and_async_send_the_same_bytes(cue):
    models = StrictChatModel(), StrictChatModel()
    agent(cue, models[0]).invoke(say(PDF), config())
    await agent(cue, models[1]).ainvoke(say(PDF), config())
    assert wire(models[0].requests[0]) == wire(models[1].requests[0])
    assert advised(models[0].requests[0])


def test_each_request_is_a_prefix_of_the_next(cue):
    script = [call("skill_load", "a", name="pdf-form-filling"), "ok", "welcome", call("skill_list")]
    model = StrictChatModel(script=script)
    app = agent(cue, model)
    for text in (PDF, THANKS, PODS):
        app.invoke(say(text), config())
    assert len(model.requests) == 5
    for before, after in itertools.pairwise(model.requests):
        assert wire(after).startswith(wire(before))


def test_the_system_prompt_is_unchanged(cue):
    model = StrictChatModel()
    middleware = [SkillMiddleware(cue)]
    create_agent(model, [], system_prompt="SYSTEM", middleware=middleware).invoke(say(PDF))
    assert [m.content for m in model.requests[0] if m.type == "system"] == ["SYSTEM"]


def test_content_blocks_stay_blocks(cue):
    model = StrictChatModel()
    blocks = [
        {"type": "text", "text": PDF},
        {"type": "image", "url": "https://example.org/form.png"},
    ]
    agent(cue, model).invoke(say(blocks), config())
    content = model.requests[0][0].content
    assert content[:2] == blocks
    assert content[2]["text"].startswith(ADVICE_OPEN)


def test_a_turn_without_text_is_left_alone(example_skills):
    modes = CountingModes("counted")
    with SkillCue(example_skills, mode="counted", plugins=[modes]) as cue:
        model = StrictChatModel()
        image = [{"type": "image", "url": "https://example.org/a.png"}]
        agent(cue, model).invoke(say(image), config())
    assert model.requests[0][0].content == image
    assert modes.calls == []


def test_retries_send_the_same_bytes_and_retrieve_once(example_skills):
    modes = CountingModes("counted")
    failures = iter([RuntimeError("overloaded")])

    def flaky(messages: list[Any]) -> AIMessage:
        error = next(failures, None)
        if error:
            raise error
        return AIMessage("done")

    with SkillCue(example_skills, mode="counted", plugins=[modes], cache=False) as cue:
        model = StrictChatModel(script=[flaky, flaky])
        retry = ModelRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
        create_agent(model, [], middleware=[retry, SkillMiddleware(cue)]).invoke(say(PDF))
    assert len(model.requests) == 2
    assert wire(model.requests[0]) == wire(model.requests[1])
    assert len(modes.calls) == 1


def test_a_resume_keeps_the_mode_and_the_bytes(example_skills):
    @tool
    def ask_human(question: str) -> str:
        """Ask the user."""
        return str(interrupt(question))

    modes = CountingModes("fast")
    saver = InMemorySaver()
    model = StrictChatModel(script=["hello", call("ask_human", question="really?")])

    def build(cue: SkillCue) -> Any:
        middleware = [SkillMiddleware(cue)]
        return create_agent(model, [ask_human], middleware=middleware, checkpointer=saver)

    with SkillCue(example_skills, plugins=[modes], cache=False) as cue:
        build(cue).invoke(say(PODS), config())
        build(cue).invoke(say(PDF), config(skill_mode="fast"))
    with SkillCue(example_skills, plugins=[modes], cache=False) as cue:
        build(cue).invoke(Command(resume="yes"), config())
    assert [mode for mode, _ in modes.calls] == ["fast"]
    assert len(model.requests) == 3
    for before, after in itertools.pairwise(model.requests):
        assert wire(after).startswith(wire(before))


def test_summarized_messages_take_their_advice_with_them(cue):
    model = StrictChatModel(strict=False)
    summarizer = StrictChatModel(script=["SUMMARY"] * 20, strict=False)
    middleware = [
        SummarizationMiddleware(summarizer, trigger=("messages", 6), keep=("messages", 2)),
        SkillMiddleware(cue),
    ]
    app = create_agent(model, [], middleware=middleware, checkpointer=InMemorySaver())
    for text in (PDF, PODS, THANKS, "And why?", "Fine.", PDF):
        app.invoke(say(text), config())
    last = model.requests[-1]
    assert "SUMMARY" in str(last)
    assert advised(last) == [len(last) - 1]  # offered again: the first offer was summarized away


def test_pull_only_and_push_only(cue):
    model = StrictChatModel()
    agent(cue, model, push=False).invoke(say(PDF), config())
    assert set(model.tool_names) == TOOLS
    assert advised(model.requests[0]) == []
    bare = StrictChatModel()
    agent(cue, bare, pull=False).invoke(say(PDF), config())
    assert bare.tool_names == []
    text = bare.requests[0][0].content
    assert "skill_load" not in text
    assert "pdf-form-filling/SKILL.md" in text


@pytest.mark.parametrize("prompt", [None, "SYSTEM", SystemMessage([{"type": "text", "text": "S"}])])
def test_nudge_for_pull_only_agents(example_skills, prompt):
    with SkillCue(example_skills, nudge=True) as cue:
        model = StrictChatModel()
        middleware = [SkillMiddleware(cue, push=False)]
        app = create_agent(
            model, [], system_prompt=prompt, middleware=middleware, checkpointer=InMemorySaver()
        )
        app.invoke(say(PDF), config())
        app.invoke(say(THANKS), config())
    system, human = model.requests[0]
    assert "skill_lookup" in str(system.content)
    assert "skill_lookup" in human.content
    if isinstance(prompt, SystemMessage):
        assert system.content[0] == prompt.content[0]
    assert wire(model.requests[1]).startswith(wire(model.requests[0]))
    assert model.requests[1][-1].content == THANKS


def test_an_unknown_mode_raises_before_the_model_call_with_and_without_push(cue):
    for options in ({}, {"push": False}):
        model = StrictChatModel()
        with pytest.raises(UnknownModeError):
            agent(cue, model, **options).invoke(say(PDF), config(skill_mode="nope"))
        assert model.requests == []


def test_a_user_tool_of_the_same_name_is_an_error_before_the_model_call(cue):
    @tool
    def skill_lookup(query: str) -> str:
        """Mine."""
        return query

    model = StrictChatModel()
    app = create_agent(model, [skill_lookup], middleware=[SkillMiddleware(cue)])
    with pytest.raises(ConfigurationError, match="prefix"):
        app.invoke(say(PDF))
    assert model.requests == []


def test_two_libraries_in_one_agent(cue, tmp_path):
    from conftest import write_skill

    write_skill(
        tmp_path, "visa-forms", "Fill in the visa application form of our travel desk.",
        "# Visa\n\nFill in the visa application form, page by page.\n",
    )  # fmt: skip
    model = StrictChatModel()
    with SkillCue(tmp_path) as other:
        middleware = [SkillMiddleware(cue), SkillMiddleware(other, prefix="travel_")]
        app = create_agent(model, [], middleware=middleware, checkpointer=InMemorySaver())
        app.invoke(say(PDF), config())
        app.invoke(say(THANKS), config())
    text = model.requests[0][0].content
    assert text.count(ADVICE_OPEN) == 2
    assert 'skill_load(name="pdf-form-filling")' in text
    assert 'travel_skill_load(name="visa-forms")' in text
    assert len(model.tool_names) == 6
    assert wire(model.requests[1]).startswith(wire(model.requests[0]))
    assert app.get_state(config()).values["messages"][0].content == PDF


def test_custom_event_once_a_turn(cue):
    model = StrictChatModel(script=[call("skill_list"), "ok"])
    events = list(agent(cue, model).stream(say(PDF), config(), stream_mode="custom"))
    assert [e["type"] for e in events] == ["skill_advice"]


async def test_twenty_concurrent_runs_never_share_a_mode(example_skills):
    names = ["one", "two", "three", "four"]
    modes = CountingModes(*names, delay=0.01)
    with SkillCue(example_skills, plugins=[modes], cache=False) as cue:
        app = agent(cue, StrictChatModel(strict=False))

        async def run(number: int) -> None:
            with skill_mode(names[number % 4]):
                await app.ainvoke(say(f"{PDF} number {number}"), config(str(number)))

        await asyncio.gather(*(run(number) for number in range(20)))
    assert len(modes.calls) == 20
    for mode, text in modes.calls:
        assert mode == names[int(text.rsplit(" ", 1)[1]) % 4]


def test_edits_additions_and_deletions_are_seen_on_the_next_turn(skills_copy):
    from conftest import write_skill

    with SkillCue(skills_copy) as cue:
        model = StrictChatModel()
        app = agent(cue, model)
        app.invoke(say("Teach my parrot to whistle the national anthem"), config())
        assert advised(model.requests[-1]) == []
        path = write_skill(
            skills_copy, "parrot-training", "Teach a parrot to whistle anthems and to talk.",
            "# Parrot\n\nWhistle the anthem to the parrot each morning.\n",
        )  # fmt: skip
        app.invoke(say("So, teach the parrot to whistle an anthem"), config())
        assert "parrot-training" in model.requests[-1][-1].content
        path.write_text(path.read_text().replace("to talk", "to TAP DANCE"))
        app.invoke(say(THANKS), config())
        assert "TAP DANCE" in str(model.requests[-1])
        path.unlink()
        app.invoke(say("Now whistle, parrot: teach it another anthem"), config())
        assert "parrot-training" not in str(model.requests[-1])


def test_budget_for_all_replayed_advice(example_skills):
    settings = PushSettings(tokens_per_turn=300, tokens_replayed=500)
    with SkillCue(example_skills, push=settings) as cue:
        model = StrictChatModel()
        app = agent(cue, model)
        texts = [
            PDF,
            PODS,
            "Scale this bread recipe up to 40 people and bake it",
            "Help me write a press release about our new product",
            "Which git commit broke the build? bisect it",
        ]
        for text in texts:
            app.invoke(say(text), config())
    for request in model.requests:
        blocks = [str(m.content) for m in request if ADVICE_OPEN in str(m.content)]
        assert sum(settings.count_tokens(b[b.index(ADVICE_OPEN) :]) for b in blocks) <= 500
    assert len(advised(model.requests[-1])) < 5


def test_advice_passes_the_formatters_of_anthropic_and_gemini(cue):
    anthropic = pytest.importorskip("langchain_anthropic.chat_models")
    gemini = pytest.importorskip("langchain_google_genai.chat_models")
    model = StrictChatModel(script=[call("skill_load", name="pdf-form-filling"), "ok", "ok"])
    app = create_agent(
        model, [], system_prompt="SYSTEM", middleware=[SkillMiddleware(cue)],
        checkpointer=InMemorySaver(),
    )  # fmt: skip
    for text in (PDF, PODS):
        app.invoke(say(text), config())
    request = model.requests[-1]
    system, messages = anthropic._format_messages(request, model=None)
    assert "SYSTEM" in str(system)
    assert ADVICE_OPEN not in str(system)
    assert str(messages).count(ADVICE_OPEN) == 2
    instruction, contents = gemini._parse_chat_history(request)
    assert "SYSTEM" in str(instruction)
    assert ADVICE_OPEN not in str(instruction)
    assert str(contents).count(ADVICE_OPEN) == 2


class TestDeepAgents:
    """Composing with deepagents, and taking the place of its own skills middleware."""

    def test_compose(self, cue):
        deepagents = pytest.importorskip("deepagents")
        model = StrictChatModel()
        app = deepagents.create_deep_agent(model, middleware=[SkillMiddleware(cue)])
        app.invoke(say(PDF))
        assert len(advised(model.requests[0])) == 1
        assert TOOLS <= set(model.tool_names)

    def test_replace_by_name_also_in_the_sub_agent(self, cue, skills_copy):
        deepagents = pytest.importorskip("deepagents")
        from deepagents.backends import FilesystemBackend

        task = {"description": PODS, "subagent_type": "general-purpose"}
        model = StrictChatModel(script=[call("task", **task), "found it", "done"])
        app = deepagents.create_deep_agent(
            model,
            backend=FilesystemBackend(root_dir=skills_copy, virtual_mode=True),
            skills=["/office/"],
            middleware=[SkillMiddleware(cue, name="SkillsMiddleware")],
        )
        app.invoke(say(PDF))
        main, sub, _ = model.requests
        assert len(advised(main)) == 1
        assert "kubernetes-pod-debugging" in str(sub[-1].content)
        assert "meeting-minutes" not in str(main[0].content)  # the full list is gone


def test_arguments_that_do_not_fit_are_explained(cue):
    for arguments, expected in [
        ({"query": "pdf", "k": "many"}, "`k` is 'many'. Pass a whole number from 1."),
        ({}, "`query` is missing. Pass it as text."),
        ({"query": ["pdf"]}, "`query` is ['pdf']. Pass text."),
    ]:
        model = StrictChatModel(script=[call("skill_lookup", **arguments)])
        result = agent(cue, model).invoke(say(PDF), config())["messages"][2]
        assert result.status == "error"
        assert expected in result.content


@pytest.mark.parametrize("wrong", ["skills/", None, 3])
def test_something_else_than_a_cue_is_a_clear_error(wrong):
    from skillcue.langchain import SkillRetriever, skill_tools
    from skillcue.langgraph import SkillAdvisor

    for build in (SkillMiddleware, SkillAdvisor, SkillRetriever, skill_tools):
        with pytest.raises(ConfigurationError, match="not a SkillCue"):
            build(wrong)
