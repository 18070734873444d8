"""Long, compacted, forked, resumed and many conversations in real LangGraph agents."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from support.conversations import PHRASES, write_garden
from support.langchain_models import StrictChatModel, call, wire
from support.repeats import check_no_repeat, offered_names, prefix_breaks

from skillcue import PushSettings, SkillCue
from skillcue.langchain import SkillMiddleware
from skillcue.langgraph import SkillAdvisor

TASKS = PHRASES[:8]
TIGHT = PushSettings(tokens_replayed=450)
"""Room for few pieces of advice, so that skills leave the request and can be offered again."""


def config(thread: str = "1", **values: Any) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread, **values}}


def say(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


class Loads:
    """A model that loads what it is offered in every `every`-th turn, 0 for never."""

    def __init__(self, every: int) -> None:
        self._every = every

    def __call__(self, messages: list[BaseMessage]) -> AIMessage:
        last = messages[-1]
        names = offered_names(str(last.content)) if last.type == "human" else []
        turn = sum(message.type == "human" for message in messages)
        if names and self._every and turn % self._every == 0:
            return call("skill_load", f"call-{turn}", name=names[0])
        return AIMessage(f"Answer {turn}.")


def model_that(every: int, requests: int = 1_000, strict: bool = True) -> StrictChatModel:
    return StrictChatModel(script=[Loads(every)] * requests, strict=strict)


def graph(cue: SkillCue, model: StrictChatModel, saver: Any) -> Any:
    advisor = SkillAdvisor(cue)
    bound = model.bind_tools(advisor.tools())

    def call_model(state: MessagesState) -> dict[str, Any]:
        return {"messages": [bound.invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("skills", advisor)
    builder.add_node("model", advisor.wrap(call_model))
    builder.add_node("tools", ToolNode(advisor.tools()))
    builder.add_edge(START, "skills")
    builder.add_edge("skills", "model")
    builder.add_conditional_edges("model", tools_condition, {"tools": "tools", END: END})
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=saver)


def middleware_agent(cue: SkillCue, model: StrictChatModel, saver: Any) -> Any:
    return create_agent(model, [], middleware=[SkillMiddleware(cue)], checkpointer=saver)


both = pytest.mark.parametrize("build", [graph, middleware_agent])


def spoken(request: Sequence[BaseMessage]) -> list[tuple[str, str]]:
    roles = {"human": "user", "tool": "tool"}
    return [(roles.get(m.type, ""), str(m.content)) for m in request]


def stored(saver: Any, thread: str = "1") -> dict[str, list[str]]:
    return saver.get(config(thread))["channel_values"]["skillcue_turns"]


@both
@pytest.mark.parametrize("every", [0, 3])
def test_two_hundred_turns(garden, build, every):
    """No repeat in any request, nothing that grows, and few breaks of the prefix.

    Everything is asked twice in a row.
    """
    saver, model = InMemorySaver(), model_that(every)
    sizes, declined = [], {}
    with SkillCue(garden, mode="bm25", push=TIGHT, recheck="manual") as cue:
        app = build(cue, model, saver)
        for turn in range(200):
            before = len(model.requests)
            app.invoke(say(f"{TASKS[turn // 2 * 3 % 8]} ({turn})"), config())
            asked = str(model.requests[before][-1].content)
            took = len(model.requests) > before + 1
            for name in offered_names(asked):
                declined[name] = 0 if took else declined.get(name, 0) + 1
                assert declined[name] <= 2
            sizes.append(len(json.dumps(stored(saver))))
    for request in model.requests:
        check_no_repeat(spoken(request))
    assert len(declined) == 8  # every skill was offered
    assert max(sizes) <= 1_000
    assert max(sizes[100:]) <= max(sizes[:100])
    assert prefix_breaks(map(wire, model.requests)) <= 12
    messages = app.get_state(config()).values["messages"]
    assert not any("skill_advice" in str(message.content) for message in messages)


def test_compaction_in_the_middle(garden):
    """What was summarised away is offered again, what stands is not; declines are not forgotten."""
    saver = InMemorySaver()
    model = model_that(0, strict=False)
    summarizer = StrictChatModel(script=["SUMMARY"] * 100, strict=False)
    again: list[str] = []
    with SkillCue(garden, mode="bm25", recheck="manual") as cue:
        middleware = [
            SummarizationMiddleware(summarizer, trigger=("messages", 14), keep=("messages", 5)),
            SkillMiddleware(cue),
        ]
        app = create_agent(model, [], middleware=middleware, checkpointer=saver)
        for turn in range(80):
            app.invoke(say(f"{TASKS[turn % 8]} ({turn})"), config())
            again += offered_names(str(model.requests[-1][-1].content))
            assert len(json.dumps(stored(saver))) <= 1_000
    assert any("SUMMARY" in str(request[0].content) for request in model.requests)
    for request in model.requests:
        check_no_repeat(spoken(request))
    counts = {name: again.count(name) for name in again}
    assert max(counts.values()) > 1  # after it was summarised away
    assert max(counts.values()) <= 3  # one of them may have been summarised before its turn ended


@both
def test_a_fork_begins_with_the_bytes_of_what_it_forks(garden, build):
    saver, model = InMemorySaver(), model_that(3)
    with SkillCue(garden, mode="bm25", push=TIGHT, recheck="manual") as cue:
        app = build(cue, model, saver)
        for turn in range(12):
            app.invoke(say(f"{TASKS[turn % 8]} ({turn})"), config())
        main = [wire(request) for request in model.requests]
        at = next(
            state
            for state in app.get_state_history(config())
            if not state.next and sum(m.type == "human" for m in state.values["messages"]) == 6
        )
        expected = stored(saver)
        begun = len(model.requests)
        app.invoke(say("Scarify the mossy lawn of the fork"), at.config)
        app.invoke(say("Thanks!"), config())
        sixth = [r for r in main if r.count('["human"') == 6][-1]
        for request in model.requests[begun:]:
            assert wire(request).startswith(sixth)
            assert not any(f"({turn})" in wire(request) for turn in range(6, 12))
            check_no_repeat(spoken(request))
        assert stored(saver) != expected
        # the branch that was left goes on as if nothing had happened
        left = next(
            state
            for state in app.get_state_history(config())
            if not state.next
            and len([m for m in state.values["messages"] if m.type == "human"]) == 12
        )
        app.invoke(say("Thanks!"), left.config)
        assert wire(model.requests[-1]).startswith(main[-1])


RESUME = """
import json, pickle, sys
from pathlib import Path
from langgraph.checkpoint.memory import InMemorySaver
import test_robust_langgraph as here
from skillcue import SkillCue
kept, folder, build, text = sys.argv[1:]
saver = here.unpacked(Path(kept).read_bytes())
model = here.model_that(3)
with SkillCue(folder, mode="bm25", push=here.TIGHT, recheck="manual") as cue:
    app = getattr(here, build)(cue, model, saver)
    app.invoke(here.say(text), here.config())
Path(kept).write_bytes(here.packed(saver))
print(json.dumps([[here.wire(r) for r in model.requests], here.stored(saver)]))
"""


def packed(saver: InMemorySaver) -> bytes:
    """Everything a checkpointer holds, as its own serializer wrote it."""
    storage = {t: {n: dict(c) for n, c in of.items()} for t, of in saver.storage.items()}
    writes = {key: dict(value) for key, value in saver.writes.items()}
    return pickle.dumps((storage, writes, dict(saver.blobs)))


def unpacked(data: bytes) -> InMemorySaver:
    saver = InMemorySaver()
    storage, writes, blobs = pickle.loads(data)
    for thread, namespaces in storage.items():
        for namespace, checkpoints in namespaces.items():
            saver.storage[thread][namespace].update(checkpoints)
    for key, value in writes.items():
        saver.writes[key].update(value)
    saver.blobs.update(blobs)
    return saver


@both
def test_a_thread_that_a_new_process_resumes(garden, tmp_path, build, new_process, monkeypatch):
    """The bytes are those that one process would have sent."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    texts = [f"{TASKS[turn % 8]} ({turn})" for turn in range(24)]
    saver, one = InMemorySaver(), model_that(3)
    kept = tmp_path / "kept"
    with SkillCue(garden, mode="bm25", push=TIGHT, recheck="manual") as cue:
        app = build(cue, one, saver)
        for text in texts[:-2]:
            app.invoke(say(text), config())
        kept.write_bytes(packed(saver))
        begun = len(one.requests)
        expected = []
        for text in texts[-2:]:
            app.invoke(say(text), config())
            expected.append([[wire(request) for request in one.requests[begun:]], stored(saver)])
            begun = len(one.requests)
    for text, (requests, records) in zip(texts[-2:], expected, strict=True):
        resumed = new_process(RESUME, str(kept), str(garden), build.__name__, text)
        assert resumed[0] == requests
        assert without_ids(resumed[1]) == without_ids(records)


def without_ids(records: dict[str, list[str]]) -> list[Any]:
    """LangGraph gives new messages random ids, so only those that both have can be compared."""
    return [(len(key), value) for key, value in records.items() if key != "declined"]


def test_two_libraries_in_one_agent(garden, tmp_path):
    """Each offers its own, neither counts what the other shows, and neither repeats itself."""
    other = write_garden(tmp_path / "other")
    saver, model = InMemorySaver(), StrictChatModel(script=[Loads(4)] * 400)
    with (
        SkillCue(garden, mode="bm25", push=TIGHT, recheck="manual") as first,
        SkillCue(other, mode="bm25", push=TIGHT, recheck="manual") as second,
    ):
        middleware = [SkillMiddleware(first), SkillMiddleware(second, prefix="other_")]
        app = create_agent(model, [], middleware=middleware, checkpointer=saver)
        for turn in range(40):
            app.invoke(say(f"{TASKS[turn % 8]} ({turn})"), config())
    for request in model.requests:
        for prefix in ("", "other_"):
            check_no_repeat([*only(spoken(request), prefix)])
    values = saver.get(config())["channel_values"]
    assert len(json.dumps(values["skillcue_turns"])) <= 1_000
    assert len(json.dumps(values["other_skillcue_turns"])) <= 1_000
    first_request = str(model.requests[0][0].content)
    assert 'skill_load(name="tomato-pruning")' in first_request
    assert 'other_skill_load(name="tomato-pruning")' in first_request


def only(request: Sequence[tuple[str, str]], prefix: str) -> list[tuple[str, str]]:
    """A request as if there were one library: without the offers of the other one."""
    mine, theirs = f"[{prefix}skill_load(", "[other_skill_load(" if not prefix else "[skill_load("
    loads = [text.replace(theirs, "[-(").replace(mine, "[skill_load(") for _, text in request]
    return [(role, text) for (role, _), text in zip(request, loads, strict=True) if role == "user"]


def test_a_library_that_is_edited_between_turns(garden):
    """Old advice follows the edit, new advice knows it, and a loaded body that changed is old."""
    saver, model = InMemorySaver(), model_that(1)
    with SkillCue(garden, mode="bm25", recheck="always") as cue:
        app = middleware_agent(cue, model, saver)
        app.invoke(say(TASKS[0]), config())
        app.invoke(say(f"{TASKS[0]} Again."), config())
        assert offered_names(str(model.requests[-1][-1].content)) == []
        path = garden / "tomato-pruning" / "SKILL.md"
        path.write_text(path.read_text("utf-8") + "Water in the morning.\n", "utf-8")
        app.invoke(say(f"{TASKS[0]} And now?"), config())
        app.invoke(say(f"{TASKS[1]}"), config())
        (garden / "compost-heap" / "SKILL.md").unlink()
        app.invoke(say("Thanks!"), config())
    last = wire(model.requests[-1])
    assert "Thanks!" in last and 'skill_load(name=\\"compost-heap\\")' not in last
    assert 'skill_load(name=\\"tomato-pruning\\")' in last
    assert len(json.dumps(stored(saver))) <= 1_000


@both
def test_twenty_threads_at_once_send_what_each_sends_alone(garden, build):
    def texts(thread: int) -> list[str]:
        return [f"{TASKS[(thread + turn * 3) % 8]} ({turn} of {thread})" for turn in range(10)]

    def run(cue: SkillCue, threads: Sequence[int], workers: int) -> list[list[str]]:
        saver, models = InMemorySaver(), {thread: model_that(3) for thread in threads}
        apps = {thread: build(cue, models[thread], saver) for thread in threads}

        def one(thread: int) -> list[str]:
            for text in texts(thread):
                apps[thread].invoke(say(text), config(str(thread)))
            assert len(json.dumps(stored(saver, str(thread)))) <= 1_000
            return [wire(request) for request in models[thread].requests]

        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(one, threads))

    with SkillCue(garden, mode="bm25", push=TIGHT, recheck="manual") as cue:
        together = run(cue, range(20), 20)
    with SkillCue(garden, mode="bm25", push=TIGHT, recheck="manual") as cue:
        alone = [run(cue, [thread], 1)[0] for thread in range(20)]
    assert together == alone
    for thread, requests in enumerate(together):
        assert all(f"of {other})" not in requests[-1] for other in range(20) if other != thread)


def test_equal_words_in_twenty_threads_with_different_pasts(garden):
    """The same newest message: what is demoted in one thread is offered in another."""
    saver, model = InMemorySaver(), model_that(0)
    offered: dict[str, list[str]] = {}
    with SkillCue(garden, mode="bm25", push=PushSettings(tokens_replayed=150)) as cue:
        app = middleware_agent(cue, model, saver)
        for thread, past in (("declined", 2), ("new", 0)):
            for turn in range(past):
                app.invoke(say(f"{TASKS[0]} ({turn})"), config(thread))
                app.invoke(say(f"{TASKS[1]} ({turn})"), config(thread))
            app.invoke(say(TASKS[0]), config(thread))
            offered[thread] = offered_names(str(model.requests[-1][-1].content))
    assert offered == {"declined": [], "new": ["tomato-pruning"]}
